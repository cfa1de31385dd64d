//! Migrating without a superuser, on a server that knows none of our roles yet.

use futures_util::future::join;
use tidemark_migrations::{latest_version, migrate};
use tidemark_testkit::Server;
use tokio_postgres::{Client, NoTls};

/// A server with two databases that belong to a role with CREATEROLE and nothing else.
async fn server_of_an_ordinary_owner() -> Server {
    let server = Server::start();
    let admin = server.admin("postgres").await;
    admin.batch_execute("CREATE ROLE application_owner LOGIN CREATEROLE").await.unwrap();
    admin.batch_execute("CREATE DATABASE first OWNER application_owner").await.unwrap();
    admin.batch_execute("CREATE DATABASE second OWNER application_owner").await.unwrap();
    server
}

async fn owner(server: &Server, database: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(&server.url("application_owner", database), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn save(client: &Client) {
    let save = "SELECT public.save_workout_v1(gen_random_uuid(), '{\"started_at\": \"2026-07-19T17:30:00Z\"}')";
    client.query_one(save, &[]).await.unwrap();
}

#[tokio::test]
async fn a_database_owner_with_createrole_migrates_two_databases_of_one_server_and_each_again() {
    let server = server_of_an_ordinary_owner().await;
    for database in ["first", "second"] {
        let mut client = owner(&server, database).await;
        assert_eq!(migrate(&mut client).await.unwrap().to, latest_version(), "{database}");
        assert_eq!(migrate(&mut client).await.unwrap().applied, Vec::<String>::new(), "{database}");
        save(&client).await;
        let worker =
            "SELECT has_function_privilege('tidemark_worker', 'tidemark.claim_v1(uuid, timestamptz)', 'execute')
            AND NOT has_table_privilege('tidemark_worker', 'public.workouts', 'select')";
        assert!(client.query_one(worker, &[]).await.unwrap().get::<_, bool>(0));
    }
}

#[tokio::test]
async fn two_databases_of_a_fresh_server_can_be_migrated_at_once() {
    let server = server_of_an_ordinary_owner().await;
    let (mut first, mut second) = (owner(&server, "first").await, owner(&server, "second").await);
    let (one, other) = join(migrate(&mut first), migrate(&mut second)).await;
    assert_eq!(one.unwrap().to, latest_version());
    assert_eq!(other.unwrap().to, latest_version());
    save(&first).await;
    save(&second).await;
}

#[tokio::test]
async fn a_login_without_createrole_is_refused_as_a_whole() {
    let server = server_of_an_ordinary_owner().await;
    let admin = server.admin("first").await;
    admin.batch_execute("ALTER ROLE application_owner NOCREATEROLE").await.unwrap();
    let mut client = owner(&server, "first").await;
    let refusal = migrate(&mut client).await.unwrap_err();
    assert!(refusal.to_string().contains("42501"), "{refusal}");
    let left = "SELECT count(*) FROM pg_namespace WHERE nspname = 'tidemark'";
    assert_eq!(admin.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
    let roles = "SELECT count(*) FROM pg_roles WHERE rolname IN ('tidemark_owner', 'tidemark_worker', 'anon')";
    assert_eq!(admin.query_one(roles, &[]).await.unwrap().get::<_, i64>(0), 0);
}
