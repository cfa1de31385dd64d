//! An operator's resume beside a claim and beside a publish of the same user.

use tidemark_tests::Pipeline;
use uuid::Uuid;

use crate::{EVENING, inside, publish, saved_user, statuses};

const JOB: &str = "update public.user_exercise_stats_refresh_jobs
    set status='pending', attempts=0, error_message='', updated_at=now()
    where user_id=$1 and status='failed' and absorbed_into_job_id is null";
const RUN: &str =
    "update public.user_stats_projection_runs set retry_not_before = null where user_id=$1 and phase='failed'";

/// A user whose job has used up its attempts.
async fn exhausted_user(pipeline: &mut Pipeline) -> Uuid {
    pipeline.set("max_attempts", "1").await;
    let user = saved_user(pipeline).await;
    pipeline.claim().await;
    assert_eq!(pipeline.fail(user, "made_up").await, "exhausted");
    pipeline.set("max_attempts", "3").await;
    user
}

#[tokio::test]
async fn a_claim_beside_a_resume_waits_for_nobody_and_takes_the_job_afterwards() {
    let mut pipeline = Pipeline::new().await;
    let user = exhausted_user(&mut pipeline).await;
    let operator = inside(&pipeline, "").await;
    assert_eq!(operator.execute(JOB, &[&user]).await.unwrap(), 1);
    assert_eq!(pipeline.claim().await.succeeded, 0);
    operator.execute(RUN, &[&user]).await.unwrap();
    operator.batch_execute("COMMIT").await.unwrap();
    assert_eq!(pipeline.claim().await.succeeded, 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_resume_beside_a_claim_of_the_users_newer_save_waits_for_it_and_does_no_harm() {
    let mut pipeline = Pipeline::new().await;
    let user = exhausted_user(&mut pipeline).await;
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    let claiming = inside(&pipeline, "SELECT tidemark.claim_v1(gen_random_uuid())").await;
    let operator = pipeline.database.admin().await;
    let (resumed, ()) = tokio::join!(async { operator.execute(JOB, &[&user]).await.unwrap() }, async {
        pipeline.until_blocked("update public.user_exercise_stats_refresh_jobs", 1).await;
        claiming.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(resumed, 1);
    operator.execute(RUN, &[&user]).await.unwrap();
    assert_eq!(statuses(&pipeline.jobs(user).await), ["pending", "running"]);
    pipeline.compute().await;
    pipeline.publish().await;
    pipeline.refresh().await;
    pipeline.claim().await;
    assert_eq!(statuses(&pipeline.jobs(user).await), ["absorbed", "done"]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_resume_beside_a_publish_of_the_same_user_does_not_deadlock() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.refresh().await;
    pipeline.set("max_attempts", "1").await;
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    pipeline.claim().await;
    assert_eq!(pipeline.fail(user, "made_up").await, "exhausted");
    pipeline.save(user, EVENING, "Bench Press", &[(120.0, 5)]).await;
    pipeline.claim().await;
    pipeline.compute().await;
    let worker = pipeline.database.worker().await;
    worker.batch_execute("SELECT tidemark.publish_take_v1(gen_random_uuid())").await.unwrap();
    let run = pipeline.last_run(user).await;

    // The publish has the user's state row already when the operator's job row is locked.
    let gate = inside(&pipeline, "SELECT FROM public.user_exercise_stats FOR UPDATE").await;
    let operator = pipeline.database.admin().await;
    let (outcome, resumed, ()) = tokio::join!(
        publish(&worker, &run),
        async {
            pipeline.until_blocked("publish_v1", 1).await;
            operator.execute(JOB, &[&user]).await
        },
        async {
            pipeline.until_blocked("update public.user_exercise_stats_refresh_jobs", 1).await;
            gate.batch_execute("COMMIT").await.unwrap();
        }
    );
    assert_eq!(outcome.as_deref(), Ok("published"));
    assert_eq!(resumed.unwrap(), 1);
    // The resumed job is covered by what has been published.
    pipeline.refresh().await;
    pipeline.claim().await;
    assert_eq!(statuses(&pipeline.jobs(user).await), ["done", "absorbed", "done"]);
    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!(applied, requested);
    pipeline.check_invariants().await;
}
