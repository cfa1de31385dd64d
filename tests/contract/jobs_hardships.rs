//! What hostile or unlucky use once did to the queue, and must not do again.

use tidemark_queue::jobs::{self, NewJob};
use tidemark_tests::jobs::{JOB_TYPE, Queue, plain};
use uuid::Uuid;

use crate::refusal;

/// Another type, beside [`JOB_TYPE`].
const SISTER_TYPE: i32 = JOB_TYPE + 1;

#[tokio::test]
async fn thousands_of_priorities_are_made_known_within_the_budget_of_a_few_claims() {
    let queue = Queue::new().await;
    let each: Vec<NewJob> = (0..3_000).map(|priority| plain().priority(priority)).collect();
    jobs::enqueue_many(&queue.worker, &each).await.unwrap();
    queue.worker.batch_execute("SET statement_timeout = '3s'").await.unwrap();
    for _ in 0..4 {
        assert_eq!(queue.claim(10).await.len(), 10);
    }
    assert_eq!(queue.count("SELECT count(*) FROM tidemark.job_lane").await, 3_000);
    queue.check_invariants().await;
}

#[tokio::test]
async fn an_end_without_an_outcome_for_each_job_is_refused_and_loses_none() {
    let queue = Queue::new().await;
    jobs::enqueue_many(&queue.worker, &vec![plain(); 3]).await.unwrap();
    let claimed = queue.claim(3).await;
    let fence = claimed[0].fence;
    let ids: Vec<String> = claimed.iter().map(|job| format!("'{}'", job.fence.job_id)).collect();
    let statement = format!(
        "SELECT tidemark.jobs_end_v1('{}', NULL, ARRAY[{}]::uuid[], '{{1,1,1}}', '{{done}}')",
        fence.worker_id,
        ids.join(",")
    );
    assert_eq!(refusal(&queue.worker, &statement).await, "22023");
    assert_eq!(queue.count("SELECT count(*) FROM public.jobs WHERE status = 2").await, 3);
    queue.check_invariants().await;
}

#[tokio::test]
async fn suspects_and_what_waits_behind_them_are_served_beside_a_backlog_of_groups() {
    let queue = Queue::new().await;
    jobs::enqueue_many(&queue.worker, &vec![plain(); 2]).await.unwrap();
    assert_eq!(queue.claim(2).await.len(), 2);
    queue.expire_leases().await;
    jobs::reap(&queue.worker, 10).await.unwrap();
    jobs::enqueue_many(&queue.worker, &vec![plain(); 50]).await.unwrap();
    let grouped: Vec<NewJob> = (0..3_000).map(|number| plain().group_key(format!("tenant {}", number % 5))).collect();
    jobs::enqueue_many(&queue.worker, &grouped).await.unwrap();
    let (mut suspects, mut fresh) = (0, 0);
    // Each claim leaves the groups aside with one chance in four: 150 claims without two of those happen once in 10^16.
    for _ in 0..150 {
        for job in queue.claim(16).await {
            suspects += usize::from(job.suspect);
            fresh += usize::from(!job.suspect && job.group_key.is_none());
        }
    }
    assert_eq!((suspects, fresh), (2, 50));
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_type_whose_groups_are_full_leaves_the_shared_quota_to_its_sister() {
    let queue = Queue::new().await;
    queue.pipeline.run("INSERT INTO public.job_quotas (quota, jobs, per_seconds) VALUES ('shared', 1, 1)", &[]).await;
    let limits = "INSERT INTO public.job_limits (job_type, quota, group_concurrency) VALUES ($1, 'shared', 1), ($2, 'shared', NULL)";
    queue.pipeline.run(limits, &[&JOB_TYPE, &SISTER_TYPE]).await;
    jobs::enqueue_many(&queue.worker, &vec![plain().group_key("full"); 2]).await.unwrap();
    jobs::enqueue_many(&queue.worker, &vec![NewJob::new(SISTER_TYPE, serde_json::json!({})); 3]).await.unwrap();
    let mut served = Vec::new();
    for _ in 0..4 {
        served.extend(queue.claim(10).await.into_iter().map(|job| job.job_type));
        queue.pipeline.run("UPDATE tidemark.job_quota_use SET used_at = used_at - interval '2 seconds'", &[]).await;
    }
    served.sort_unstable();
    assert_eq!(served, [JOB_TYPE, SISTER_TYPE, SISTER_TYPE, SISTER_TYPE]);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_group_made_while_its_limit_was_not_committed_keeps_the_limit_all_the_same() {
    let queue = Queue::new().await;
    jobs::enqueue_many(&queue.worker, &vec![plain().group_key("g"); 6]).await.unwrap();
    let operator = queue.pipeline.database.admin().await;
    let limit = format!("BEGIN; INSERT INTO public.job_limits (job_type, group_concurrency) VALUES ({JOB_TYPE}, 3)");
    operator.batch_execute(&limit).await.unwrap();
    assert_eq!(queue.claim(2).await.len(), 2);
    operator.batch_execute("COMMIT").await.unwrap();
    assert_eq!(queue.claim(6).await.len(), 1);
    assert!(queue.claim(6).await.is_empty());
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_bulk_update_moves_what_waits_and_leaves_what_was_claimed_meanwhile() {
    let queue = Queue::new().await;
    let ids: Vec<Uuid> =
        jobs::enqueue_many(&queue.worker, &vec![plain(); 3]).await.unwrap().iter().map(|job| job.job_id).collect();
    let claimer = queue.pipeline.database.worker().await;
    claimer.batch_execute("BEGIN").await.unwrap();
    let claim = "SELECT job_id FROM tidemark.jobs_claim_v1(gen_random_uuid(), 1)";
    let claimed: Uuid = claimer.query_one(claim, &[]).await.unwrap().get(0);
    let operator = queue.pipeline.database.admin().await;
    let update = "UPDATE public.jobs SET priority = 1 WHERE status = 1";
    let (moved, ()) = tokio::join!(async { operator.execute(update, &[]).await.unwrap() }, async {
        queue.pipeline.until_blocked("UPDATE public.jobs", 1).await;
        claimer.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(moved, 2);
    for id in ids {
        let expected = if id == claimed { 100 } else { 1 };
        assert_eq!(queue.job(id).await.priority, expected);
    }
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_cancel_that_crosses_a_change_of_priority_still_cancels() {
    let queue = Queue::new().await;
    let id = queue.enqueue(plain()).await;
    let operator = queue.pipeline.database.admin().await;
    operator.batch_execute(&format!("BEGIN; UPDATE public.jobs SET priority = 5 WHERE job_id = '{id}'")).await.unwrap();
    let (answer, ()) = tokio::join!(jobs::cancel(&queue.worker, id), async {
        queue.pipeline.until_blocked("job_cancel_v1", 1).await;
        operator.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(answer.unwrap(), jobs::Cancelled::Dead);
    assert_eq!(queue.status(id).await, jobs::Status::Dead);
    queue.check_invariants().await;
}
