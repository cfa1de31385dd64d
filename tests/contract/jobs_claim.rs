//! Claiming: which jobs, in which order, and which never.

use std::time::Duration;

use serde_json::json;
use tidemark_queue::Error;
use tidemark_queue::jobs::{self, ClaimRequest, Ended, NewJob};
use tidemark_tests::jobs::{JOB_TYPE, Queue, plain};
use uuid::Uuid;

#[tokio::test]
async fn a_lower_number_comes_first_and_then_the_older_job() {
    let queue = Queue::new().await;
    let mut ids = Vec::new();
    for priority in [100, 5, 100, -3, 5] {
        ids.push(queue.enqueue(plain().priority(priority)).await);
    }
    let together: Vec<Uuid> = queue.claim(10).await.iter().map(|job| job.fence.job_id).collect();
    assert_eq!(together, [ids[3], ids[1], ids[4], ids[0], ids[2]]);
    queue.check_invariants().await;
}

#[tokio::test]
async fn single_claims_take_jobs_in_the_same_order_as_one_claim_of_all() {
    let queue = Queue::new().await;
    let mut ids = Vec::new();
    for priority in [100, 5, 100, -3, 5] {
        ids.push(queue.enqueue(plain().priority(priority)).await);
    }
    assert_eq!(queue.drained(10).await, [ids[3], ids[1], ids[4], ids[0], ids[2]]);
    queue.check_invariants().await;
}

#[tokio::test]
async fn waiting_improves_a_priority_by_one_step_in_every_aging_time() {
    let queue = Queue::new().await;
    queue.pipeline.set("job_aging_seconds", "10").await;
    let low = queue.enqueue(plain().priority(105)).await;
    let high = queue.enqueue(plain().priority(100)).await;
    queue.let_wait(low, 40.0).await;
    assert_eq!(queue.drained(1).await, [high], "four steps are not enough");
    let high = queue.enqueue(plain().priority(100)).await;
    queue.let_wait(low, 60.0).await;
    assert_eq!(queue.drained(2).await, [low, high], "six steps are");
    queue.check_invariants().await;
}

#[tokio::test]
async fn time_spent_in_a_delay_is_no_waiting() {
    let queue = Queue::new().await;
    let delayed = queue.enqueue(plain().priority(101).delay(Duration::from_secs(3_600))).await;
    queue.pipeline.run("UPDATE tidemark.job_scheduled SET waiting_since = waiting_since - interval '1 hour', due_at = clock_timestamp()", &[]).await;
    let fresh = queue.enqueue(plain().priority(100)).await;
    assert_eq!(queue.drained(2).await, [fresh, delayed]);
    assert_eq!(jobs::ops(&queue.worker).await.unwrap().oldest_pending_seconds, 0);
}

#[tokio::test]
async fn only_the_types_asked_for_are_claimed() {
    let queue = Queue::new().await;
    let (one, two) = (queue.enqueue(NewJob::new(11, json!({}))).await, queue.enqueue(NewJob::new(12, json!({}))).await);
    queue.enqueue(NewJob::new(13, json!({})).group_key("g")).await;
    let ask = async |job_types: Vec<i32>| {
        let request = ClaimRequest { job_types: Some(job_types), ..ClaimRequest::new(Uuid::new_v4(), 10) };
        queue.claim_with(request).await.iter().map(|job| job.fence.job_id).collect::<Vec<_>>()
    };
    assert!(ask(vec![]).await.is_empty());
    assert!(ask(vec![14]).await.is_empty());
    assert_eq!(ask(vec![12]).await, [two]);
    assert_eq!(ask(vec![11, 12]).await, [one]);
    assert_eq!(ask(vec![13]).await.len(), 1);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b19_a_claim_returns_no_future_foreign_cancelled_or_finished_job() {
    let queue = Queue::new().await;
    queue.enqueue(plain().delay(Duration::from_secs(60))).await;
    queue.enqueue(plain().delay(Duration::from_secs(60)).group_key("g")).await;
    let cancelled = queue.enqueue(plain()).await;
    jobs::cancel(&queue.worker, cancelled).await.unwrap();
    let dead = queue.enqueue(plain().max_attempts(1)).await;
    let claimed = queue.claim_one().await;
    assert_eq!(claimed.fence.job_id, dead);
    assert_eq!(jobs::fail(&queue.worker, &claimed.fence, "x", "x").await.unwrap(), Ended::Dead);
    queue.enqueue(NewJob::new(2_000, json!({}))).await;
    let request = ClaimRequest { job_types: Some(vec![JOB_TYPE]), ..ClaimRequest::new(Uuid::new_v4(), 100) };
    assert_eq!(queue.claim_with(request).await, []);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_claim_never_takes_more_than_its_limit_and_together_they_take_everything_once() {
    let queue = Queue::new().await;
    let many: Vec<NewJob> = (0..250)
        .map(|number| {
            let job = plain().priority(number % 3);
            if number % 5 == 0 { job.group_key(format!("g{}", number % 4)) } else { job }
        })
        .collect();
    jobs::enqueue_many(&queue.worker, &many).await.unwrap();
    let mut taken = std::collections::BTreeSet::new();
    loop {
        let claimed = queue.claim(40).await;
        assert!(claimed.len() <= 40);
        if claimed.is_empty() {
            break;
        }
        for job in claimed {
            assert!(taken.insert(job.fence.job_id), "a job was claimed twice");
        }
    }
    assert_eq!(taken.len(), 250);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_claim_of_one_finds_a_job_whether_it_is_in_a_group_or_not() {
    let queue = Queue::new().await;
    for _ in 0..8 {
        queue.enqueue(plain().group_key("g")).await;
    }
    assert_eq!(queue.drained(8).await.len(), 8, "no claim went out empty");
    for _ in 0..8 {
        queue.enqueue(plain()).await;
    }
    assert_eq!(queue.drained(8).await.len(), 8);
}

#[tokio::test]
async fn limits_of_a_claim_are_checked_before_it_is_sent() {
    let queue = Queue::new().await;
    let base = ClaimRequest::new(Uuid::new_v4(), 1);
    for request in [
        ClaimRequest { limit: 0, ..base.clone() },
        ClaimRequest { limit: 1_001, ..base.clone() },
        ClaimRequest { lease: Some(Duration::ZERO), ..base.clone() },
        ClaimRequest { lease: Some(Duration::from_secs(3_601)), ..base.clone() },
    ] {
        assert!(matches!(jobs::claim(&queue.worker, &request).await, Err(Error::Invalid(_))), "{request:?}");
    }
}

#[tokio::test]
async fn the_lease_lasts_as_long_as_the_settings_or_the_claim_say() {
    let queue = Queue::new().await;
    queue.pipeline.set("job_lease_seconds", "90").await;
    queue.enqueue(plain()).await;
    queue.enqueue(plain()).await;
    queue.claim(1).await;
    queue
        .claim_with(ClaimRequest { lease: Some(Duration::from_secs(7)), ..ClaimRequest::new(Uuid::new_v4(), 1) })
        .await;
    let query = "SELECT array_agg(extract(epoch FROM lease_until - claimed_at)::integer ORDER BY lease_id) FROM tidemark.job_lease";
    assert_eq!(queue.pipeline.one(query, &[]).await.get::<_, Vec<i32>>(0), [90, 7]);
}

#[tokio::test]
async fn what_comes_back_is_never_hidden_behind_the_place_where_claims_begin_to_read() {
    let queue = Queue::new().await;
    let many = vec![plain(); 400];
    let ids: Vec<Uuid> =
        jobs::enqueue_many(&queue.worker, &many).await.unwrap().iter().map(|answer| answer.job_id).collect();
    let first = queue.claim(1).await.pop().unwrap();
    let second = queue.claim(1).await.pop().unwrap();
    while queue.count("SELECT max(hint) FROM tidemark.job_lane").await <= 200 {
        // Moving it is noted at most ten times a second.
        queue.pipeline.run("UPDATE tidemark.job_lane SET hinted_at = '-infinity'", &[]).await;
        assert!(!queue.claim(20).await.is_empty(), "the place never moved up");
    }

    jobs::release(&queue.worker, &first.fence).await.unwrap();
    jobs::fail(&queue.worker, &second.fence, "x", "x").await.unwrap();
    queue.pass_delays().await;
    assert_eq!(queue.drained(2).await, [ids[0], ids[1]], "the oldest come first again, at once");
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_dead_lane_costs_a_claim_nothing_but_a_look() {
    let queue = Queue::new().await;
    for priority in 0..50 {
        queue.enqueue(plain().priority(priority)).await;
    }
    assert_eq!(queue.claim(100).await.len(), 50);
    let last = queue.enqueue(plain().priority(49)).await;
    assert_eq!(queue.drained(2).await, [last]);
    queue.check_invariants().await;
}
