//! Functions and schema of two releases side by side: a function refuses a schema that it cannot speak to, and does nothing.

use std::sync::Arc;

use tidemark_migrations::latest_version;
use tidemark_projection::{compute, publish};
use tidemark_queue::{Connection, Error, Function, Outcome, SchemaMismatch, Summary, claim};
use tidemark_testkit::{SocketConnector, TestDatabase};
use tidemark_tests::{Pipeline, invocation};
use tokio_postgres::Client;

use crate::round_trips::RoundTrips;
use crate::saved_user;

/// One more version than this build knows.
async fn migrate_further(admin: &Client) {
    let newer =
        "INSERT INTO tidemark.schema_migrations (version, name, hash) VALUES ($1, 'of the next release', 'unknown')";
    admin.execute(newer, &[&(latest_version() + 1)]).await.unwrap();
}

/// From now on the schema speaks only to builds of `version` and later.
async fn leave_behind(admin: &Client, version: i32) {
    let statement = format!(
        "CREATE OR REPLACE FUNCTION tidemark.minimum_function_version() RETURNS integer
        LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT {version}'"
    );
    admin.batch_execute(&statement).await.unwrap();
}

async fn tick(function: Function, connection: &mut Connection) -> Summary {
    match function {
        Function::Claim => claim::handle(connection, &invocation()).await,
        Function::Compute => compute::handle(connection, &invocation()).await,
        Function::Publish => publish::handle(connection, &invocation()).await,
        Function::Work => unreachable!("these tests drive the pipeline"),
    }
}

fn check_refused(summary: &Summary) {
    let found = (summary.outcome, summary.error_code.as_deref(), summary.succeeded);
    assert_eq!(found, (Outcome::Failed, Some("schema_mismatch"), 0), "{summary:?}");
}

async fn mismatch(connection: &mut Connection) -> SchemaMismatch {
    match connection.client().await.map(drop) {
        Err(Error::SchemaMismatch(mismatch)) => mismatch,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_function_refuses_a_schema_that_is_older_and_works_once_it_is_migrated() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    // The last migration as if it had not been applied: its number is taken away and given back.
    let renumber = "UPDATE tidemark.schema_migrations SET version = $1 WHERE version = $2";
    pipeline.run(renumber, &[&-1, &latest_version()]).await;
    let mut connections = Function::ALL.map(|function| (function, pipeline.worker()));
    for (function, connection) in &mut connections {
        check_refused(&tick(*function, connection).await);
        let expected = SchemaMismatch::SchemaOlder { found: latest_version() - 1, needed: latest_version() };
        assert_eq!(mismatch(connection).await, expected);
    }
    assert!(pipeline.runs(user).await.is_empty());
    let ticked = "SELECT count(last_started_at) FROM tidemark.ticks";
    assert_eq!(pipeline.one(ticked, &[]).await.get::<_, i64>(0), 0, "nothing but the version was asked");

    pipeline.run(renumber, &[&latest_version(), &-1]).await;
    for (function, connection) in &mut connections {
        assert_eq!(tick(*function, connection).await.succeeded, 1, "{function}");
    }
    pipeline.refresh().await;
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_function_works_on_a_newer_schema_until_that_leaves_it_behind() {
    let pipeline = Pipeline::new().await;
    saved_user(&pipeline).await;
    migrate_further(&pipeline.admin).await;
    let mut warm = pipeline.worker();
    assert_eq!(tick(Function::Claim, &mut warm).await.succeeded, 1);
    leave_behind(&pipeline.admin, latest_version()).await;
    assert_eq!(tick(Function::Compute, &mut pipeline.worker()).await.succeeded, 1);

    leave_behind(&pipeline.admin, latest_version() + 1).await;
    let mut cold = pipeline.worker();
    check_refused(&tick(Function::Publish, &mut cold).await);
    let (found, built_for) = (latest_version() + 1, latest_version());
    assert_eq!(mismatch(&mut cold).await, SchemaMismatch::BuildOlder { found, minimum: found, built_for });
    assert_eq!(
        tick(Function::Claim, &mut warm).await.outcome,
        Outcome::Idle,
        "a connection that stands is not asked again"
    );
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_database_that_is_not_migrated_is_told_from_one_of_another_release() {
    let database = TestDatabase::empty().await;
    for user in ["postgres", "tidemark_worker"] {
        let mut connection = Connection::new(database.connector(user));
        check_refused(&tick(Function::Claim, &mut connection).await);
        assert_eq!(mismatch(&mut connection).await, SchemaMismatch::Missing);
    }
}

#[tokio::test]
async fn the_version_is_asked_once_for_each_connection() {
    let pipeline = Pipeline::new().await;
    let counter = RoundTrips::listen(&pipeline.database.url_for("tidemark_worker")).await;
    for function in Function::ALL {
        let mut connection = Connection::new(Arc::new(SocketConnector::new(counter.url())));
        for round_trips in [2, 1, 1] {
            counter.reset();
            assert_eq!(tick(function, &mut connection).await.outcome, Outcome::Idle);
            assert_eq!(counter.count(), round_trips, "{function}");
        }
    }
    pipeline.check_invariants().await;
}
