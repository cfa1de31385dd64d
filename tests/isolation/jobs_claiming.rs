//! Claims of jobs beside each other, beside a cancel, and beside an enqueue that commits late.

use tidemark_queue::jobs::{self, Cancelled, ClaimRequest, Status};
use tidemark_tests::jobs::{Queue, plain};
use tidemark_tests::{until, until_true};
use uuid::Uuid;

use crate::inside;

const CLAIM_TWO: &str = "SELECT FROM tidemark.jobs_claim_v1(gen_random_uuid(), 2)";

#[tokio::test]
async fn a_claim_takes_what_another_one_that_has_not_committed_left() {
    let queue = Queue::new().await;
    queue.enqueue(plain()).await;
    queue.claim(1).await;
    for _ in 0..3 {
        queue.enqueue(plain()).await;
    }
    let other = inside(&queue.pipeline, CLAIM_TWO).await;
    let claimed = queue.claim(10).await;
    assert_eq!(claimed.len(), 1, "without waiting");
    other.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(queue.claim(10).await.len(), 2, "what was rolled back is there again");
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_claim_never_waits_for_one_that_was_the_first_to_see_a_type_or_priority() {
    let queue = Queue::new().await;
    for _ in 0..3 {
        queue.enqueue(plain()).await;
    }
    let other = inside(&queue.pipeline, CLAIM_TWO).await;
    assert!(queue.claim(10).await.is_empty(), "what is not known yet is the other's");
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(queue.claim(10).await.len(), 1);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_cancel_that_meets_a_claim_waits_for_it_and_asks_the_running_job_to_stop() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain()).await;
    let claiming = inside(&queue.pipeline, CLAIM_TWO).await;
    let (cancelled, ()) = tokio::join!(jobs::cancel(&queue.worker, job_id), async {
        queue.pipeline.until_blocked("job_cancel_v1", 1).await;
        claiming.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(cancelled.unwrap(), Cancelled::Requested);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_claim_passes_a_job_that_is_being_cancelled() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain()).await;
    let cancelling = inside(&queue.pipeline, &format!("SELECT tidemark.job_cancel_v1('{job_id}')")).await;
    assert!(queue.claim(10).await.is_empty());
    cancelling.batch_execute("COMMIT").await.unwrap();
    assert!(queue.claim(10).await.is_empty());
    assert_eq!(queue.status(job_id).await, Status::Dead);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_cancel_that_meets_the_end_of_its_job_finds_it_where_that_put_it() {
    for (outcome, expected) in [("done", Cancelled::Finished), ("release", Cancelled::Dead)] {
        let queue = Queue::new().await;
        let job_id = queue.enqueue(plain()).await;
        let fence = queue.claim_one().await.fence;
        let end = format!(
            "SELECT FROM tidemark.jobs_end_v1('{}', ARRAY[{}], ARRAY['{job_id}'::uuid], ARRAY[{}], ARRAY['{outcome}'])",
            fence.worker_id, fence.lease_id, fence.attempt
        );
        let ending = inside(&queue.pipeline, &end).await;
        let (cancelled, ()) = tokio::join!(jobs::cancel(&queue.worker, job_id), async {
            queue.pipeline.until_blocked("job_cancel_v1", 1).await;
            ending.batch_execute("COMMIT").await.unwrap();
        });
        assert_eq!(cancelled.unwrap(), expected, "{outcome}");
        queue.check_invariants().await;
    }
}

/// Claims everything but leaves the place where claims begin to read far behind what was enqueued first.
async fn move_the_place_up(queue: &Queue) {
    jobs::enqueue_many(&queue.worker, &vec![plain(); 400]).await.unwrap();
    loop {
        queue.pipeline.run("UPDATE tidemark.job_lane SET hinted_at = '-infinity'", &[]).await;
        if queue.claim(50).await.is_empty() {
            break;
        }
    }
    assert!(queue.count("SELECT max(hint) FROM tidemark.job_lane").await > 200);
}

#[tokio::test]
async fn a_job_whose_enqueue_commits_late_is_claimed_within_about_a_second() {
    let mut queue = Queue::new().await;
    let mut producer = queue.pipeline.database.worker().await;
    let late = producer.transaction().await.unwrap();
    let job_id = jobs::enqueue(&late, &plain()).await.unwrap().job_id;
    move_the_place_up(&queue).await;
    // However often the place is proven meanwhile: the open transaction is older.
    for _ in 0..5 {
        queue.pipeline.run("UPDATE tidemark.job_lane SET look_after = '-infinity'", &[]).await;
        queue.claim(1).await;
    }
    assert_eq!(queue.count("SELECT max(floor) FROM tidemark.job_lane").await, 0, "nothing is proven yet");
    late.commit().await.unwrap();
    let committed = std::time::Instant::now();
    let worker = &queue.worker;
    until("the late job is claimed", async || {
        let claimed = jobs::claim(worker, &ClaimRequest::new(Uuid::new_v4(), 1)).await.unwrap();
        claimed.iter().any(|job| job.fence.job_id == job_id)
    })
    .await;
    assert!(committed.elapsed().as_secs_f64() < 2.5, "{:?}", committed.elapsed());
    queue.check_invariants().await;
    queue.worker = queue.pipeline.database.worker().await;
}

#[tokio::test]
async fn b56_the_place_is_proven_once_every_older_transaction_is_over_and_a_held_snapshot_hides_nothing() {
    let queue = Queue::new().await;
    let old = queue.pipeline.database.admin().await;
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id()").await.unwrap();
    move_the_place_up(&queue).await;
    let look = async || {
        queue.pipeline.run("UPDATE tidemark.job_lane SET look_after = '-infinity'", &[]).await;
        queue.claim(1).await
    };
    for _ in 0..3 {
        look().await;
    }
    assert_eq!(queue.count("SELECT max(floor) FROM tidemark.job_lane").await, 0);
    let fresh = queue.enqueue(plain()).await;
    assert_eq!(queue.claim_one().await.fence.job_id, fresh);

    old.batch_execute("ROLLBACK").await.unwrap();
    until("the floor rises", async || {
        look().await;
        queue.count("SELECT max(floor) FROM tidemark.job_lane").await > 200
    })
    .await;
    let fresh = queue.enqueue(plain()).await;
    assert_eq!(queue.claim_one().await.fence.job_id, fresh);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_producer_that_is_younger_than_everything_that_ended_is_not_hidden_for_ever() {
    let queue = Queue::new().await;
    // Transaction ids in this order: whoever claims, fills and looks has his before the producer.
    let xid = "SELECT pg_current_xact_id()";
    let (claiming, filling, looking) =
        (inside(&queue.pipeline, xid).await, inside(&queue.pipeline, xid).await, inside(&queue.pipeline, xid).await);
    let mut producer = queue.pipeline.database.worker().await;
    let late = producer.transaction().await.unwrap();
    let job_id = jobs::enqueue(&late, &plain()).await.unwrap().job_id;
    let fill = "SELECT public.enqueue_job(1000) FROM generate_series(1, 400); COMMIT";
    filling.batch_execute(fill).await.unwrap();
    let claim = "SELECT FROM tidemark.jobs_claim_v1(gen_random_uuid(), 200);";
    claiming.batch_execute(&format!("{claim} {claim} COMMIT")).await.unwrap();
    looking.batch_execute(&format!("{claim} COMMIT")).await.unwrap();
    assert!(queue.count("SELECT max(hint) FROM tidemark.job_lane").await > 200);
    for _ in 0..4 {
        queue.pipeline.run("UPDATE tidemark.job_lane SET look_after = '-infinity'", &[]).await;
        queue.claim(1).await;
    }
    late.commit().await.unwrap();
    let worker = &queue.worker;
    until("the late job is claimed", async || {
        let claimed = jobs::claim(worker, &ClaimRequest::new(Uuid::new_v4(), 1)).await.unwrap();
        claimed.iter().any(|job| job.fence.job_id == job_id)
    })
    .await;
    queue.check_invariants().await;
}

#[tokio::test]
async fn b01_a_lease_is_judged_by_the_databases_clock_alone() {
    let queue = Queue::new().await;
    queue.enqueue(plain()).await;
    let fence = queue.claim_one().await.fence;
    // A reaper that waits for the row judges by the time at which it has it.
    let holding = inside(&queue.pipeline, "SELECT FROM tidemark.job_lease FOR UPDATE").await;
    assert!(jobs::reap(&queue.worker, 10).await.unwrap().is_empty());
    holding.batch_execute("ROLLBACK").await.unwrap();
    let alive = "SELECT lease_until > clock_timestamp() FROM tidemark.job_lease WHERE lease_id = $1";
    until_true(&queue.pipeline.admin, alive, &[&fence.lease_id]).await;
    let columns = "SELECT count(*) FROM information_schema.columns
        WHERE table_schema = 'tidemark' AND table_name LIKE 'job%' AND data_type = 'timestamp without time zone'";
    assert_eq!(queue.count(columns).await, 0);
}
