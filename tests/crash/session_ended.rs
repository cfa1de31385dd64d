//! The server ends a worker's session, or has none to give.

use tidemark_queue::{Connect, Outcome, Summary};
use tidemark_testkit::{SocketConnector, TestDatabase};

use crate::scene::{Gate, Scene, Workers};

#[tokio::test]
async fn a_worker_whose_session_is_ended_records_the_failure_at_once_and_the_next_attempt_succeeds() {
    for name in ["compute", "publish"] {
        let database = TestDatabase::new().await;
        let mut workers = Workers::new(&database.connector("tidemark_worker"));
        let scene = Scene::new(database.admin().await, &mut workers).await;
        workers.claim().await;
        let gate = match name {
            "compute" => "LOCK TABLE tidemark.staged_results IN SHARE MODE",
            _ => "LOCK TABLE public.user_exercise_rep_maxes IN SHARE MODE",
        };
        if name == "publish" {
            workers.compute().await;
        }
        let gate = Gate::close(database.admin().await, gate).await;
        let work = async {
            match name {
                "compute" => workers.compute().await,
                _ => workers.publish().await,
            }
        };
        let ending = async {
            scene.until_blocked().await;
            let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()
                       AND usename = 'tidemark_worker' AND wait_event_type = 'Lock'";
            assert_eq!(scene.admin.query_one(end, &[]).await.unwrap().get::<_, i64>(0), 1);
        };
        let (summary, ()): (Summary, ()) = tokio::join!(work, ending);
        gate.open().await;
        assert_eq!((summary.outcome, summary.failed), (Outcome::Failed, 1), "{name}: {summary:?}");
        assert_eq!(scene.figures().await, scene.expected[0], "{name}");
        // No lease has to run out: the failure is known.
        workers.refresh().await;
        scene.check_fresh(1).await;
        let expected = [("failed".to_owned(), 1, "57P01".to_owned()), ("published".to_owned(), 2, String::new())];
        assert_eq!(scene.runs().await, expected, "{name}");
    }
}

#[tokio::test]
async fn b59_a_server_without_a_free_connection_ends_the_tick_quietly_and_costs_no_attempt() {
    let database = TestDatabase::new().await;
    let connector = database.connector("tidemark_worker");
    let mut workers = Workers::new(&connector);
    let scene = Scene::new(database.admin().await, &mut workers).await;
    let limit = async |connections: i32| {
        let statement = format!("ALTER DATABASE {} CONNECTION LIMIT {connections}", database.name());
        scene.admin.batch_execute(&statement).await.unwrap();
    };
    let mut newcomers = Workers::new(&connector);
    limit(0).await;
    for summary in [newcomers.claim().await, newcomers.compute().await, newcomers.publish().await] {
        assert_eq!((summary.outcome, summary.error_code.as_deref()), (Outcome::Unavailable, Some("53300")));
    }
    limit(-1).await;
    newcomers.refresh().await;
    scene.check_fresh(1).await;
    assert_eq!(scene.runs().await, [("published".to_owned(), 1, String::new())]);
}

#[tokio::test]
async fn a_database_that_lets_nobody_in_ends_the_tick_quietly_and_costs_no_attempt() {
    let database = TestDatabase::new().await;
    let connector = database.connector("tidemark_worker");
    let mut workers = Workers::new(&connector);
    let scene = Scene::new(database.admin().await, &mut workers).await;
    // Nobody closes the database that they are in.
    let elsewhere = database.url_for("postgres").replace(database.name(), "postgres");
    let elsewhere = SocketConnector::new(elsewhere).connect().await.unwrap().into_client();
    let let_in = async |allowed: bool| {
        let statement = format!("ALTER DATABASE {} ALLOW_CONNECTIONS {allowed}", database.name());
        elsewhere.batch_execute(&statement).await.unwrap();
    };
    let mut newcomers = Workers::new(&connector);
    let_in(false).await;
    for summary in [newcomers.claim().await, newcomers.compute().await, newcomers.publish().await] {
        assert_eq!((summary.outcome, summary.error_code.as_deref()), (Outcome::Unavailable, Some("55000")));
    }
    let_in(true).await;
    newcomers.refresh().await;
    scene.check_fresh(1).await;
    assert_eq!(scene.runs().await, [("published".to_owned(), 1, String::new())]);
}
