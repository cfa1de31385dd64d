//! `tidemark migrate`: together, ahead, and not at all.

use futures_util::future::join_all;
use tidemark_migrations::latest_version;
use tidemark_testkit::{Server, TestDatabase};

use crate::folder::Folder;

#[tokio::test]
async fn twenty_migrations_at_once_all_succeed_and_one_applies() {
    let folder = Folder::new().await;
    // A server of its own: roles belong to the whole server, and here they are missing as well.
    let server = Server::start();
    let url = server.url("postgres", "postgres");
    let arguments = ["migrate", "--json", "--database-url", &url];
    let reports = join_all((0..20).map(|_one| folder.run(&arguments))).await;
    let applied: Vec<usize> = reports
        .iter()
        .map(|ran| ran.document()["applied"].as_array().unwrap().len())
        .filter(|count| *count > 0)
        .collect();
    assert_eq!(applied, [usize::try_from(latest_version()).unwrap()]);
    for ran in &reports {
        assert_eq!(ran.document()["to"], latest_version());
    }
}

#[tokio::test]
async fn a_dry_run_says_what_would_be_applied_and_applies_nothing() {
    let folder = Folder::new().await;
    let database = TestDatabase::empty().await;
    let url = database.url_for("postgres");
    for _again in 0..2 {
        let report = folder.run(&["migrate", "--dry-run", "--json", "--database-url", &url]).await.document();
        assert_eq!((&report["from"], &report["to"]), (&0.into(), &latest_version().into()));
        assert_eq!(report["applied"].as_array().unwrap().len(), usize::try_from(latest_version()).unwrap());
    }
    let schema = "SELECT to_regnamespace('tidemark') IS NULL";
    assert!(database.admin().await.query_one(schema, &[]).await.unwrap().get::<_, bool>(0));
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let admin = database.admin().await;
    let newer =
        "INSERT INTO tidemark.schema_migrations (version, name, hash) VALUES ($1, 'from the future', 'unknown')";
    admin.execute(newer, &[&(latest_version() + 1)]).await.unwrap();
    let url = database.url_for("postgres");
    for arguments in [
        &["migrate", "--json", "--database-url", &url][..],
        &["migrate", "--dry-run", "--json", "--database-url", &url],
        &["local", "--until-fresh", "--port", "0", "--json", "--database-url", &url],
    ] {
        folder.run(arguments).await.check_refused(1, &["version", "at least as new"]);
    }
    let versions = "SELECT count(*)::int FROM tidemark.schema_migrations";
    assert_eq!(admin.query_one(versions, &[]).await.unwrap().get::<_, i32>(0), latest_version() + 1);
}
