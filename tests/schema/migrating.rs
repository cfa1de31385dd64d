//! Applying the migrations: once, all or nothing, by one at a time, and never over another history.

use std::time::Duration;

use futures_util::future::join_all;
use tidemark_migrations::{MigrateError, current_version, latest_version, migrate, migrations, plan};
use tidemark_postgres::SUPERUSER;
use tidemark_testkit::TestDatabase;
use tokio_postgres::{Client, Config, NoTls};

const DEADLINE: Duration = Duration::from_secs(20);

/// Asks again until the query's one boolean is true.
async fn wait_until(client: &Client, query: &str) {
    let satisfied = async {
        while !client.query_one(query, &[]).await.unwrap().get::<_, bool>(0) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(DEADLINE, satisfied).await.unwrap_or_else(|_late| panic!("never true: {query}"));
}

/// Everything in the two schemas that a migration makes.
async fn made(client: &Client) -> Vec<String> {
    let query = "SELECT relation.oid::regclass::text FROM pg_class AS relation
            WHERE relation.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'tidemark'))
        UNION ALL SELECT routine.oid::regprocedure::text FROM pg_proc AS routine
            WHERE routine.pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'tidemark'))
        UNION ALL SELECT nspname FROM pg_namespace WHERE nspname = 'tidemark'";
    client.query(query, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn migrating_twice_changes_nothing_the_second_time() {
    let database = TestDatabase::empty().await;
    let mut admin = database.admin().await;
    let planned = plan(&admin).await.unwrap();
    let first = migrate(&mut admin).await.unwrap();
    assert_eq!(planned, first);
    assert_eq!((first.from, first.to, first.applied.len()), (0, latest_version(), migrations().len()));

    let applied_at = "SELECT string_agg(applied_at::text, ' ' ORDER BY version) FROM tidemark.schema_migrations";
    let before: String = admin.query_one(applied_at, &[]).await.unwrap().get(0);
    let second = migrate(&mut admin).await.unwrap();
    assert_eq!((second.from, second.applied), (latest_version(), Vec::new()));
    assert_eq!(admin.query_one(applied_at, &[]).await.unwrap().get::<_, String>(0), before);
}

#[tokio::test]
async fn a_plan_changes_nothing() {
    let database = TestDatabase::empty().await;
    let admin = database.admin().await;
    plan(&admin).await.unwrap();
    assert_eq!(made(&admin).await, Vec::<String>::new());
    assert_eq!(current_version(&admin).await.unwrap(), 0);
}

#[tokio::test]
async fn b55_of_eight_that_migrate_at_once_one_applies_and_the_others_find_nothing_to_do() {
    let database = TestDatabase::empty().await;
    let runs = (0..8).map(|_number| async {
        let mut client = database.admin().await;
        migrate(&mut client).await.unwrap()
    });
    let reports = join_all(runs).await;
    assert_eq!(reports.iter().filter(|report| !report.applied.is_empty()).count(), 1);
    assert!(reports.iter().all(|report| report.to == latest_version()));
    let admin = database.admin().await;
    assert_eq!(current_version(&admin).await.unwrap(), latest_version());
}

#[tokio::test]
async fn b54_a_database_and_a_role_whose_names_need_quoting_are_migrated_like_any() {
    let database = TestDatabase::empty().await;
    let admin = database.admin().await;
    let role = format!("we-ird.Us\"er {}", database.name());
    let new_name = format!("We-ird.\"{}", database.name());
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    for statement in
        [format!("CREATE ROLE {} SUPERUSER", quoted(&role)), format!("CREATE DATABASE {}", quoted(&new_name))]
    {
        admin.batch_execute(&statement).await.unwrap();
    }
    let mut elsewhere: Config = database.url_for(SUPERUSER).parse().unwrap();
    let (mut migrator, conversation) = elsewhere.dbname(&new_name).connect(NoTls).await.unwrap();
    tokio::spawn(conversation);
    migrator.batch_execute(&format!("SET SESSION AUTHORIZATION {}", quoted(&role))).await.unwrap();
    let report = migrate(&mut migrator).await.unwrap();
    assert_eq!(report.to, latest_version());
    let saved =
        "SELECT public.save_workout_v1(gen_random_uuid(), '{\"started_at\": \"2026-07-19T17:30:00Z\", \"sets\": []}')";
    migrator.query_one(saved, &[]).await.unwrap();
    let status = "SELECT public.stats_projection_worker_status_v1() ->> 'stale_users'";
    migrator.query_one(status, &[]).await.unwrap();
    drop(migrator);
    admin.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", quoted(&new_name))).await.unwrap();
    admin.batch_execute(&format!("DROP ROLE {}", quoted(&role))).await.unwrap();
}

/// Makes every later `CREATE FUNCTION` of the database wait for the advisory lock 1.
const GATE: &str = "
    CREATE SCHEMA gate;
    CREATE FUNCTION gate.wait() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_catalog.pg_advisory_xact_lock(1);
    END $$;
    CREATE EVENT TRIGGER wait_at_the_gate ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION')
        EXECUTE FUNCTION gate.wait()";
const WAITING_AT_THE_GATE: &str = "SELECT EXISTS (
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory')";
const NOBODY_ELSE: &str = "SELECT NOT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid())";

#[tokio::test]
async fn a_migration_whose_connection_is_dropped_half_way_leaves_nothing() {
    let database = TestDatabase::empty().await;
    let mut admin = database.admin().await;
    admin.batch_execute(GATE).await.unwrap();
    admin.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let mut client = database.admin().await;
    let migrating = tokio::spawn(async move { migrate(&mut client).await.map(|_report| ()) });
    wait_until(&admin, WAITING_AT_THE_GATE).await;

    migrating.abort();
    assert!(migrating.await.unwrap_err().is_cancelled());
    admin.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    wait_until(&admin, NOBODY_ELSE).await;
    assert_eq!(made(&admin).await, Vec::<String>::new());

    admin.batch_execute("DROP EVENT TRIGGER wait_at_the_gate").await.unwrap();
    assert_eq!(migrate(&mut admin).await.unwrap().applied.len(), migrations().len());
}

#[tokio::test]
async fn a_migration_whose_server_process_is_ended_half_way_leaves_nothing_and_says_so() {
    let database = TestDatabase::empty().await;
    let admin = database.admin().await;
    admin.batch_execute(GATE).await.unwrap();
    admin.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let mut client = database.admin().await;
    let migrating = tokio::spawn(async move { migrate(&mut client).await });
    wait_until(&admin, WAITING_AT_THE_GATE).await;

    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event = 'advisory'";
    admin.batch_execute(end).await.unwrap();
    let refusal = migrating.await.unwrap().unwrap_err();
    assert!(matches!(&refusal, MigrateError::Refused { code, .. } if code == "57P01"), "{refusal:?}");
    wait_until(&admin, NOBODY_ELSE).await;
    assert_eq!(made(&admin).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_database_whose_migration_had_another_text_is_refused_and_left_alone() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    admin.batch_execute("UPDATE tidemark.schema_migrations SET hash = 'another' WHERE version = 3").await.unwrap();
    let refusal = migrate(&mut admin).await.unwrap_err();
    assert!(matches!(&refusal, MigrateError::Changed { version: 3, name } if name == "source"), "{refusal:?}");
    assert!(matches!(plan(&admin).await.unwrap_err(), MigrateError::Changed { version: 3, .. }));
}

#[tokio::test]
async fn a_database_ahead_of_this_build_is_refused_and_left_alone() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    let ahead = latest_version() + 1;
    let newer = "INSERT INTO tidemark.schema_migrations (version, name, hash) VALUES ($1, 'later', 'unknown')";
    admin.execute(newer, &[&ahead]).await.unwrap();
    let refusal = migrate(&mut admin).await.unwrap_err();
    let expected = (ahead, latest_version());
    assert!(matches!(refusal, MigrateError::Newer { found, known } if (found, known) == expected), "{refusal:?}");
    assert!(
        refusal.to_string().contains("newer build") || refusal.to_string().contains("at least as new"),
        "{refusal}"
    );
    assert_eq!(current_version(&admin).await.unwrap(), ahead);
}

#[test]
fn the_versions_are_counted_from_one_without_gaps() {
    let versions: Vec<i32> = migrations().iter().map(|migration| migration.version).collect();
    assert_eq!(versions, (1..=latest_version()).collect::<Vec<_>>());
}
