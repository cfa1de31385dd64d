//! The migrate function, as a deploy calls it.

use serde_json::{Value, json};
use tidemark_migrations::{current_version, latest_version, migrations};
use tidemark_testkit::{InvocationError, Simulator, TestDatabase};
use tidemark_tests::binaries;

use crate::environments::LIMIT;

async fn start(database_url: String) -> Simulator {
    let binary = tokio::task::spawn_blocking(|| binaries::function("migrate")).await.unwrap();
    Simulator::start(binary, [("DATABASE_URL", database_url)]).await.unwrap()
}

async fn refused(simulator: &Simulator, event: Value) -> (String, String) {
    match simulator.invoke(event, LIMIT).await {
        Err(InvocationError::Function { error_type, error_message }) => (error_type, error_message),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_empty_event_migrates_an_empty_database_and_says_from_where_to_where() {
    let database = TestDatabase::empty().await;
    let migrate = start(database.url_for("postgres")).await;
    let (newest, count) = (latest_version(), migrations().len());
    let planned = migrate.invoke(json!({"dry_run": true}), LIMIT).await.unwrap();
    assert_eq!(current_version(&database.admin().await).await.unwrap(), 0, "a dry run changes nothing");
    let done = migrate.invoke(json!({}), LIMIT).await.unwrap();
    assert_eq!(planned, done);
    assert_eq!((&done["from"], &done["to"]), (&json!(0), &json!(newest)), "{done}");
    assert_eq!(done["applied"].as_array().unwrap().len(), count);
    assert_eq!(current_version(&database.admin().await).await.unwrap(), newest);
    for event in [json!({}), json!(null), json!([1]), json!({"RequestType": "Delete"})] {
        let again = migrate.invoke(event, LIMIT).await.unwrap();
        assert_eq!(again, json!({"from": newest, "to": newest, "applied": []}));
    }
}

#[tokio::test]
async fn two_deploys_at_once_apply_each_migration_once() {
    let database = TestDatabase::empty().await;
    let (one, other) = (start(database.url_for("postgres")).await, start(database.url_for("postgres")).await);
    let (one, other) = tokio::join!(one.invoke(json!({}), LIMIT), other.invoke(json!({}), LIMIT));
    let applied = |answer: Value| answer["applied"].as_array().unwrap().len();
    assert_eq!(applied(one.unwrap()) + applied(other.unwrap()), migrations().len());
}

#[tokio::test]
async fn a_schema_of_a_newer_release_is_refused_with_what_to_do_and_left_alone() {
    let database = TestDatabase::new().await;
    let admin = database.admin().await;
    let ahead = latest_version() + 1;
    let newer = "INSERT INTO tidemark.schema_migrations (version, name, hash) VALUES ($1, 'later', 'unknown')";
    admin.execute(newer, &[&ahead]).await.unwrap();
    let migrate = start(database.url_for("postgres")).await;
    let (error_type, message) = refused(&migrate, json!({})).await;
    assert_eq!(error_type, "SchemaNewer");
    assert!(message.contains("nothing was changed; next: use a release at least as new"), "{message}");
    let line = migrate.wait_for_log(LIMIT, |line| line.contains("SchemaNewer")).await.unwrap();
    assert!(line.contains("ERROR"), "{line}");
    assert_eq!(current_version(&admin).await.unwrap(), ahead);
}

#[tokio::test]
async fn the_workers_credentials_are_not_enough_and_an_unreachable_database_is_told_without_its_url() {
    let database = TestDatabase::new().await;
    let admin = database.admin().await;
    admin.batch_execute("DELETE FROM tidemark.schema_migrations WHERE version > 20").await.unwrap();
    let (error_type, message) = refused(&start(database.url_for("tidemark_worker")).await, json!({})).await;
    assert_eq!(error_type, "MigrationRefused");
    assert!(message.contains("42501") && message.contains("migrate as the owner of the database"), "{message}");

    let unreachable = start("postgres://user:url-canary@127.0.0.1:1/app".to_owned()).await;
    let (error_type, message) = refused(&unreachable, json!({})).await;
    assert_eq!(error_type, "DatabaseUnreachable");
    assert!(message.contains("refused") && message.contains("next: "), "{message}");
    assert!(!message.contains("canary") && !unreachable.logs().join("\n").contains("canary"));
}
