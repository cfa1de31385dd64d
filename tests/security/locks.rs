//! What an application role may hold cannot stop the pipeline.

use serde_json::json;
use tidemark_queue::Outcome;
use tidemark_tests::Pipeline;
use tokio_postgres::types::Json;
use uuid::Uuid;

use crate::refusal::{FORBIDDEN, become_role, code_of};

#[tokio::test]
async fn a_claim_a_compute_and_a_publish_take_no_advisory_lock() {
    let pipeline = Pipeline::new().await;
    pipeline.save(Uuid::new_v4(), "2026-07-19T17:30:00Z", "Squat", &[(100.0, 5)]).await;
    let worker = pipeline.database.worker().await;
    let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
    worker.batch_execute("BEGIN").await.unwrap();
    let outcome: String =
        worker.query_one("SELECT outcome FROM tidemark.claim_v1(gen_random_uuid())", &[]).await.unwrap().get(0);
    assert_eq!(outcome, "worked");
    let taken = worker.query_one("SELECT outcome FROM tidemark.compute_take_v1(gen_random_uuid())", &[]).await.unwrap();
    assert_eq!(taken.get::<_, String>(0), "taken");
    worker.query_one("SELECT outcome FROM tidemark.publish_take_v1(gen_random_uuid())", &[]).await.unwrap();
    assert_eq!(worker.query_one(held, &[]).await.unwrap().get::<_, i64>(0), 0);
    worker.batch_execute("COMMIT").await.unwrap();
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_application_role_can_lock_no_row_and_no_table_of_the_pipeline() {
    let pipeline = Pipeline::new().await;
    for role in ["anon", "authenticated"] {
        let client = pipeline.database.connect_as(role).await;
        for statement in [
            "SELECT FROM tidemark.claim_gate FOR UPDATE",
            "SELECT FROM public.user_stats_projection_state FOR KEY SHARE",
            "SELECT FROM public.user_stats_projection_runs FOR UPDATE",
            "SELECT FROM public.stats_projection_worker_settings FOR UPDATE",
            "LOCK TABLE public.user_stats_projection_runs IN ACCESS SHARE MODE",
            "LOCK TABLE public.workout_sets IN ACCESS SHARE MODE",
        ] {
            assert_eq!(code_of(&client, statement).await.as_deref(), Some(FORBIDDEN), "{role}: {statement}");
        }
    }
}

#[tokio::test]
async fn a_save_left_open_and_advisory_locks_of_everybody_delay_nobody_elses_refresh() {
    let mut pipeline = Pipeline::new().await;
    let (idle, busy) = (Uuid::new_v4(), Uuid::new_v4());
    pipeline.save(busy, "2026-07-19T17:30:00Z", "Squat", &[(100.0, 5)]).await;
    let client = pipeline.database.admin().await;
    become_role(&client, "authenticated", Some(json!({"sub": idle}))).await;
    let workout = Json(json!({"started_at": "2026-07-19T17:30:00Z", "sets": [{"exercise": "Squat", "reps": 5}]}));
    client.batch_execute("BEGIN").await.unwrap();
    client.query_one("SELECT public.save_workout_v1($1, $2)", &[&idle, &workout]).await.unwrap();
    let advisory = "SELECT count(pg_advisory_lock(key)) FROM generate_series(-500, 500) AS key";
    client.query_one(advisory, &[]).await.unwrap();

    assert_eq!(pipeline.claim().await.outcome, Outcome::Worked);
    assert_eq!(pipeline.compute().await.succeeded, 1);
    assert_eq!(pipeline.publish().await.succeeded, 1);
    let (requested, applied) = pipeline.generations(busy).await;
    assert_eq!(requested, applied);

    client.batch_execute("COMMIT").await.unwrap();
    pipeline.refresh().await;
    let (requested, applied) = pipeline.generations(idle).await;
    assert_eq!(requested, applied);
    pipeline.check_invariants().await;
}
