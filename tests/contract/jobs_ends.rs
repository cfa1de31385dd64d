//! How a claimed job ends, what of it can be stored, and what a worker without its claim may do: nothing.

use std::time::Duration;

use serde_json::json;
use tidemark_queue::Error;
use tidemark_queue::jobs::{self, ClaimRequest, Ended, Ending, Fence, Outcome, Renewal, Status};
use tidemark_tests::jobs::{Queue, plain};
use uuid::Uuid;

fn failed(code: &str, message: &str) -> Outcome {
    Outcome::Failed { code: code.to_owned(), message: message.to_owned() }
}

/// Seconds until a waiting job is due.
async fn due_in(queue: &Queue, job_id: Uuid) -> f64 {
    let query = "SELECT extract(epoch FROM due_at - clock_timestamp())::double precision FROM tidemark.job_scheduled WHERE job_id = $1";
    queue.pipeline.one(query, &[&job_id]).await.get(0)
}

#[tokio::test]
async fn a_failed_attempt_waits_for_its_backoff_and_the_last_one_is_dead_with_one_alert() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain().max_attempts(3).dedupe_key("k")).await;
    for (attempt, backoff) in [(1, 5.0), (2, 10.0)] {
        let claimed = queue.claim_one().await;
        assert_eq!(claimed.fence.attempt, attempt);
        assert_eq!(jobs::fail(&queue.worker, &claimed.fence, "boom", "it broke").await.unwrap(), Ended::Pending);
        let due = due_in(&queue, job_id).await;
        assert!(due > backoff * 0.75 - 2.0 && due <= backoff, "{due} seconds after attempt {attempt}");
        assert!(queue.claim(1).await.is_empty(), "not before it is due");
        let job = queue.job(job_id).await;
        assert_eq!((job.status, job.attempts, job.last_error.as_str()), (Status::Pending, attempt, "it broke"));
        queue.pass_delays().await;
    }
    let claimed = queue.claim_one().await;
    assert_eq!(jobs::fail(&queue.worker, &claimed.fence, "boom", "for good").await.unwrap(), Ended::Dead);
    let job = queue.job(job_id).await;
    assert_eq!((job.status, job.attempts, job.last_error.as_str()), (Status::Dead, 3, "for good"));
    assert_eq!(job.error_code.as_deref(), Some("boom"));
    assert_eq!(jobs::find_active(&queue.worker, "k").await.unwrap(), None);
    let alerts = "SELECT count(*) FROM public.alert_outbox WHERE kind = 'job_dead' AND subject = 'job_type 1000' AND occurrences = 1";
    assert_eq!(queue.count(alerts).await, 1);
    queue.check_invariants().await;
}

#[tokio::test]
async fn each_outcome_of_a_batch_is_answered_on_its_own_in_the_order_given() {
    let queue = Queue::new().await;
    for _ in 0..7 {
        queue.enqueue(plain()).await;
    }
    let claimed = queue.claim(7).await;
    let outcomes = [
        Outcome::Snoozed(Duration::from_secs(30)),
        Outcome::Done(Some(json!({"ok": true}))),
        failed("x", "again"),
        Outcome::FailedPermanently { code: "never".to_owned(), message: "no use".to_owned() },
        Outcome::Released,
        Outcome::Done(None),
    ];
    let mut endings: Vec<Ending> =
        claimed.iter().zip(outcomes).map(|(job, outcome)| Ending { fence: job.fence, outcome }).collect();
    endings.push(Ending { fence: endings[1].fence, outcome: failed("x", "twice in one batch") });
    endings.reverse();
    let ended = jobs::end(&queue.worker, claimed[0].fence.worker_id, &endings, &[]).await.unwrap();
    let expected =
        [Ended::Pending, Ended::Done, Ended::Pending, Ended::Dead, Ended::Pending, Ended::Lost, Ended::Pending];
    assert_eq!(ended, expected);
    queue.check_invariants().await;
}

#[tokio::test]
async fn a_snooze_and_a_release_give_the_attempt_back_and_a_job_can_be_snoozed_for_ever() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain().max_attempts(1)).await;
    for _ in 0..20 {
        let claimed = queue.claim_one().await;
        assert_eq!(claimed.fence.attempt, 1);
        let ended = jobs::snooze(&queue.worker, &claimed.fence, Duration::from_secs(30)).await.unwrap();
        assert_eq!(ended, Ended::Pending);
        assert!(queue.claim(1).await.is_empty());
        queue.pass_delays().await;
        let claimed = queue.claim_one().await;
        assert_eq!(jobs::release(&queue.worker, &claimed.fence).await.unwrap(), Ended::Pending);
    }
    assert_eq!(queue.job(job_id).await.attempts, 0);
    let claimed = queue.claim_one().await;
    assert_eq!(jobs::snooze(&queue.worker, &claimed.fence, Duration::MAX).await.unwrap(), Ended::Pending);
    let due = due_in(&queue, job_id).await;
    assert!(due > 31_535_000.0 && due <= 31_536_000.0, "a longer one is a year: {due}");
    queue.check_invariants().await;
}

#[tokio::test]
async fn b41_a_backoff_is_above_zero_and_within_its_cap_whatever_the_attempt() {
    let queue = Queue::new().await;
    for attempt in [i32::MIN, -1, 0, 1, 2, 31, 32, 63, 64, 1_023, 1_100, i32::MAX] {
        for (base, cap) in [(5.0, 600.0), (0.5, 600.0), (86_400.0, 86_400.0)] {
            let query = "SELECT tidemark.job_backoff_seconds($1, $2, $3)";
            let seconds: f64 = queue.pipeline.one(query, &[&attempt, &base, &cap]).await.get(0);
            assert!(seconds > 0.0 && seconds <= cap, "attempt {attempt}, base {base}: {seconds}");
        }
    }
    queue.pipeline.set("job_backoff_seconds", "0").await;
    queue.enqueue(plain()).await;
    let claimed = queue.claim_one().await;
    assert_eq!(jobs::fail(&queue.worker, &claimed.fence, "x", "x").await.unwrap(), Ended::Pending);
    assert_eq!(queue.claim_one().await.fence.attempt, 2, "a base of nothing retries at once");
    queue.check_invariants().await;
}

#[tokio::test]
async fn b42_attempts_reach_their_greatest_number_and_no_further() {
    let queue = Queue::new().await;
    queue.pipeline.set("job_backoff_seconds", "0").await;
    let job_id = queue.enqueue(plain().max_attempts(100)).await;
    for attempt in 1..=100 {
        let claimed = queue.claim_one().await;
        assert_eq!(claimed.fence.attempt, attempt);
        let ended = jobs::fail(&queue.worker, &claimed.fence, "x", "x").await.unwrap();
        assert_eq!(ended, if attempt == 100 { Ended::Dead } else { Ended::Pending });
    }
    assert_eq!(queue.job(job_id).await.attempts, 100);
    let types = "SELECT count(*) FROM pg_catalog.pg_attribute
        WHERE attrelid IN ('tidemark.job_lease'::regclass, 'tidemark.job_body'::regclass, 'tidemark.job_ready'::regclass)
            AND attname IN ('lease_id', 'position', 'rank') AND atttypid <> 'bigint'::regtype";
    assert_eq!(queue.count(types).await, 0, "numbers that only grow have 64 bits");
}

#[tokio::test]
async fn b07_a_failure_whose_text_cannot_be_stored_is_charged_with_what_can() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain().max_attempts(2)).await;
    let claimed = queue.claim_one().await;
    let text = jobs::error_text(b"\xf1a\0b");
    jobs::fail(&queue.worker, &claimed.fence, "co\0de", &format!("{text}\0{}", "é".repeat(3_000))).await.unwrap();
    let job = queue.job(job_id).await;
    assert_eq!((job.status, job.attempts), (Status::Pending, 1));
    assert!(job.last_error.starts_with("\u{fffd}a\u{fffd}b\u{fffd}é") && job.last_error.chars().count() == 2_000);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b07_where_the_text_is_refused_all_the_same_a_constant_one_is_stored_for_that_job_alone() {
    let queue = Queue::new().await;
    for _ in 0..3 {
        queue.enqueue(plain()).await;
    }
    // Whatever the reason may be: here a rule of somebody else's.
    let rule = "ALTER TABLE tidemark.job_note ADD CONSTRAINT foreign_rule CHECK (last_error NOT LIKE '%unwelcome%')";
    queue.pipeline.run(rule, &[]).await;
    let claimed = queue.claim(3).await;
    let endings = [failed("x", "fine"), failed("x", "unwelcome"), Outcome::Done(None)];
    let endings: Vec<Ending> =
        claimed.iter().zip(endings).map(|(job, outcome)| Ending { fence: job.fence, outcome }).collect();
    let ended = jobs::end(&queue.worker, claimed[0].fence.worker_id, &endings, &[]).await.unwrap();
    assert_eq!(ended, [Ended::Pending, Ended::Pending, Ended::Done]);
    assert_eq!(queue.job(claimed[0].fence.job_id).await.last_error, "fine");
    let constant = queue.job(claimed[1].fence.job_id).await;
    assert_eq!((constant.attempts, constant.last_error.as_str()), (1, "the text of the error could not be stored"));
    queue.check_invariants().await;
}

#[tokio::test]
async fn b06_a_result_that_cannot_be_stored_makes_its_job_dead_once_and_no_other() {
    let queue = Queue::new().await;
    for _ in 0..4 {
        queue.enqueue(plain()).await;
    }
    let claimed = queue.claim(4).await;
    let mut deep = json!(1);
    for _ in 0..150 {
        deep = json!([deep]);
    }
    let results = [json!({"canary\0": 1}), json!("fine"), json!("x".repeat(1_048_576)), deep];
    let endings: Vec<Ending> = claimed
        .iter()
        .zip(results)
        .map(|(job, result)| Ending { fence: job.fence, outcome: Outcome::Done(Some(result)) })
        .collect();
    let ended = jobs::end(&queue.worker, claimed[0].fence.worker_id, &endings, &[]).await.unwrap();
    assert_eq!(ended, [Ended::Dead, Ended::Done, Ended::Dead, Ended::Dead]);
    for place in [0, 2, 3] {
        let job = queue.job(claimed[place].fence.job_id).await;
        assert_eq!((job.attempts, job.error_code.as_deref()), (1, Some("invalid_result")));
        assert!(job.last_error.starts_with("the result ") && !job.last_error.contains("canary"), "{}", job.last_error);
    }
    assert!(queue.claim(10).await.is_empty(), "nothing loops");

    let running = queue.enqueue(plain()).await;
    let claimed = queue.claim_one().await;
    let refused = jobs::set_progress(&queue.worker, &claimed.fence, &json!({"at": "canary\0"})).await;
    assert!(matches!(&refused, Err(Error::Invalid(text)) if !text.contains("canary")), "{refused:?}");
    assert_eq!(queue.status(running).await, Status::Running);
    queue.check_invariants().await;
}

/// Everything that a worker may try on behalf of a job: each must be lost.
async fn check_lost(queue: &Queue, fence: &Fence) {
    let worker = &queue.worker;
    assert_eq!(jobs::complete(worker, fence, Some(json!("late"))).await.unwrap(), Ended::Lost);
    assert_eq!(jobs::renew_lease(worker, fence.worker_id, &[*fence], None).await.unwrap(), [Renewal::Lost]);
    assert!(!jobs::set_progress(worker, fence, &json!("late")).await.unwrap());
    assert_eq!(jobs::fail(worker, fence, "late", "late").await.unwrap(), Ended::Lost);
    assert_eq!(jobs::fail_permanent(worker, fence, "late", "late").await.unwrap(), Ended::Lost);
    assert_eq!(jobs::snooze(worker, fence, Duration::from_secs(9)).await.unwrap(), Ended::Lost);
    assert_eq!(jobs::release(worker, fence).await.unwrap(), Ended::Lost);
}

#[tokio::test]
async fn b28_a_worker_whose_job_was_reclaimed_is_told_that_it_lost_and_changes_nothing() {
    for same_worker in [false, true] {
        let queue = Queue::new().await;
        let job_id = queue.enqueue(plain()).await;
        let zombie = queue.claim_one().await.fence;
        queue.expire_leases().await;
        assert_eq!(jobs::reap(&queue.worker, 10).await.unwrap().len(), 1);
        check_lost(&queue, &zombie).await;

        // A warm process that kept its id is no better than a stranger.
        let worker_id = if same_worker { zombie.worker_id } else { Uuid::new_v4() };
        let holder = queue.claim_with(ClaimRequest::new(worker_id, 1)).await.pop().unwrap().fence;
        let before = queue.job(job_id).await;
        check_lost(&queue, &zombie).await;
        assert_eq!(queue.job(job_id).await, before);
        assert_eq!(jobs::complete(&queue.worker, &holder, Some(json!("right"))).await.unwrap(), Ended::Done);
        check_lost(&queue, &zombie).await;
        assert_eq!(queue.job(job_id).await.result.unwrap().text(), "\"right\"");
        queue.check_invariants().await;
    }
}

#[tokio::test]
async fn b28_an_attempt_that_was_given_back_and_granted_again_is_another_claim() {
    let queue = Queue::new().await;
    let worker_id = Uuid::new_v4();
    let job_id = queue.enqueue(plain()).await;
    let old = queue.claim_with(ClaimRequest::new(worker_id, 1)).await.pop().unwrap().fence;
    jobs::release(&queue.worker, &old).await.unwrap();
    queue.enqueue(plain()).await;
    let held = queue.claim_with(ClaimRequest::new(worker_id, 2)).await;
    assert_eq!((held[0].fence.job_id, held[0].fence.attempt), (job_id, 1), "same job, worker and attempt number");

    // Even in a batch that names the new lease with another job.
    let endings = [
        Ending { fence: old, outcome: failed("late", "late") },
        Ending { fence: held[1].fence, outcome: Outcome::Done(None) },
    ];
    let ended = jobs::end(&queue.worker, worker_id, &endings, &[]).await.unwrap();
    assert_eq!(ended, [Ended::Lost, Ended::Done]);
    let renewed = jobs::renew_lease(&queue.worker, worker_id, &[old, held[0].fence], None).await.unwrap();
    assert!(matches!(renewed.as_slice(), [Renewal::Lost, Renewal::Until { .. }]), "{renewed:?}");
    assert!(!jobs::set_progress(&queue.worker, &old, &json!("late")).await.unwrap());
    assert_eq!(queue.status(job_id).await, Status::Running);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b30_a_late_failure_never_reopens_a_finished_job() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain().max_attempts(2)).await;
    let first = queue.claim_one().await.fence;
    queue.expire_leases().await;
    jobs::reap(&queue.worker, 10).await.unwrap();
    let second = queue.claim_one().await.fence;
    assert_eq!(jobs::fail(&queue.worker, &second, "x", "the last").await.unwrap(), Ended::Dead);
    let dead = queue.job(job_id).await;
    check_lost(&queue, &first).await;
    check_lost(&queue, &second).await;
    assert_eq!(queue.job(job_id).await, dead);
    queue.check_invariants().await;
}

#[tokio::test]
async fn an_end_is_accepted_after_the_lease_is_over_as_long_as_nobody_took_the_job_back() {
    let queue = Queue::new().await;
    queue.enqueue(plain()).await;
    let fence = queue.claim_one().await.fence;
    queue.expire_leases().await;
    assert_eq!(jobs::renew_lease(&queue.worker, fence.worker_id, &[fence], None).await.unwrap(), [Renewal::Lost]);
    assert!(!jobs::set_progress(&queue.worker, &fence, &json!(1)).await.unwrap());
    assert_eq!(jobs::complete(&queue.worker, &fence, None).await.unwrap(), Ended::Done);
    queue.check_invariants().await;
}

#[tokio::test]
async fn b01_a_renewal_answers_with_the_databases_time_and_lasts_from_now() {
    let queue = Queue::new().await;
    let ids = [queue.enqueue(plain()).await, queue.enqueue(plain()).await];
    let claimed = queue.claim(2).await;
    let long = Some(Duration::from_secs(1_000));
    let answer = jobs::renew_lease(&queue.worker, claimed[0].fence.worker_id, &[claimed[0].fence], long).await.unwrap();
    let [Renewal::Until { lease_until, cancel_requested: false }] = answer.as_slice() else { panic!("{answer:?}") };
    for job_id in ids {
        assert_eq!(queue.job(job_id).await.lease_until, Some(*lease_until), "jobs of one claim share their lease");
    }
    let query = "SELECT extract(epoch FROM lease_until - clock_timestamp())::double precision FROM tidemark.job_lease";
    let left: f64 = queue.pipeline.one(query, &[]).await.get(0);
    assert!(left > 990.0 && left <= 1_000.0, "{left}");
    queue.check_invariants().await;
}

#[tokio::test]
async fn progress_is_shown_while_the_job_runs_and_stays_with_what_it_became() {
    let queue = Queue::new().await;
    let job_id = queue.enqueue(plain()).await;
    let fence = queue.claim_one().await.fence;
    assert!(jobs::set_progress(&queue.worker, &fence, &json!({"done": 1})).await.unwrap());
    assert!(jobs::set_progress(&queue.worker, &fence, &json!({"done": 2})).await.unwrap());
    assert_eq!(queue.job(job_id).await.progress.unwrap().value().unwrap(), json!({"done": 2}));
    jobs::complete(&queue.worker, &fence, None).await.unwrap();
    assert_eq!(queue.job(job_id).await.progress.unwrap().value().unwrap(), json!({"done": 2}));
    queue.check_invariants().await;
}

#[tokio::test]
async fn b45_a_role_whose_transactions_are_repeatable_read_works_all_the_same() {
    let queue = Queue::new().await;
    let role =
        "ALTER ROLE tidemark_worker IN DATABASE CURRENT_DATABASE SET default_transaction_isolation = 'repeatable read'";
    let name = queue.pipeline.database.name().to_owned();
    queue.pipeline.admin.batch_execute(&role.replace("CURRENT_DATABASE", &name)).await.unwrap();
    let worker = queue.pipeline.database.worker().await;
    let level = worker.query_one("SHOW transaction_isolation", &[]).await.unwrap().get::<_, String>(0);
    assert_eq!(level, "repeatable read");
    let job_id = jobs::enqueue(&worker, &plain().dedupe_key("k")).await.unwrap().job_id;
    let claimed = jobs::claim(&worker, &ClaimRequest::new(Uuid::new_v4(), 5)).await.unwrap();
    let seen = jobs::renew_lease(&worker, claimed[0].fence.worker_id, &[claimed[0].fence], None).await.unwrap();
    assert!(matches!(seen.as_slice(), [Renewal::Until { .. }]));
    jobs::complete(&worker, &claimed[0].fence, None).await.unwrap();
    assert_eq!(queue.status(job_id).await, Status::Done);
    queue.check_invariants().await;
}
