//! What an invocation claims, begins, gives back and leaves alone.

use std::time::Duration;

use serde_json::json;
use tidemark_handlers::work::CONCURRENCY;
use tidemark_queue::jobs::{NewJob, Status};
use tidemark_queue::{Invocation, Outcome};
use tidemark_testkit::{ChaosProxy, Fault};
use tidemark_tests::{invocation, until_true};

use crate::probe::PROBE;
use crate::yard::{Yard, invocation_of};

#[tokio::test]
async fn one_invocation_runs_everything_that_is_there_up_to_the_limit_side_by_side() {
    let yard = Yard::new().await;
    yard.probe.release();
    let jobs = yard.enqueue_held(500).await;
    let summary = yard.work().await;
    assert_eq!((summary.succeeded, summary.failed, summary.lost), (500, 0, 0));
    let seen = yard.probe.seen();
    assert!(seen.peak <= CONCURRENCY, "{}", seen.peak);
    let mut begun = seen.begun;
    begun.sort();
    let mut jobs = jobs;
    jobs.sort();
    assert_eq!(begun, jobs, "each once");
    yard.check_invariants().await;
}

#[tokio::test]
async fn as_many_handlers_as_there_are_places_run_at_once() {
    let yard = Yard::new().await;
    yard.enqueue_held(CONCURRENCY + 2).await;
    let watching = async {
        yard.probe.until_begun(CONCURRENCY).await;
        yard.probe.release();
    };
    let (summary, ()) = tokio::join!(yard.work(), watching);
    assert_eq!(summary.succeeded, 10);
    assert_eq!(yard.probe.seen().peak, CONCURRENCY);
    yard.check_invariants().await;
}

#[tokio::test]
async fn b26_what_waits_behind_slow_handlers_is_given_back_within_a_tick_with_no_attempt_charged() {
    let yard = Yard::new().await;
    // Quick ones first, so that the batch that meets the slow ones is a large one.
    let quick: Vec<NewJob> =
        (0..64).map(|_| NewJob { priority: 1, ..NewJob::new(PROBE, json!({"done": 1})) }).collect();
    tidemark_queue::jobs::enqueue_many(&yard.pipeline.admin, &quick).await.unwrap();
    let slow = yard.enqueue_held(40).await;
    let (mut first, mut second) = (yard.pipeline.worker(), yard.pipeline.worker());
    let others = async {
        yard.probe.until_begun(64 + CONCURRENCY).await;
        let free = "SELECT (SELECT count(*) FROM tidemark.job_ready WHERE attempts = 0) = $1";
        until_true(&yard.pipeline.admin, free, &[&i64::try_from(40 - CONCURRENCY).unwrap()]).await;
        let mine = async {
            yard.probe.until_begun(64 + 2 * CONCURRENCY).await;
            yard.probe.release();
        };
        tokio::join!(yard.work_on(&mut second, invocation()), mine).0
    };
    let (one, other) = tokio::join!(yard.work_on(&mut first, invocation()), others);
    assert_eq!(one.succeeded + other.succeeded, 104);
    for job in slow {
        assert_eq!(yard.state(job).await, (Status::Done, 1, String::new()));
    }
    yard.check_invariants().await;
}

#[tokio::test]
async fn nothing_begins_that_cannot_end_before_the_deadline_and_what_was_claimed_is_given_back() {
    let yard = Yard::new().await;
    let jobs = yard.enqueue_held(CONCURRENCY + 4).await;
    // Half of what the margin leaves: nothing begins after about half a second.
    let invocation = invocation_of(Duration::from_millis(2_500));
    let mut connection = yard.pipeline.worker();
    let watching = async {
        yard.probe.until_begun(CONCURRENCY).await;
        // By then nothing may begin any more; the handlers themselves are ended at the invocation's end.
        yard.probe.until("handlers are cancelled", |seen| seen.cancelled.len() == CONCURRENCY).await;
    };
    let (summary, ()) = tokio::join!(yard.work_on(&mut connection, invocation), watching);
    assert_eq!(summary.failed, u64::try_from(CONCURRENCY).unwrap());
    assert_eq!(yard.probe.seen().begun.len(), CONCURRENCY);
    for (place, job) in jobs.into_iter().enumerate() {
        let charged = i32::from(place < CONCURRENCY);
        let (status, attempts, _text) = yard.state(job).await;
        assert_eq!((status, attempts), (Status::Pending, charged), "job {place}");
    }
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_job_that_is_suspected_of_a_death_runs_alone() {
    let yard = Yard::new().await;
    let jobs = yard.enqueue_held(3).await;
    // A worker that told what it had begun dies with two of them.
    let dead = uuid::Uuid::new_v4();
    let request =
        tidemark_queue::jobs::ClaimRequest { start: Some(2), ..tidemark_queue::jobs::ClaimRequest::new(dead, 3) };
    let claimed = tidemark_queue::jobs::claim(&yard.pipeline.database.worker().await, &request).await.unwrap();
    assert_eq!(claimed.len(), 3);
    yard.expire_leases().await;
    yard.probe.release();
    let summary = yard.work().await;
    assert_eq!((summary.recovered, summary.succeeded), (3, 3));
    let seen = yard.probe.seen();
    for suspect in &jobs[..2] {
        let place = seen.begun.iter().position(|job| job == suspect).unwrap();
        assert_eq!(seen.beside[place], 1, "{seen:?}");
    }
    for job in jobs {
        assert_eq!(yard.state(job).await, (Status::Done, 1, String::new()), "nobody was charged for the death");
    }
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_suspect_waits_for_the_handlers_that_run_and_nothing_begins_beside_it() {
    let yard = Yard::new().await;
    let worker = yard.pipeline.database.worker().await;
    let suspects = yard.enqueue_held(2).await;
    let request = tidemark_queue::jobs::ClaimRequest {
        start: Some(2),
        ..tidemark_queue::jobs::ClaimRequest::new(uuid::Uuid::new_v4(), 2)
    };
    tidemark_queue::jobs::claim(&worker, &request).await.unwrap();
    yard.expire_leases().await;
    // Better priority: these are claimed and begin first.
    for _number in 0..3 {
        yard.enqueue_job(NewJob { priority: 1, ..NewJob::new(PROBE, json!("hold")) }).await;
    }
    let watching = async {
        yard.probe.until_begun(3).await;
        let held = "SELECT EXISTS (SELECT FROM tidemark.job_lease WHERE job_ids && $1)";
        until_true(&yard.pipeline.admin, held, &[&suspects]).await;
        yard.probe.release();
    };
    let (summary, ()) = tokio::join!(yard.work(), watching);
    assert_eq!(summary.succeeded, 5);
    let seen = yard.probe.seen();
    for suspect in &suspects {
        let place = seen.begun.iter().position(|job| job == suspect).unwrap();
        assert_eq!(seen.beside[place], 1, "{seen:?}");
    }
    yard.check_invariants().await;
}

#[tokio::test]
async fn an_end_whose_answer_is_lost_is_recorded_on_a_new_connection() {
    let yard = Yard::new().await;
    let proxy = ChaosProxy::start(&yard.pipeline.database.url_for("tidemark_worker"));
    let mut connection = tidemark_queue::Connection::new(proxy.connector());
    let job = yard.enqueue(json!("hold")).await;
    let cutting = async {
        yard.probe.until_begun(1).await;
        proxy.inject(Fault::Commit { skip: 0, what: tidemark_testkit::AtCommit::CutRequest });
        yard.probe.release();
        proxy.until_struck(1).await;
    };
    let (summary, ()) = tokio::join!(yard.work_on(&mut connection, invocation()), cutting);
    assert_eq!((summary.succeeded, summary.outcome), (1, Outcome::Worked));
    assert_eq!(yard.state(job).await, (Status::Done, 1, String::new()));
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_database_that_goes_away_for_good_ends_the_invocation_quietly_and_the_jobs_come_back() {
    let yard = Yard::new().await;
    let proxy = ChaosProxy::start(&yard.pipeline.database.url_for("tidemark_worker"));
    let mut connection = tidemark_queue::Connection::new(proxy.connector());
    let job = yard.enqueue(json!("hold")).await;
    let cutting = async {
        yard.probe.until_begun(1).await;
        proxy.inject(Fault::Refuse);
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'tidemark_worker'";
        yard.pipeline.run(end, &[]).await;
        yard.probe.release();
    };
    let short = invocation_of(Duration::from_secs(4));
    let (summary, ()) = tokio::join!(yard.work_on(&mut connection, short), cutting);
    assert_eq!((summary.succeeded, summary.outcome), (0, Outcome::Unavailable));
    yard.expire_leases().await;
    let summary = yard.work().await;
    assert_eq!((summary.recovered, summary.succeeded), (1, 1));
    assert_eq!(yard.state(job).await.0, Status::Done);
    yard.check_invariants().await;
}

#[tokio::test]
async fn two_invocations_at_once_run_each_job_once() {
    let yard = Yard::new().await;
    yard.probe.release();
    let jobs = yard.enqueue_held(200).await;
    let (mut first, mut second) = (yard.pipeline.worker(), yard.pipeline.worker());
    let same = Invocation::begin(None, None, Duration::ZERO);
    let (one, other) = tokio::join!(yard.work_on(&mut first, same.clone()), yard.work_on(&mut second, same.clone()));
    assert_eq!(one.succeeded + other.succeeded, 200);
    assert_eq!(yard.probe.seen().begun.len(), jobs.len());
    yard.check_invariants().await;
}
