//! Groups take turns, limits by group and quotas hold.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tidemark_queue::jobs::{self, ClaimRequest, ClaimedJob, Ended, NewJob};
use tidemark_tests::jobs::{JOB_TYPE, Queue, plain};
use uuid::Uuid;

fn groups(claimed: &[ClaimedJob]) -> BTreeSet<&str> {
    claimed.iter().filter_map(|job| job.group_key.as_deref()).collect()
}

async fn limit_groups(queue: &Queue, concurrency: i32) {
    let statement = "INSERT INTO public.job_limits (job_type, group_concurrency) VALUES ($1, $2)
        ON CONFLICT (job_type) DO UPDATE SET group_concurrency = excluded.group_concurrency";
    queue.pipeline.run(statement, &[&JOB_TYPE, &concurrency]).await;
}

#[tokio::test]
async fn b22_a_group_with_a_long_backlog_does_not_hold_up_one_with_a_single_job() {
    let queue = Queue::new().await;
    jobs::enqueue_many(&queue.worker, &vec![plain().group_key("long"); 5_000]).await.unwrap();
    queue.enqueue(plain().group_key("short")).await;
    // One claim sorts so many that are due; the next goes on.
    let (first, second) = (queue.claim(4).await, queue.claim(4).await);
    let served: BTreeSet<&str> = groups(&first).union(&groups(&second)).copied().collect();
    assert_eq!(served, BTreeSet::from(["long", "short"]));
    queue.check_invariants().await;
}

#[tokio::test]
async fn b22_a_group_at_its_limit_does_not_hold_up_others() {
    let queue = Queue::new().await;
    limit_groups(&queue, 2).await;
    jobs::enqueue_many(&queue.worker, &vec![plain().group_key("full"); 500]).await.unwrap();
    let full = queue.claim(100).await;
    assert_eq!(full.len(), 2);
    let other = queue.enqueue(plain().group_key("other")).await;
    let claimed = queue.claim(100).await;
    assert_eq!(claimed.iter().map(|job| job.fence.job_id).collect::<Vec<_>>(), [other]);
    assert_eq!(jobs::complete(&queue.worker, &full[0].fence, None).await.unwrap(), Ended::Done);
    assert_eq!(queue.claim(100).await.len(), 1, "one place is free again");
    limit_groups(&queue, 5).await;
    assert_eq!(queue.claim(100).await.len(), 3, "a wider limit is seen at once");
    limit_groups(&queue, 1).await;
    assert!(queue.claim(100).await.is_empty());
    queue.pipeline.run("DELETE FROM public.job_limits", &[]).await;
    assert_eq!(queue.claim(500).await.len(), 494);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b21_overlapping_claims_never_exceed_the_limit_of_a_group() {
    let queue = Queue::new().await;
    limit_groups(&queue, 3).await;
    jobs::enqueue_many(&queue.worker, &vec![plain().group_key("g"); 200]).await.unwrap();
    let mut workers = Vec::new();
    for _ in 0..8 {
        workers.push(queue.pipeline.database.worker().await);
    }
    let mut finished = 0;
    while finished < 60 {
        let claims = workers
            .iter()
            .map(|worker| async move { jobs::claim(worker, &ClaimRequest::new(Uuid::new_v4(), 10)).await.unwrap() });
        let claimed: Vec<ClaimedJob> = futures_util::future::join_all(claims).await.into_iter().flatten().collect();
        let running =
            queue.count("SELECT coalesce(sum(cardinality(job_ids)), 0)::bigint FROM tidemark.job_lease").await;
        assert!(running <= 3, "{running} run at once");
        let ends =
            claimed.iter().zip(workers.iter().cycle()).map(|(job, worker)| jobs::complete(worker, &job.fence, None));
        for ended in futures_util::future::join_all(ends).await {
            assert_eq!(ended.unwrap(), Ended::Done);
            finished += 1;
        }
    }
    queue.check_invariants().await;
}

#[tokio::test]
async fn b25_a_future_job_does_not_hold_up_a_ready_one_of_its_group() {
    let queue = Queue::new().await;
    queue.enqueue(plain().group_key("g").delay(Duration::from_secs(3_600))).await;
    let ready = queue.enqueue(plain().group_key("g")).await;
    assert_eq!(queue.claim_one().await.fence.job_id, ready);
    queue.check_invariants().await;
}

#[tokio::test]
async fn jobs_of_a_group_come_by_priority_and_then_by_age() {
    let queue = Queue::new().await;
    let mut ids = Vec::new();
    for priority in [100, 5, 100, 5] {
        ids.push(queue.enqueue(plain().priority(priority).group_key("g")).await);
    }
    assert_eq!(queue.drained(4).await, [ids[1], ids[3], ids[0], ids[2]]);
}

#[tokio::test]
async fn groups_and_jobs_without_a_group_share_a_claim() {
    let queue = Queue::new().await;
    jobs::enqueue_many(&queue.worker, &vec![plain(); 100]).await.unwrap();
    jobs::enqueue_many(&queue.worker, &vec![plain().group_key("g"); 100]).await.unwrap();
    let claimed = queue.claim(20).await;
    let grouped = claimed.iter().filter(|job| job.group_key.is_some()).count();
    assert_eq!((claimed.len(), grouped), (20, 10));
    queue.check_invariants().await;
}

#[tokio::test]
async fn b63_a_job_that_arrives_while_its_groups_last_one_ends_is_claimed_by_the_next_claim() {
    let queue = Queue::new().await;
    limit_groups(&queue, 1).await;
    let producer = queue.pipeline.database.worker().await;
    queue.enqueue(plain().group_key("g")).await;
    for _ in 0..300 {
        let running = queue.claim_one().await;
        let (ended, enqueued) = tokio::join!(jobs::complete(&queue.worker, &running.fence, None), async {
            jobs::enqueue(&producer, &plain().group_key("g")).await
        });
        assert_eq!(ended.unwrap(), Ended::Done);
        enqueued.unwrap();
    }
    queue.check_invariants().await;
}

async fn quota(queue: &Queue, jobs: i32, per_seconds: i32, job_types: &[i32]) {
    queue
        .pipeline
        .run("INSERT INTO public.job_quotas (quota, jobs, per_seconds) VALUES ('q', $1, $2)", &[&jobs, &per_seconds])
        .await;
    for job_type in job_types {
        queue.pipeline.run("INSERT INTO public.job_limits (job_type, quota) VALUES ($1, 'q')", &[job_type]).await;
    }
}

#[tokio::test]
async fn a_quota_holds_within_one_claim_whether_its_jobs_are_grouped_or_not() {
    let queue = Queue::new().await;
    quota(&queue, 3, 3_600, &[JOB_TYPE]).await;
    jobs::enqueue_many(&queue.worker, &vec![plain(); 20]).await.unwrap();
    jobs::enqueue_many(&queue.worker, &vec![plain().group_key("g"); 20]).await.unwrap();
    let free = queue.enqueue(NewJob::new(2_000, json!({})).priority(500)).await;
    let claimed = queue.claim(10).await;
    assert_eq!(claimed.iter().filter(|job| job.job_type == JOB_TYPE).count(), 3);
    assert!(claimed.iter().any(|job| job.fence.job_id == free), "a type without a quota goes past");
    assert!(queue.claim(10).await.is_empty(), "used up");
    queue.check_invariants().await;
}

#[tokio::test]
async fn types_that_share_a_quota_share_it_and_none_starves() {
    let queue = Queue::new().await;
    quota(&queue, 4, 3_600, &[11, 12]).await;
    jobs::enqueue_many(&queue.worker, &vec![NewJob::new(11, json!({})).priority(1); 50]).await.unwrap();
    jobs::enqueue_many(&queue.worker, &vec![NewJob::new(12, json!({})).priority(900); 50]).await.unwrap();
    let claimed = queue.claim(50).await;
    let number = |job_type| claimed.iter().filter(|job| job.job_type == job_type).count();
    assert_eq!((number(11), number(12)), (2, 2));
    queue.check_invariants().await;
}

#[tokio::test]
async fn overlapping_claims_never_exceed_a_quota() {
    let queue = Queue::new().await;
    quota(&queue, 25, 3_600, &[JOB_TYPE]).await;
    jobs::enqueue_many(&queue.worker, &vec![plain(); 300]).await.unwrap();
    let mut workers = Vec::new();
    for _ in 0..8 {
        workers.push(queue.pipeline.database.worker().await);
    }
    let mut claimed = 0;
    for _ in 0..10 {
        let claims = workers.iter().map(|worker| async move {
            jobs::claim(worker, &ClaimRequest::new(Uuid::new_v4(), 4)).await.unwrap().len()
        });
        claimed += futures_util::future::join_all(claims).await.into_iter().sum::<usize>();
    }
    assert_eq!(claimed, 25);
    queue.check_invariants().await;
}
