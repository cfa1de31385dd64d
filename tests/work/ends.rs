//! How handlers end, and what is recorded of it.

use std::time::Duration;

use serde_json::json;
use tidemark_queue::Outcome;
use tidemark_queue::jobs::{NewJob, Status};

use crate::probe::PROBE;
use crate::yard::{Yard, invocation_of};

#[tokio::test]
async fn each_end_of_a_handler_becomes_what_it_says() {
    let yard = Yard::new().await;
    let done = yard.enqueue(json!({"done": {"figure": 1}})).await;
    let failed = yard.enqueue(json!({"fail": "the receiver is away"})).await;
    let refused = yard.enqueue(json!({"permanent": "no such receiver"})).await;
    let snoozed = yard.enqueue(json!({"snooze": 60})).await;
    let summary = yard.work().await;
    assert_eq!((summary.outcome, summary.succeeded, summary.failed), (Outcome::Worked, 1, 2));
    assert_eq!(yard.state(done).await, (Status::Done, 1, String::new()));
    assert_eq!(yard.result(done).await, Some(json!({"figure": 1})));
    assert_eq!(yard.state(failed).await, (Status::Pending, 1, "the receiver is away".to_owned()));
    assert_eq!(yard.state(refused).await, (Status::Dead, 1, "no such receiver".to_owned()));
    assert_eq!(yard.job(refused).await.error_code.as_deref(), Some("probe_refused"));
    assert_eq!(yard.state(snoozed).await, (Status::Pending, 0, String::new()), "the attempt is given back");
    for (job, least) in [(failed, 3.5), (snoozed, 59.0)] {
        let query = "SELECT extract(epoch FROM due_at - clock_timestamp())::float8 FROM tidemark.job_scheduled WHERE job_id = $1";
        let seconds: f64 = yard.pipeline.one(query, &[&job]).await.get(0);
        assert!(seconds > least, "{seconds}");
    }
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_handler_that_fails_until_its_attempts_are_used_up_leaves_a_dead_job_and_one_alert() {
    let yard = Yard::new().await;
    let job = yard.enqueue(json!({"fail": "as ever"})).await;
    for attempt in 1..=3 {
        assert_eq!(yard.work().await.failed, 1);
        assert_eq!(yard.job(job).await.attempts, attempt);
        yard.make_due().await;
    }
    assert_eq!(yard.state(job).await, (Status::Dead, 3, "as ever".to_owned()));
    assert_eq!(yard.open_alerts("job_dead").await, (1, 1));
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_degraded_end_is_done_and_its_diagnostics_stand_in_the_result() {
    let yard = Yard::new().await;
    let job = yard.enqueue(json!({"degraded": ["mail: timeout", "nul \u{1} is kept"]})).await;
    assert_eq!(yard.work().await.succeeded, 1);
    let diagnostics = json!([
        {"channel": "probe", "error": "mail: timeout"}, {"channel": "probe", "error": "nul \u{1} is kept"}
    ]);
    let expected = json!({"kept": true, "degraded": true, "diagnostics": diagnostics});
    assert_eq!(yard.result(job).await, Some(expected));
    assert_eq!(yard.open_alerts("job_dead").await, (0, 0));
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_result_that_cannot_be_stored_ends_its_job_once_and_no_other() {
    let yard = Yard::new().await;
    let broken = yard.enqueue(json!("done_with_nul")).await;
    let sound = yard.enqueue(json!({"done": 1})).await;
    yard.work().await;
    assert_eq!(yard.job(broken).await.status, Status::Dead);
    assert_eq!(yard.job(broken).await.error_code.as_deref(), Some("invalid_result"));
    assert_eq!(yard.job(sound).await.status, Status::Done);
    yard.make_due().await;
    yard.work().await;
    assert_eq!(yard.probe.seen().begun.len(), 2, "neither comes back");
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_failure_whose_text_cannot_be_stored_is_charged_all_the_same() {
    let yard = Yard::new().await;
    let job = yard.enqueue(json!("fail_with_nul")).await;
    yard.work().await;
    let (status, attempts, text) = yard.state(job).await;
    assert_eq!((status, attempts), (Status::Pending, 1));
    assert_eq!(text, "\u{fffd}a\u{fffd}b");
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_panic_fails_its_job_alone_and_its_text_is_stored_nowhere() {
    let yard = Yard::new().await;
    let job = yard.enqueue(json!({"panic": "canary-4711"})).await;
    let other = yard.enqueue(json!({"done": 1})).await;
    let summary = yard.work().await;
    assert_eq!((summary.succeeded, summary.failed, summary.error_code.as_deref()), (1, 1, Some("panic")));
    let (status, attempts, text) = yard.state(job).await;
    assert_eq!((status, attempts), (Status::Pending, 1));
    assert!(text.contains("panicked") && !text.contains("canary"), "{text}");
    assert_eq!(yard.job(other).await.status, Status::Done);
    yard.check_invariants().await;
}

#[tokio::test]
async fn an_unknown_type_and_a_payload_that_cannot_be_decoded_fail_alone_and_without_content() {
    let yard = Yard::new().await;
    let unknown = yard.enqueue_job(NewJob::new(77, json!({"canary": "canary"}))).await;
    let invalid = yard.enqueue(json!({"canary": "canary"})).await;
    let sound = yard.enqueue(json!({"done": 1})).await;
    // Numbers that no 64 bits hold, and nesting, are JSON to the server.
    let deep = "SELECT job_id FROM public.enqueue_job(100, (repeat('[', 200) || repeat(']', 200))::jsonb)";
    let deep = yard.pipeline.one(deep, &[]).await.get(0);
    let summary = yard.work().await;
    assert_eq!((summary.succeeded, summary.failed), (1, 3));
    let (status, attempts, text) = yard.state(unknown).await;
    assert_eq!((status, attempts), (Status::Pending, 1), "a newer release may know the type");
    assert_eq!(text, "no handler takes jobs of type 77");
    for job in [invalid, deep] {
        assert_eq!(yard.job(job).await.status, Status::Dead);
        assert_eq!(yard.job(job).await.error_code.as_deref(), Some("invalid_payload"));
        assert_eq!(yard.job(job).await.last_error, "the payload is not what jobs of type 100 carry");
    }
    assert_eq!(yard.job(sound).await.status, Status::Done);
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_handler_over_its_time_is_cancelled_and_recorded_as_deadline_exceeded() {
    let yard = Yard::new().await;
    yard.pipeline.set("work_timeout_ms", "300").await;
    let job = yard.enqueue_job(NewJob { max_attempts: 1, ..NewJob::new(PROBE, json!("hold")) }).await;
    let summary = yard.work().await;
    assert_eq!((summary.failed, summary.error_code.as_deref()), (1, Some("deadline_exceeded")));
    assert_eq!(yard.probe.seen().cancelled, [job]);
    assert_eq!(yard.state(job).await, (Status::Dead, 1, "the handler did not end within 300 ms".to_owned()));
    let ops = tidemark_queue::jobs::ops(&yard.pipeline.admin).await.unwrap();
    assert_eq!(ops.deadline_exceeded_last_hour, 1);
    yard.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_never_waits_is_recorded_all_the_same_and_told_that_it_is_not_wanted() {
    let yard = Yard::new().await;
    yard.pipeline.set("work_timeout_ms", "300").await;
    let job = yard.enqueue(json!("block")).await;
    let summary = yard.work().await;
    assert_eq!((summary.failed, summary.error_code.as_deref()), (1, Some("deadline_exceeded")));
    yard.probe.until("it has stopped", |seen| seen.running == 0).await;
    assert_eq!(yard.state(job).await.0, Status::Pending, "its late result is not recorded");
    yard.check_invariants().await;
}

#[tokio::test]
async fn b39_a_handler_that_would_outlast_the_invocation_is_ended_and_recorded_before_the_platform_ends_it() {
    let yard = Yard::new().await;
    let job = yard.enqueue(json!("hold")).await;
    // The margin that is kept of each invocation is a second and a half.
    let invocation = invocation_of(Duration::from_millis(2_200));
    let deadline = invocation.deadline.unwrap();
    let summary = yard.work_on(&mut yard.pipeline.worker(), invocation).await;
    assert!(std::time::Instant::now() < deadline);
    assert_eq!(summary.error_code.as_deref(), Some("deadline_exceeded"));
    assert_eq!(yard.state(job).await.0, Status::Pending);
    yard.check_invariants().await;
}
