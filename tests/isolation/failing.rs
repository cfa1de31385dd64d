//! A failure reported beside a recovery of the same run: exactly one of them ends it.

use tidemark_tests::Pipeline;

use crate::{inside, publish, save, saved_user, statuses};

const FAIL: &str = "SELECT tidemark.run_fail_v1($1, $2, $3, 'XX000', '')";

#[tokio::test]
async fn a_failure_that_waits_for_the_recovery_of_its_run_says_lost_and_charges_no_attempt() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let run = pipeline.last_run(user).await;
    pipeline.expire(user).await;
    let recovering = inside(&pipeline, "SELECT tidemark.claim_v1(gen_random_uuid())").await;
    let worker = pipeline.database.worker().await;
    let (answer, ()) = tokio::join!(
        async { worker.query_one(FAIL, &[&run.id, &run.attempt, &run.token]).await.unwrap().get::<_, String>(0) },
        async {
            pipeline.until_blocked("run_fail_v1", 1).await;
            recovering.batch_execute("COMMIT").await.unwrap();
        }
    );
    assert_eq!(answer, "lost");
    let runs = pipeline.runs(user).await;
    assert_eq!((runs[0].error_code.as_str(), runs[1].phase.as_str()), ("lease_expired", "claimed"));
    assert_eq!(pipeline.jobs(user).await[0].attempts, 2);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_recovery_passes_over_a_run_whose_failure_is_being_recorded() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let run = pipeline.last_run(user).await;
    pipeline.expire(user).await;
    let failing = inside(&pipeline, "").await;
    assert_eq!(failing.query_one(FAIL, &[&run.id, &run.attempt, &run.token]).await.unwrap().get::<_, &str>(0), "retry");
    assert_eq!(pipeline.claim().await.recovered, 0);
    failing.batch_execute("COMMIT").await.unwrap();
    assert_eq!(pipeline.claim().await.recovered, 0);
    let run = pipeline.last_run(user).await;
    assert_eq!((run.error_code.as_str(), run.backoff_seconds.is_some()), ("XX000", true));
    assert_eq!(statuses(&pipeline.jobs(user).await), ["pending"]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_failure_beside_a_save_of_its_user_waits_for_nobody_and_keeps_its_backoff() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let run = pipeline.last_run(user).await;
    let saving = inside(&pipeline, "").await;
    save(&saving, user, "Squat").await;
    let worker = pipeline.database.worker().await;
    worker.batch_execute("SET lock_timeout = '100ms'").await.unwrap();
    let answer = worker.query_one(FAIL, &[&run.id, &run.attempt, &run.token]).await.unwrap();
    assert_eq!(answer.get::<_, &str>(0), "retry");
    assert_eq!(pipeline.last_run(user).await.error_code, "XX000");
    // What the worker hands back it no longer has.
    assert_eq!(publish(&worker, &run).await.as_deref(), Ok("lost"));
    assert_eq!(pipeline.compute().await.succeeded, 0);
    assert_eq!(pipeline.claim().await.recovered, 0, "the row is still held");

    saving.batch_execute("COMMIT").await.unwrap();
    let summary = pipeline.claim().await;
    assert_eq!((summary.recovered, summary.succeeded), (1, 0));
    let run = pipeline.last_run(user).await;
    assert_eq!((run.phase.as_str(), run.error_code.as_str(), run.attempt), ("failed", "XX000", 1));
    assert!(run.backoff_seconds.is_some());
    assert_eq!(statuses(&pipeline.jobs(user).await), ["pending", "pending"]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_last_failure_beside_a_save_of_its_user_ends_the_job_with_its_alert() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_attempts", "1").await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let run = pipeline.last_run(user).await;
    let saving = inside(&pipeline, "SELECT FROM public.user_stats_projection_state FOR UPDATE").await;
    let answer = pipeline.one(FAIL, &[&run.id, &run.attempt, &run.token]).await;
    assert_eq!(answer.get::<_, &str>(0), "exhausted");
    saving.batch_execute("COMMIT").await.unwrap();
    assert_eq!(pipeline.claim().await.recovered, 1);
    let job = pipeline.jobs(user).await.pop().unwrap();
    assert_eq!((job.status.as_str(), job.error_code.as_str()), ("failed", "XX000"));
    assert!(pipeline.is_alerted(user).await);
    assert_eq!(pipeline.dirty_names(user).await, ["Bench Press"]);
    pipeline.check_invariants().await;
}
