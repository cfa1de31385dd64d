//! Pausing: new work stops from the next tick on, running work ends normally, enqueueing goes on.

use serde_json::Value;
use tidemark_queue::Outcome;
use tidemark_tests::Pipeline;
use tokio_postgres::types::Json;

use crate::{EVENING, saved_user};

async fn switch_all(pipeline: &Pipeline, on: bool) {
    for name in ["claim_enabled", "compute_enabled", "publish_enabled", "work_enabled"] {
        pipeline.set(name, &on.to_string()).await;
    }
}

#[tokio::test]
async fn a_paused_claim_claims_nothing_and_running_work_ends_normally() {
    let mut pipeline = Pipeline::new().await;
    let running = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.set("claim_enabled", "false").await;
    let waiting = saved_user(&pipeline).await;
    assert_eq!(pipeline.claim().await.outcome, Outcome::Paused);
    assert!(pipeline.runs(waiting).await.is_empty());
    assert_eq!(pipeline.compute().await.succeeded, 1);
    assert_eq!(pipeline.publish().await.succeeded, 1);
    let (requested, applied) = pipeline.generations(running).await;
    assert_eq!(requested, applied);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn each_function_is_paused_by_its_own_switch_only() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.set("compute_enabled", "false").await;
    assert_eq!(pipeline.claim().await.succeeded, 1);
    assert_eq!(pipeline.compute().await.outcome, Outcome::Paused);
    assert_eq!(pipeline.last_run(user).await.phase, "claimed");

    pipeline.set("compute_enabled", "true").await;
    pipeline.set("publish_enabled", "false").await;
    assert_eq!(pipeline.compute().await.succeeded, 1);
    assert_eq!(pipeline.publish().await.outcome, Outcome::Paused);
    assert_eq!(pipeline.last_run(user).await.phase, "computed");

    pipeline.set("publish_enabled", "true").await;
    assert_eq!(pipeline.publish().await.succeeded, 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn b62_with_everything_paused_only_enqueueing_goes_on_and_the_status_shows_who_is_stale() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.refresh().await;
    let (_requested, applied) = pipeline.generations(user).await;
    switch_all(&pipeline, false).await;
    for _ in 0..3 {
        pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
        let outcomes =
            [pipeline.claim().await.outcome, pipeline.compute().await.outcome, pipeline.publish().await.outcome];
        assert_eq!(outcomes, [Outcome::Paused; 3]);
    }
    let (requested, still_applied) = pipeline.generations(user).await;
    assert_eq!(still_applied, applied);
    assert!(requested > applied);
    let Json(status): Json<Value> = pipeline.one("SELECT public.stats_projection_worker_status_v1()", &[]).await.get(0);
    assert_eq!((&status["stale_users"], &status["queue"]["pending_jobs"]), (&Value::from(1), &Value::from(3)));
    assert_eq!(status["settings"]["claim_enabled"], Value::from(false));

    switch_all(&pipeline, true).await;
    pipeline.refresh().await;
    assert_eq!(pipeline.generations(user).await, (requested, requested));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn leases_that_expire_while_everything_is_paused_are_recovered_by_the_first_claim_after_it() {
    let mut pipeline = Pipeline::new().await;
    let (first, second) = (saved_user(&pipeline).await, saved_user(&pipeline).await);
    pipeline.claim().await;
    switch_all(&pipeline, false).await;
    pipeline.expire(first).await;
    pipeline.expire(second).await;
    assert_eq!(pipeline.claim().await.recovered, 0);
    switch_all(&pipeline, true).await;
    let summary = pipeline.claim().await;
    assert_eq!((summary.recovered, summary.succeeded), (2, 2));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_paused_tick_is_noted_as_paused() {
    let mut pipeline = Pipeline::new().await;
    switch_all(&pipeline, false).await;
    pipeline.claim().await;
    pipeline.compute().await;
    pipeline.publish().await;
    let query = "SELECT count(*) FROM tidemark.ticks WHERE last_outcome = 'paused' AND last_started_at IS NOT NULL";
    assert_eq!(pipeline.one(query, &[]).await.get::<_, i64>(0), 3);
    pipeline.check_invariants().await;
}
