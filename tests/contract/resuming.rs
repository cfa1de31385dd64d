//! Manual resume: two plain updates, in any order, and the next claim takes it.

use tidemark_tests::Pipeline;
use uuid::Uuid;

use crate::{EVENING, saved_user};

// Exactly what operators have in their scripts.
const JOB: &str = "update public.user_exercise_stats_refresh_jobs
    set status='pending', attempts=0, error_message='', updated_at=now()
    where user_id=$1 and status='failed' and absorbed_into_job_id is null";
const RUN: &str =
    "update public.user_stats_projection_runs set retry_not_before = null where user_id=$1 and phase='failed'";

/// A user whose job has used up its attempts.
async fn exhausted_user(pipeline: &mut Pipeline) -> Uuid {
    let user = saved_user(pipeline).await;
    for _ in 0..3 {
        pipeline.claim().await;
        pipeline.fail(user, "made_up").await;
        pipeline.end_backoff(user).await;
    }
    assert_eq!(pipeline.jobs(user).await[0].status, "failed");
    assert_eq!(pipeline.claim().await.succeeded, 0);
    user
}

#[tokio::test]
async fn the_two_updates_in_either_order_let_the_next_claim_take_the_job() {
    for statements in [[JOB, RUN], [RUN, JOB]] {
        let mut pipeline = Pipeline::new().await;
        let user = exhausted_user(&mut pipeline).await;
        for statement in statements {
            assert!(pipeline.run(statement, &[&user]).await > 0);
        }
        assert_eq!(pipeline.claim().await.succeeded, 1);
        let run = pipeline.last_run(user).await;
        assert_eq!((run.phase.as_str(), run.attempt), ("claimed", 1));
        pipeline.refresh().await;
        let (requested, applied) = pipeline.generations(user).await;
        assert_eq!(requested, applied);
        assert!(pipeline.dirty(user).await.is_empty());
        assert!(!pipeline.is_alerted(user).await);
        pipeline.check_invariants().await;
    }
}

#[tokio::test]
async fn clearing_the_backoff_of_a_waiting_user_lets_the_next_claim_take_it() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.fail(user, "made_up").await;
    assert_eq!(pipeline.claim().await.succeeded, 0);
    assert_eq!(pipeline.run(JOB, &[&user]).await, 0);
    assert_eq!(pipeline.run(RUN, &[&user]).await, 1);
    assert_eq!(pipeline.claim().await.succeeded, 1);
    assert_eq!(pipeline.last_run(user).await.attempt, 2);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn resuming_a_user_whose_run_is_live_does_no_harm() {
    let mut pipeline = Pipeline::new().await;
    let user = exhausted_user(&mut pipeline).await;
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    pipeline.claim().await;
    pipeline.compute().await;
    let live = pipeline.last_run(user).await;
    pipeline.run(JOB, &[&user]).await;
    pipeline.run(RUN, &[&user]).await;
    assert_eq!(pipeline.last_run(user).await, live);
    assert_eq!(pipeline.claim().await.succeeded, 0, "one live run at a time");
    assert_eq!(pipeline.publish().await.succeeded, 1);

    // What was resumed is older than what has been published; it needs no run.
    pipeline.refresh().await;
    pipeline.claim().await;
    let statuses: Vec<String> = pipeline.jobs(user).await.into_iter().map(|job| job.status).collect();
    assert_eq!(statuses, ["absorbed", "done"]);
    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!(requested, applied);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_resumed_job_is_absorbed_by_a_newer_save_of_its_user() {
    let mut pipeline = Pipeline::new().await;
    let user = exhausted_user(&mut pipeline).await;
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    pipeline.run(JOB, &[&user]).await;
    pipeline.run(RUN, &[&user]).await;
    pipeline.claim().await;
    let jobs = pipeline.jobs(user).await;
    assert_eq!((jobs[0].status.as_str(), jobs[0].absorbed_into), ("absorbed", Some(jobs[1].id)));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_resume_touches_no_other_user_and_no_source_row() {
    let mut pipeline = Pipeline::new().await;
    let (user, other) = (exhausted_user(&mut pipeline).await, exhausted_user(&mut pipeline).await);
    let places = "SELECT array_agg(ctid::text || xmin ORDER BY ctid) FROM public.workout_sets";
    let before: Vec<String> = pipeline.one(places, &[]).await.get(0);
    pipeline.run(JOB, &[&user]).await;
    pipeline.run(RUN, &[&user]).await;
    assert_eq!(pipeline.claim().await.succeeded, 1);
    assert_eq!(pipeline.jobs(other).await[0].status, "failed");
    assert_eq!(pipeline.one(places, &[]).await.get::<_, Vec<String>>(0), before);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_job_put_back_without_resetting_its_attempts_fails_again_instead_of_running() {
    let mut pipeline = Pipeline::new().await;
    let user = exhausted_user(&mut pipeline).await;
    let runs = pipeline.runs(user).await.len();
    let half = "UPDATE public.user_exercise_stats_refresh_jobs SET status = 'pending' WHERE user_id = $1";
    pipeline.run(half, &[&user]).await;
    assert_eq!(pipeline.claim().await.succeeded, 0);
    assert_eq!(pipeline.jobs(user).await[0].status, "failed");
    assert_eq!(pipeline.runs(user).await.len(), runs);
    pipeline.check_invariants().await;
}
