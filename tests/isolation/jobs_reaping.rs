//! Reaping and ending beside renewals, ends, requeues and each other.

use tidemark_queue::jobs::{self, ClaimRequest, Ended, Ending, Outcome, Renewal, Requeued, Status};
use tidemark_tests::jobs::{Queue, plain};
use uuid::Uuid;

use crate::inside;

#[tokio::test]
async fn b31_a_reaper_leaves_a_lease_whose_renewal_has_not_committed_yet() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain()).await;
    let fence = queue.claim_one().await.fence;
    // Under the reaper's snapshot the lease is over; the renewal has begun in time.
    let renewing = queue.pipeline.database.admin().await;
    renewing.batch_execute("BEGIN").await.unwrap();
    let renew = "SELECT FROM tidemark.jobs_renew_v1($1, ARRAY[$2::bigint], ARRAY[$3::uuid], ARRAY[$4::integer])";
    renewing.query(renew, &[&fence.worker_id, &fence.lease_id, &job_id, &fence.attempt]).await.unwrap();
    let expired = inside_committed_expiry(&queue, &renewing).await;
    assert_eq!(expired, 0, "nothing was reaped");
    assert_eq!(queue.status(job_id).await, Status::Running);
    assert_eq!(jobs::complete(&queue.worker, &fence, None).await.unwrap(), Ended::Done);
    queue.check_invariants().await;
}

/// Reaps while the renewal is uncommitted and again once it has committed; returns how many jobs came back.
async fn inside_committed_expiry(queue: &Queue, renewing: &tokio_postgres::Client) -> usize {
    let before = jobs::reap(&queue.worker, 10).await.unwrap().len();
    renewing.batch_execute("COMMIT").await.unwrap();
    before + jobs::reap(&queue.worker, 10).await.unwrap().len()
}

#[tokio::test]
async fn b31_a_renewal_that_meets_a_reaper_is_lost() {
    let queue = Queue::new().await;
    queue.enqueue(plain()).await;
    let fence = queue.claim_one().await.fence;
    queue.expire_leases().await;
    let reaping = inside(&queue.pipeline, "SELECT FROM tidemark.jobs_reap_v1()").await;
    let fences = [fence];
    let (renewed, ()) = tokio::join!(jobs::renew_lease(&queue.worker, fence.worker_id, &fences, None), async {
        queue.pipeline.until_blocked("jobs_renew_v1", 1).await;
        reaping.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(renewed.unwrap(), [Renewal::Lost]);
    queue.check_invariants().await;
}

#[tokio::test]
async fn an_end_that_meets_a_reaper_is_lost_and_a_reaper_passes_an_end() {
    let queue = Queue::new().await;
    queue.enqueue(plain()).await;
    let fence = queue.claim_one().await.fence;
    queue.expire_leases().await;
    let reaping = inside(&queue.pipeline, "SELECT FROM tidemark.jobs_reap_v1()").await;
    let (ended, ()) = tokio::join!(jobs::complete(&queue.worker, &fence, None), async {
        queue.pipeline.until_blocked("jobs_end_v1", 1).await;
        reaping.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(ended.unwrap(), Ended::Lost);

    let fence = queue.claim_one().await.fence;
    queue.expire_leases().await;
    let end = format!(
        "SELECT FROM tidemark.jobs_end_v1('{}', ARRAY[{}], ARRAY['{}'::uuid], ARRAY[{}], ARRAY['done'])",
        fence.worker_id, fence.lease_id, fence.job_id, fence.attempt
    );
    let ending = inside(&queue.pipeline, &end).await;
    assert!(jobs::reap(&queue.worker, 10).await.unwrap().is_empty(), "without waiting");
    ending.batch_execute("COMMIT").await.unwrap();
    assert!(jobs::reap(&queue.worker, 10).await.unwrap().is_empty());
    assert_eq!(queue.status(fence.job_id).await, Status::Done);
    queue.check_invariants().await;
}

#[tokio::test]
async fn two_reapers_take_each_lease_back_once() {
    let queue = Queue::new().await;
    for _ in 0..4 {
        queue.enqueue(plain()).await;
        queue.claim(1).await;
    }
    queue.expire_leases().await;
    let other = inside(&queue.pipeline, "SELECT FROM tidemark.jobs_reap_v1(2)").await;
    assert_eq!(jobs::reap(&queue.worker, 10).await.unwrap().len(), 2);
    other.batch_execute("COMMIT").await.unwrap();
    assert!(jobs::reap(&queue.worker, 10).await.unwrap().is_empty());
    queue.check_invariants().await;
}

#[tokio::test]
async fn of_two_requeues_of_one_job_the_second_finds_it_not_dead() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain().dedupe_key("k")).await;
    let fence = queue.claim_one().await.fence;
    jobs::fail_permanent(&queue.worker, &fence, "x", "x").await.unwrap();
    let other =
        inside(&queue.pipeline, &format!("SELECT FROM tidemark.jobs_requeue_v1(ARRAY['{job_id}'::uuid])")).await;
    let ids = [job_id];
    let (requeued, ()) = tokio::join!(jobs::requeue(&queue.worker, &ids), async {
        queue.pipeline.until_blocked("jobs_requeue_v1", 1).await;
        other.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(requeued.unwrap(), [Requeued::NotDead]);
    assert_eq!(queue.claim(10).await.len(), 1, "it is there once");
    queue.check_invariants().await;
}

#[tokio::test]
async fn b44_ends_reapers_and_requeues_of_the_same_jobs_in_opposite_order_all_come_through() {
    let queue = Queue::new().await;
    let keyed: Vec<_> =
        (0..60).map(|number| plain().dedupe_key(format!("k{number}")).group_key(format!("g{}", number % 7))).collect();
    jobs::enqueue_many(&queue.worker, &keyed).await.unwrap();
    let (reaper, requeuer) = (queue.pipeline.database.worker().await, queue.pipeline.database.worker().await);
    for _ in 0..10 {
        let worker_id = Uuid::new_v4();
        let mut claimed = Vec::new();
        loop {
            let batch = queue.claim_with(ClaimRequest::new(worker_id, 7)).await;
            if batch.is_empty() {
                break;
            }
            claimed.extend(batch);
        }
        queue.expire_leases().await;
        let endings: Vec<Ending> = claimed
            .iter()
            .rev()
            .map(|job| Ending {
                fence: job.fence,
                outcome: Outcome::FailedPermanently { code: "x".to_owned(), message: "x".to_owned() },
            })
            .collect();
        let ids: Vec<Uuid> = endings.iter().map(|ending| ending.fence.job_id).collect();
        let (ended, reaped, requeued) = tokio::join!(
            jobs::end(&queue.worker, worker_id, &endings, &[]),
            jobs::reap(&reaper, 100),
            jobs::requeue(&requeuer, &ids),
        );
        let ended = ended.unwrap();
        let lost = ended.iter().filter(|ended| **ended == Ended::Lost).count();
        assert_eq!(lost, reaped.unwrap().len(), "each job was ended or taken back");
        requeued.unwrap();
        queue.check_invariants().await;
        jobs::requeue(&queue.worker, &ids).await.unwrap();
    }
}
