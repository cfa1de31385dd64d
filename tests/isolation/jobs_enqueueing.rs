//! Enqueueing beside workers, beside other producers, and beside what is rolled back.

use tidemark_queue::jobs::{self, Ended, Requeued, Status};
use tidemark_tests::jobs::{Queue, plain};

use crate::inside;

#[tokio::test]
async fn b15_an_enqueue_never_waits_for_a_worker_that_holds_the_job_of_its_key() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain().dedupe_key("k").group_key("g")).await;
    let fence = queue.claim_one().await.fence;
    // Whatever a worker locks while it works: its renewal and its progress, here in a transaction that stays open.
    let held = inside(
        &queue.pipeline,
        &format!(
            "SELECT FROM tidemark.jobs_renew_v1('{0}', ARRAY[{1}], ARRAY['{2}'::uuid], ARRAY[1]);
             SELECT tidemark.job_progress_v1('{0}', '{2}', 1, '1')",
            fence.worker_id, fence.lease_id, job_id
        ),
    )
    .await;
    queue.worker.batch_execute("SET statement_timeout = '1s'").await.unwrap();
    let again = jobs::enqueue(&queue.worker, &plain().dedupe_key("k")).await.unwrap();
    assert_eq!((again.job_id, again.inserted), (job_id, false));
    assert!(jobs::enqueue(&queue.worker, &plain().group_key("g")).await.unwrap().inserted);
    held.batch_execute("COMMIT").await.unwrap();
    queue.check_invariants().await;
}

#[tokio::test]
async fn b16_a_key_whose_holder_is_rolled_back_goes_to_the_one_who_waited() {
    let queue = Queue::new().await;
    let holder = inside(&queue.pipeline, "SELECT public.enqueue_job(1000, '{}', 'k')").await;
    let job = plain().dedupe_key("k");
    let (enqueued, ()) = tokio::join!(jobs::enqueue(&queue.worker, &job), async {
        queue.pipeline.until_blocked("enqueue_job", 1).await;
        holder.batch_execute("ROLLBACK").await.unwrap();
    });
    let enqueued = enqueued.unwrap();
    assert!(enqueued.inserted);
    assert_eq!(queue.status(enqueued.job_id).await, Status::Pending);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b16_a_key_whose_holder_commits_answers_with_the_holders_job() {
    let queue = Queue::new().await;
    let holder = inside(&queue.pipeline, "SELECT public.enqueue_job(1000, '{}', 'k')").await;
    let job = plain().dedupe_key("k");
    let (enqueued, ()) = tokio::join!(jobs::enqueue(&queue.worker, &job), async {
        queue.pipeline.until_blocked("enqueue_job", 1).await;
        holder.batch_execute("COMMIT").await.unwrap();
    });
    let enqueued = enqueued.unwrap();
    assert!(!enqueued.inserted);
    assert_eq!(jobs::find_active(&queue.worker, "k").await.unwrap().unwrap().job_id, enqueued.job_id);
    assert_eq!(queue.count("SELECT count(*) FROM tidemark.job_body").await, 1);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b14_an_enqueue_that_meets_the_end_of_its_keys_job_is_coalesced_with_it_or_a_new_one() {
    let queue = Queue::new().await;
    let first = queue.enqueue(plain().dedupe_key("k")).await;
    let fence = queue.claim_one().await.fence;
    let end = format!(
        "SELECT FROM tidemark.jobs_end_v1('{}', ARRAY[{}], ARRAY['{first}'::uuid], ARRAY[1], ARRAY['done'])",
        fence.worker_id, fence.lease_id
    );
    let ending = inside(&queue.pipeline, &end).await;
    let job = plain().dedupe_key("k");
    let (during, ()) = tokio::join!(jobs::enqueue(&queue.worker, &job), async {
        ending.batch_execute("COMMIT").await.unwrap();
    });
    // Whichever was first: it is coalesced with a job that was active, or a new one.
    let during = during.unwrap();
    assert_eq!(during.inserted, during.job_id != first);
    let after = jobs::enqueue(&queue.worker, &job).await.unwrap();
    assert_eq!(after.inserted, !during.inserted, "a key has one active job");
    assert_eq!(queue.count("SELECT count(*) FROM tidemark.job_body").await, 2);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b14_every_call_is_answered_while_producers_and_a_worker_race_for_a_few_keys() {
    let queue = Queue::new().await;
    let producers = (0..4).map(|_| async {
        let client = queue.pipeline.database.worker().await;
        let mut inserted = 0;
        for round in 0..100 {
            let answer = jobs::enqueue(&client, &plain().dedupe_key(format!("k{}", round % 10))).await.unwrap();
            inserted += i64::from(answer.inserted);
        }
        inserted
    });
    let working = async {
        let mut done = 0;
        let mut idle = 0;
        while idle < 50 {
            let Some(job) = queue.claim(1).await.pop() else {
                idle += 1;
                continue;
            };
            idle = 0;
            assert_eq!(jobs::complete(&queue.worker, &job.fence, None).await.unwrap(), Ended::Done);
            done += 1;
        }
        done
    };
    let (inserted, mut done) = tokio::join!(futures_util::future::join_all(producers), working);
    while let Some(job) = queue.claim(1).await.pop() {
        jobs::complete(&queue.worker, &job.fence, None).await.unwrap();
        done += 1;
    }
    assert_eq!(inserted.iter().sum::<i64>(), done);
    assert_eq!(queue.count("SELECT count(*) FROM tidemark.job_body").await, done);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b44_bulk_enqueues_of_the_same_keys_in_opposite_order_do_not_deadlock() {
    let queue = Queue::new().await;
    let other = queue.pipeline.database.worker().await;
    for round in 0..30 {
        let there: Vec<_> = (0..50).map(|number| plain().dedupe_key(format!("{round}-{number}"))).collect();
        let back: Vec<_> = there.iter().rev().cloned().collect();
        let (one, two) = tokio::join!(jobs::enqueue_many(&queue.worker, &there), jobs::enqueue_many(&other, &back));
        let inserted = one.unwrap().iter().chain(&two.unwrap()).filter(|answer| answer.inserted).count();
        assert_eq!(inserted, 50);
    }
    queue.check_invariants().await;
}

#[tokio::test]
async fn an_enqueue_that_meets_a_requeue_of_its_key_is_coalesced_and_the_other_way_round() {
    let queue = Queue::new().await;
    let dead = queue.enqueue(plain().dedupe_key("k")).await;
    let fence = queue.claim_one().await.fence;
    jobs::fail_permanent(&queue.worker, &fence, "x", "x").await.unwrap();

    let requeueing =
        inside(&queue.pipeline, &format!("SELECT FROM tidemark.jobs_requeue_v1(ARRAY['{dead}'::uuid])")).await;
    let job = plain().dedupe_key("k");
    let (enqueued, ()) = tokio::join!(jobs::enqueue(&queue.worker, &job), async {
        queue.pipeline.until_blocked("enqueue_job", 1).await;
        requeueing.batch_execute("ROLLBACK").await.unwrap();
    });
    let enqueued = enqueued.unwrap();
    assert!(enqueued.inserted, "the requeue was rolled back");

    let fence = queue.claim_one().await.fence;
    jobs::complete(&queue.worker, &fence, None).await.unwrap();
    let enqueueing = inside(&queue.pipeline, "SELECT public.enqueue_job(1000, '{}', 'k')").await;
    let ids = [dead];
    let (requeued, ()) = tokio::join!(jobs::requeue(&queue.worker, &ids), async {
        queue.pipeline.until_blocked("jobs_requeue_v1", 1).await;
        enqueueing.batch_execute("COMMIT").await.unwrap();
    });
    assert!(matches!(requeued.unwrap().as_slice(), [Requeued::Twin { .. }]));
    queue.check_invariants().await;
}
