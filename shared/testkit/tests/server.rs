//! The servers and databases that other tests stand on.

use std::time::Instant;

use tidemark_queue::Connection;
use tidemark_testkit::{Server, TestDatabase};

#[tokio::test]
async fn what_one_test_writes_no_other_test_sees() {
    let began = Instant::now();
    let one = TestDatabase::new().await;
    let first = began.elapsed();
    let began = Instant::now();
    let two = TestDatabase::new().await;
    eprintln!("first database {first:?}, second {:?}", began.elapsed());
    one.admin().await.batch_execute("create table mine (); create schema own").await.expect("the superuser may");
    let seen = two.admin().await.query_one("select to_regclass('mine') is null", &[]).await.expect("answers");
    assert!(seen.get::<_, bool>(0));
}

#[tokio::test]
async fn a_database_has_every_migration_and_an_empty_one_has_none() {
    let migrated = TestDatabase::new().await;
    let mut client = migrated.admin().await;
    let report = tidemark_migrations::migrate(&mut client).await.expect("nothing is left to do");
    assert_eq!((report.applied.len(), report.from), (0, tidemark_migrations::latest_version()));
    let empty = TestDatabase::empty().await;
    let report = tidemark_migrations::migrate(&mut empty.admin().await).await.expect("all apply");
    assert_eq!((report.from, report.to), (0, tidemark_migrations::latest_version()));
}

#[tokio::test]
async fn each_connection_is_of_the_role_that_was_asked_for() {
    let database = TestDatabase::new().await;
    let who =
        "select session_user::text, current_user::text, (select rolsuper from pg_roles where rolname = current_user)";
    for (client, role, is_super) in [
        (database.admin().await, "postgres", true),
        (database.worker().await, "tidemark_worker", false),
        (database.connect_as("tidemark_worker").await, "tidemark_worker", false),
        (database.connect_as("anon").await, "anon", false),
    ] {
        let row = client.query_one(who, &[]).await.expect("answers");
        assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1), row.get::<_, bool>(2)), (role, role, is_super));
    }
}

#[tokio::test]
async fn a_connector_serves_the_queues_connection() {
    let database = TestDatabase::new().await;
    let mut connection = Connection::new(database.connector("tidemark_worker"));
    let row = connection.client().await.expect("it connects").query_one("select current_database()::text", &[]).await;
    assert_eq!(row.expect("answers").get::<_, &str>(0), database.name());
}

#[tokio::test]
async fn a_database_goes_with_its_value_although_connections_are_open() {
    let other = TestDatabase::new().await;
    let database = TestDatabase::new().await;
    let name = database.name().to_owned();
    let _open = database.worker().await;
    drop(database);
    let statement = "select count(*) from pg_database where datname = $1";
    let row = other.admin().await.query_one(statement, &[&name]).await.expect("answers");
    assert_eq!(row.get::<_, i64>(0), 0);
}

#[tokio::test]
async fn acknowledged_commits_of_a_crashed_server_are_there_after_its_restart() {
    let mut server = Server::start();
    server.migrate("postgres").await;
    let client = server.admin("postgres").await;
    client.batch_execute("create table kept (value int)").await.expect("the superuser may");
    for value in 0..200 {
        client.execute("insert into kept values ($1)", &[&value]).await.expect("acknowledged");
    }
    server.crash();
    assert!(!server.is_running());
    assert!(client.query_one("select 1", &[]).await.is_err(), "the crash was real");
    let began = Instant::now();
    server.restart();
    eprintln!("restart after a crash: {:?}", began.elapsed());
    let row = server.admin("postgres").await.query_one("select count(*) from kept", &[]).await.expect("answers");
    assert_eq!(row.get::<_, i64>(0), 200);
    let mut connection = Connection::new(server.connector("tidemark_worker", "postgres"));
    connection.client().await.expect("roles are kept as well");
}
