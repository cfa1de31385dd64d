//! A worker that comes back after its lease was recovered and given to another: whatever it tries changes nothing.

use tidemark_tests::{Pipeline, Run};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::{publish, saved_user};

async fn stage(worker: &Client, run: &Run) -> bool {
    let query = "SELECT tidemark.compute_stage_v1($1, $2, $3, 1, 1, '{\"summary\": {}}')";
    worker.query_one(query, &[&run.id, &run.attempt, &run.token]).await.unwrap().get(0)
}

async fn hold(worker: &Client, run: &Run) -> bool {
    let query = "SELECT tidemark.compute_hold_v1($1, $2, $3)";
    worker.query_one(query, &[&run.id, &run.attempt, &run.token]).await.unwrap().get(0)
}

async fn fail(worker: &Client, run: &Run) -> String {
    let query = "SELECT tidemark.run_fail_v1($1, $2, $3, 'zombie', '')";
    worker.query_one(query, &[&run.id, &run.attempt, &run.token]).await.unwrap().get(0)
}

async fn phase(worker: &Client, run: &Run) -> String {
    let query = "SELECT tidemark.run_phase_v1($1, $2, $3)";
    worker.query_one(query, &[&run.id, &run.attempt, &run.token]).await.unwrap().get(0)
}

/// Everything that a zombie could have changed, as one text.
async fn everything(pipeline: &Pipeline, user: Uuid) -> String {
    let query = "SELECT jsonb_build_object(
            'state', (SELECT jsonb_agg(to_jsonb(state)) FROM public.user_stats_projection_state AS state),
            'jobs', (SELECT jsonb_agg(to_jsonb(job) ORDER BY id) FROM public.user_exercise_stats_refresh_jobs AS job),
            'runs', (SELECT jsonb_agg(to_jsonb(run) ORDER BY id) FROM public.user_stats_projection_runs AS run),
            'dirty', (SELECT jsonb_agg(to_jsonb(dirty)) FROM public.user_exercise_stats_dirty AS dirty),
            'staged', (SELECT jsonb_agg(to_jsonb(staged)) FROM tidemark.staged_results AS staged),
            'stats', (SELECT jsonb_agg(to_jsonb(stats)) FROM public.user_exercise_stats AS stats WHERE user_id = $1),
            'alerts', (SELECT jsonb_agg(to_jsonb(alert)) FROM public.alert_outbox AS alert)
        )::text";
    pipeline.one(query, &[&user]).await.get(0)
}

/// The zombie tries all it could do, and is told each time.
async fn nothing_comes_of_it(pipeline: &Pipeline, user: Uuid, zombie: &Client, old: &Run) {
    let before = everything(pipeline, user).await;
    assert!(!hold(zombie, old).await);
    assert!(!stage(zombie, old).await);
    assert_eq!(publish(zombie, old).await.as_deref(), Ok("lost"));
    assert_eq!(fail(zombie, old).await, "lost");
    assert_eq!(everything(pipeline, user).await, before);
}

#[tokio::test]
async fn a_worker_whose_lease_was_given_to_another_changes_nothing_in_any_phase() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let (zombie, holder) = (pipeline.database.worker().await, pipeline.database.worker().await);
    zombie.batch_execute("SELECT tidemark.compute_take_v1(gen_random_uuid())").await.unwrap();
    let old = pipeline.last_run(user).await;
    assert_eq!(phase(&zombie, &old).await, "computing");

    pipeline.expire(user).await;
    assert_eq!(pipeline.claim().await.recovered, 1);
    nothing_comes_of_it(&pipeline, user, &zombie, &old).await;
    holder.batch_execute("SELECT tidemark.compute_take_v1(gen_random_uuid())").await.unwrap();
    nothing_comes_of_it(&pipeline, user, &zombie, &old).await;
    // The zombie also knows the new row and attempt, but not the token.
    let new = pipeline.last_run(user).await;
    let guess = Run { token: old.token, ..new.clone() };
    nothing_comes_of_it(&pipeline, user, &zombie, &guess).await;
    assert_eq!(phase(&zombie, &guess).await, "lost");

    // The new holder is not disturbed.
    assert_eq!(fail(&holder, &new).await, "retry");
    pipeline.end_backoff(user).await;
    pipeline.refresh().await;
    nothing_comes_of_it(&pipeline, user, &zombie, &old).await;
    nothing_comes_of_it(&pipeline, user, &holder, &new).await;
    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!(applied, requested);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_publisher_whose_lease_expired_on_the_way_changes_nothing() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.compute().await;
    let zombie = pipeline.database.worker().await;
    zombie.batch_execute("SELECT tidemark.publish_take_v1(gen_random_uuid())").await.unwrap();
    let old = pipeline.last_run(user).await;
    pipeline.expire(user).await;
    pipeline.refresh().await;
    nothing_comes_of_it(&pipeline, user, &zombie, &old).await;
    let runs = pipeline.runs(user).await;
    let phases: Vec<&str> = runs.iter().map(|run| run.phase.as_str()).collect();
    assert_eq!(phases, ["failed", "published"]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_late_failure_does_not_reopen_a_finished_job() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.refresh().await;
    let done = pipeline.last_run(user).await;
    let worker = pipeline.database.worker().await;
    nothing_comes_of_it(&pipeline, user, &worker, &done).await;
    assert_eq!(pipeline.jobs(user).await[0].status, "done");
    pipeline.check_invariants().await;
}
