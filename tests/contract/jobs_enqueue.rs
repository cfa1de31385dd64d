//! Enqueueing: what is accepted, what is refused before anything is sent, and what a key answers.

use serde_json::json;
use tidemark_queue::jobs::{self, ClaimRequest, NewJob, Status};
use tidemark_tests::Pipeline;
use uuid::Uuid;

#[tokio::test]
async fn a_job_is_claimed_with_what_was_enqueued() {
    let pipeline = Pipeline::new().await;
    let worker = pipeline.database.worker().await;
    let job = NewJob::new(7, json!({"who": "me"})).dedupe_key("k").priority(3).max_attempts(5);
    let enqueued = jobs::enqueue(&worker, &job).await.unwrap();
    assert!(enqueued.inserted);

    let claimed = jobs::claim(&worker, &ClaimRequest::new(Uuid::new_v4(), 10)).await.unwrap();
    let [claimed] = claimed.as_slice() else { panic!("one job: {claimed:?}") };
    assert_eq!(claimed.fence.job_id, enqueued.job_id);
    assert_eq!((claimed.job_type, claimed.priority, claimed.fence.attempt, claimed.max_attempts), (7, 3, 1, 5));
    assert_eq!(claimed.payload.value().unwrap(), json!({"who": "me"}));
    assert_eq!(claimed.dedupe_key.as_deref(), Some("k"));

    assert_eq!(jobs::complete(&worker, &claimed.fence, Some(json!(42))).await.unwrap(), jobs::Ended::Done);
    let done = jobs::get(&worker, enqueued.job_id).await.unwrap().unwrap();
    assert_eq!(done.status, Status::Done);
    assert_eq!(done.result.unwrap().text(), "42");
    pipeline.check_invariants().await;
}
