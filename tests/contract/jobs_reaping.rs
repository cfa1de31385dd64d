//! Taking jobs back from workers that are gone, and whom to blame.

use serde_json::json;
use tidemark_queue::jobs::{self, ClaimRequest, Ended, Ending, NewJob, Outcome, Renewal, Status};
use tidemark_tests::jobs::{Queue, plain};
use uuid::Uuid;

/// A claim that tells which handlers it begins: the first `start` at once.
fn telling(limit: u32, start: u32) -> ClaimRequest {
    ClaimRequest { start: Some(start), ..ClaimRequest::new(Uuid::new_v4(), limit) }
}

#[tokio::test]
async fn b34_a_renewed_lease_is_never_reaped_and_one_that_is_not_comes_back_at_once() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain()).await;
    let fence = queue.claim_one().await.fence;
    for _ in 0..3 {
        let renewed = jobs::renew_lease(&queue.worker, fence.worker_id, &[fence], None).await.unwrap();
        assert!(matches!(renewed.as_slice(), [Renewal::Until { .. }]));
        assert!(jobs::reap(&queue.worker, 10).await.unwrap().is_empty());
    }
    queue.expire_leases().await;
    let reaped = jobs::reap(&queue.worker, 10).await.unwrap();
    assert_eq!(reaped.len(), 1);
    assert_eq!((reaped[0].job_id, reaped[0].status), (job_id, Status::Pending));
    assert!(reaped[0].last_error.contains("lease_expired"));
    let again = queue.claim_one().await.fence;
    assert_eq!((again.job_id, again.attempt), (job_id, 2));
    queue.check_invariants().await;
}

#[tokio::test]
async fn b37_a_job_that_kills_its_worker_is_dead_after_its_attempts_with_an_alert() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain().max_attempts(3)).await;
    for attempt in 1..=3 {
        let claimed = queue.claim_with(telling(10, 4)).await;
        assert_eq!((claimed.len(), claimed[0].fence.attempt), (1, attempt));
        queue.expire_leases().await;
        let reaped = jobs::reap(&queue.worker, 10).await.unwrap();
        assert_eq!(reaped[0].status, if attempt == 3 { Status::Dead } else { Status::Pending });
    }
    let job = queue.job(job_id).await;
    assert_eq!((job.status, job.error_code.as_deref()), (Status::Dead, Some("lease_expired")));
    assert_eq!(queue.count("SELECT count(*) FROM public.alert_outbox WHERE kind = 'job_dead'").await, 1);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b37_what_had_not_begun_is_not_charged_for_the_death_of_its_worker() {
    let queue = Queue::new().await;
    for _ in 0..3 {
        queue.enqueue(plain()).await;
    }
    let claimed = queue.claim_with(telling(3, 1)).await;
    queue.expire_leases().await;
    let mut reaped = jobs::reap(&queue.worker, 10).await.unwrap();
    reaped.sort_by_key(|job| job.last_error.is_empty());
    assert_eq!(reaped.len(), 3);
    assert_eq!(reaped[0].job_id, claimed[0].fence.job_id);
    let mut attempts = Vec::new();
    for job in &claimed {
        attempts.push(queue.job(job.fence.job_id).await.attempts);
    }
    assert_eq!(attempts, [1, 0, 0]);
    let again = queue.claim(10).await;
    assert_eq!(
        again.iter().map(|job| (job.fence.attempt, job.suspect)).collect::<Vec<_>>(),
        [(2, false), (1, false), (1, false)]
    );
    queue.check_invariants().await;
}

#[tokio::test]
async fn b37_of_several_that_had_begun_none_is_charged_and_each_runs_alone_next() {
    for group in [None, Some("g")] {
        let queue = Queue::new().await;
        let job = || group.map_or_else(plain, |group| plain().group_key(group));
        for _ in 0..3 {
            queue.enqueue(job()).await;
        }
        // Its mate begins later, and one has ended before.
        let claimed = queue.claim_with(telling(3, 1)).await;
        assert_eq!(claimed.len(), 3);
        let worker_id = claimed[0].fence.worker_id;
        let endings = [Ending { fence: claimed[0].fence, outcome: Outcome::Done(None) }];
        let begin = [claimed[1].fence.job_id];
        assert_eq!(jobs::end(&queue.worker, worker_id, &endings, &begin).await.unwrap(), [Ended::Done]);
        jobs::start(&queue.worker, worker_id, &[claimed[2].fence.job_id]).await.unwrap();
        queue.expire_leases().await;
        let reaped = jobs::reap(&queue.worker, 10).await.unwrap();
        assert!(reaped.len() == 2 && reaped.iter().all(|job| job.last_error.is_empty()), "{reaped:?}");

        // Company that is innocent, in a group and outside.
        queue.enqueue(plain().priority(101)).await;
        queue.enqueue(plain().priority(101).group_key("other")).await;
        let mut suspects = 0;
        let mut others = 0;
        loop {
            let batch = queue.claim(10).await;
            if batch.is_empty() {
                break;
            }
            if batch.iter().any(|job| job.suspect) {
                assert_eq!(batch.len(), 1, "a suspect runs alone");
                assert_eq!(batch[0].fence.attempt, 1, "and was not charged");
                suspects += 1;
            } else {
                others += batch.len();
            }
        }
        assert_eq!((suspects, others), (2, 2), "group {group:?}");
        queue.check_invariants().await;
    }
}

#[tokio::test]
async fn b37_a_suspect_that_another_claim_is_taking_is_not_waited_for() {
    let queue = Queue::new().await;
    for _ in 0..4 {
        queue.enqueue(plain()).await;
    }
    queue.pipeline.run("UPDATE tidemark.job_ready SET suspect = true WHERE rank IN (SELECT rank FROM tidemark.job_ready ORDER BY rank LIMIT 2)", &[]).await;
    // Suspects are among those that came back.
    queue.pipeline.run("UPDATE tidemark.job_ready SET rank = rank - 4611686018427387904 WHERE suspect", &[]).await;
    let other = queue.pipeline.database.admin().await;
    other
        .batch_execute("BEGIN; SELECT FROM tidemark.job_ready WHERE suspect ORDER BY rank LIMIT 1 FOR UPDATE")
        .await
        .unwrap();
    for limit in [1, 10] {
        let claimed = queue.claim(limit).await;
        assert!(claimed.len() <= 1 || claimed.iter().all(|job| !job.suspect), "{claimed:?}");
    }
    other.batch_execute("ROLLBACK").await.unwrap();
    let mut all = 0;
    while !queue.claim(10).await.is_empty() {
        all += 1;
    }
    assert!(all >= 1);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b36_the_reaper_knows_no_types_and_no_limits() {
    let queue = Queue::new().await;
    queue.pipeline.run("INSERT INTO public.job_limits (job_type, group_concurrency) VALUES (77, 1)", &[]).await;
    let stuck = queue.enqueue(NewJob::new(77, json!({})).group_key("full")).await;
    queue.enqueue(NewJob::new(77, json!({})).group_key("full")).await;
    queue.enqueue(NewJob::new(i32::MAX, json!({}))).await;
    assert_eq!(queue.claim(10).await.len(), 2);
    queue.expire_leases().await;
    assert_eq!(jobs::reap(&queue.worker, 10).await.unwrap().len(), 2);
    assert_eq!(queue.status(stuck).await, Status::Pending);
    // Suspects of one death, each on its own; the place in the group is free again.
    assert_eq!(queue.drained(2).await.len(), 2);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_reap_takes_no_more_leases_than_asked_for_and_the_next_goes_on() {
    let queue = Queue::new().await;
    for _ in 0..5 {
        queue.enqueue(plain()).await;
        queue.claim(1).await;
    }
    queue.expire_leases().await;
    let mut reaped = Vec::new();
    for _ in 0..3 {
        reaped.push(jobs::reap(&queue.worker, 2).await.unwrap().len());
    }
    assert_eq!(reaped, [2, 2, 1]);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_running_job_that_was_asked_to_stop_is_dead_as_cancelled_once_its_worker_is_gone() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain()).await;
    queue.claim(1).await;
    assert_eq!(jobs::cancel(&queue.worker, job_id).await.unwrap(), jobs::Cancelled::Requested);
    queue.expire_leases().await;
    assert_eq!(jobs::reap(&queue.worker, 10).await.unwrap()[0].status, Status::Dead);
    assert_eq!(queue.job(job_id).await.error_code.as_deref(), Some("cancelled"));
    assert_eq!(queue.count("SELECT count(*) FROM public.alert_outbox").await, 0, "nobody is alarmed");
    queue.check_invariants().await;
}
