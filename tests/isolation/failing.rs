//! A failure reported beside a recovery of the same run: exactly one of them ends it.

use tidemark_tests::Pipeline;

use crate::{inside, saved_user, statuses};

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
