//! Publish beside a save of the same user: each waits for the other's short statement at most, and a save never fails.

use tidemark_tests::{Pipeline, Run};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::{computing, inside, publish, save, saved_user};

/// A user's run taken for publishing, with the worker that took it.
async fn publishing(pipeline: &mut Pipeline) -> (Uuid, Run, Client) {
    let user = saved_user(pipeline).await;
    pipeline.claim().await;
    pipeline.compute().await;
    let worker = pipeline.database.worker().await;
    worker.batch_execute("SELECT tidemark.publish_take_v1(gen_random_uuid())").await.unwrap();
    (user, pipeline.last_run(user).await, worker)
}

#[tokio::test]
async fn a_save_waits_for_the_commit_of_a_publish_and_succeeds() {
    let mut pipeline = Pipeline::new().await;
    let (user, run, worker) = publishing(&mut pipeline).await;
    worker.batch_execute("BEGIN").await.unwrap();
    assert_eq!(publish(&worker, &run).await.as_deref(), Ok("published"));
    let saving = pipeline.database.admin().await;
    let (generation, ()) = tokio::join!(save(&saving, user, "Squat"), async {
        pipeline.until_blocked("save_workout_v1", 1).await;
        worker.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(pipeline.generations(user).await, (generation, run.generation));
    assert_eq!(pipeline.dirty_names(user).await, ["Squat"]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_publish_waits_for_the_commit_of_a_save_and_leaves_its_marks() {
    let mut pipeline = Pipeline::new().await;
    let (user, run, worker) = publishing(&mut pipeline).await;
    let saving = inside(&pipeline, "").await;
    let generation = save(&saving, user, "Bench Press").await;
    let (outcome, ()) = tokio::join!(publish(&worker, &run), async {
        pipeline.until_blocked("publish_v1", 1).await;
        saving.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(outcome.as_deref(), Ok("published"));
    assert_eq!(pipeline.generations(user).await, (generation, run.generation));
    assert_eq!(pipeline.dirty(user).await, [("Bench Press".to_owned(), generation)]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_does_not_wait_for_a_publish_that_is_still_writing_rep_maxes() {
    let mut pipeline = Pipeline::new().await;
    let (user, run, worker) = publishing(&mut pipeline).await;
    let gate = inside(&pipeline, "LOCK TABLE public.user_exercise_rep_maxes IN ACCESS EXCLUSIVE MODE").await;
    let saving = pipeline.database.admin().await;
    saving.batch_execute("SET lock_timeout = '1s'").await.unwrap();
    let (outcome, ()) = tokio::join!(publish(&worker, &run), async {
        pipeline.until_blocked("publish_v1", 1).await;
        save(&saving, user, "Squat").await;
        gate.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(outcome.as_deref(), Ok("published"));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_does_not_wait_for_a_compute_of_its_user() {
    let (pipeline, user, worker, run) = computing().await;
    worker.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    let hold = "SELECT tidemark.compute_hold_v1($1, $2, $3)";
    assert!(worker.query_one(hold, &[&run.id, &run.attempt, &run.token]).await.unwrap().get::<_, bool>(0));
    worker.batch_execute("SELECT tidemark.source_sets_v1(gen_random_uuid())").await.unwrap();
    let saving = pipeline.database.admin().await;
    saving.batch_execute("SET lock_timeout = '100ms'").await.unwrap();
    save(&saving, user, "Squat").await;
    // And the compute can stage although the user's row has changed since its snapshot.
    let stage = "SELECT tidemark.compute_stage_v1($1, $2, $3, 1, 1, '{}')";
    assert!(worker.query_one(stage, &[&run.id, &run.attempt, &run.token]).await.unwrap().get::<_, bool>(0));
    worker.batch_execute("COMMIT").await.unwrap();
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_reader_sees_a_publish_as_a_whole_or_not_at_all() {
    let mut pipeline = Pipeline::new().await;
    let (user, run, worker) = publishing(&mut pipeline).await;
    let published = "SELECT (SELECT count(*) FROM public.user_exercise_stats WHERE user_id = $1)
        + (SELECT count(*) FROM public.user_exercise_rep_maxes WHERE user_id = $1)
        + (SELECT count(*) FROM public.user_exercise_stats_weekly WHERE user_id = $1)
        + (SELECT count(*) FROM public.user_stats_summary WHERE user_id = $1)";
    worker.batch_execute("BEGIN").await.unwrap();
    assert_eq!(publish(&worker, &run).await.as_deref(), Ok("published"));
    assert_eq!(pipeline.one(published, &[&user]).await.get::<_, i64>(0), 0);
    worker.batch_execute("COMMIT").await.unwrap();
    assert_eq!(pipeline.one(published, &[&user]).await.get::<_, i64>(0), 8);
    pipeline.check_invariants().await;
}
