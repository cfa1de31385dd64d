//! Leases while handlers work: renewed on a connection of their own; lost ones end the work.

use std::time::Duration;

use serde_json::json;
use tidemark_queue::jobs::{self, Cancelled, NewJob, Status};
use tidemark_queue::{Connection, Outcome};
use tidemark_testkit::{ChaosProxy, Fault};
use tidemark_tests::{invocation, until_true};

use crate::probe::PROBE;
use crate::yard::Yard;

/// A yard with the shortest leases that the settings allow: three seconds.
async fn with_short_leases() -> Yard {
    let yard = Yard::new().await;
    yard.pipeline.set("job_lease_seconds", "3").await;
    yard
}

#[tokio::test]
async fn a_handler_that_outlasts_its_lease_keeps_it_by_renewals_and_runs_once() {
    let yard = with_short_leases().await;
    let job = yard.enqueue(json!("hold")).await;
    let watching = async {
        yard.probe.until_begun(1).await;
        // Claimed more than one lease ago, and the lease lives: a third of the time would do, were it not renewed.
        let renewed = "SELECT EXISTS (SELECT FROM tidemark.job_lease
            WHERE clock_timestamp() > claimed_at + interval '3.5 seconds' AND lease_until > clock_timestamp() + interval '1.5 seconds')";
        until_true(&yard.pipeline.admin, renewed, &[]).await;
        assert_eq!(yard.work().await.outcome, Outcome::Idle, "nothing to take back");
        let apart =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'tidemark_worker'";
        let sessions: i64 = yard.pipeline.one(apart, &[]).await.get(0);
        assert!(sessions >= 2, "the heartbeat has a connection of its own");
        yard.probe.release();
    };
    let (summary, ()) = tokio::join!(yard.work(), watching);
    assert_eq!((summary.succeeded, summary.lost), (1, 0));
    assert_eq!(yard.probe.seen().begun, [job]);
    assert_eq!(yard.job(job).await.attempts, 1);
    yard.check_invariants().await;
}

#[tokio::test]
async fn b33_a_worker_whose_renewals_fail_cancels_its_handlers_writes_nothing_and_claims_nothing_more() {
    let yard = with_short_leases().await;
    let proxy = ChaosProxy::start(&yard.pipeline.database.url_for("tidemark_worker"));
    let mut connection = Connection::new(proxy.connector());
    let job = yard.enqueue(json!("hold")).await;
    let watching = async {
        yard.probe.until_begun(1).await;
        // The connection that stands goes on; the heartbeat cannot open its own, which it finds after a third of the lease.
        proxy.inject(Fault::Refuse);
        let due_later = NewJob { delay: Duration::from_millis(1_500), ..NewJob::new(PROBE, json!("hold")) };
        let later = yard.enqueue_job(due_later).await;
        yard.probe.until("the handler is cancelled", |seen| seen.cancelled == [job]).await;
        let alive = "SELECT lease_until > clock_timestamp() FROM tidemark.job_lease WHERE $1 = ANY (job_ids)";
        assert!(
            yard.pipeline.one(alive, &[&job]).await.get::<_, bool>(0),
            "it stopped before anybody else could have it"
        );
        later
    };
    let (summary, later) = tokio::join!(yard.work_on(&mut connection, invocation()), watching);
    assert_eq!((summary.succeeded, summary.lost), (0, 1));
    assert_eq!(yard.state(job).await, (Status::Running, 1, String::new()), "nothing was written");
    assert_eq!(yard.probe.seen().begun, [job], "what came due meanwhile is left to others");
    yard.expire_leases().await;
    yard.probe.release();
    yard.work().await;
    yard.make_due().await;
    yard.work().await;
    assert_eq!(yard.job(job).await.status, Status::Done);
    assert_eq!(yard.job(later).await.status, Status::Done);
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_worker_whose_lease_was_taken_cancels_its_handler_and_the_other_attempt_stands() {
    let yard = with_short_leases().await;
    let job = yard.enqueue(json!("hold")).await;
    let (mut first, mut second) = (yard.pipeline.worker(), yard.pipeline.worker());
    let taking = async {
        yard.probe.until_begun(1).await;
        yard.expire_leases().await;
        let cancelling = async {
            yard.probe
                .until("the first handler is cancelled", |seen| seen.begun.len() == 2 && !seen.cancelled.is_empty())
                .await;
            yard.probe.release();
        };
        let (summary, ()) = tokio::join!(yard.work_on(&mut second, invocation()), cancelling);
        summary
    };
    let (zombie, other) = tokio::join!(yard.work_on(&mut first, invocation()), taking);
    assert_eq!((zombie.succeeded, zombie.lost), (0, 1));
    assert_eq!((other.succeeded, other.recovered), (1, 1));
    assert_eq!(yard.state(job).await.0, Status::Done);
    assert_eq!(yard.job(job).await.attempts, 2);
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_cancelled_job_is_stopped_at_the_next_renewal_and_dead_without_an_alert() {
    let yard = with_short_leases().await;
    let job = yard.enqueue(json!("hold")).await;
    let cancelling = async {
        yard.probe.until_begun(1).await;
        assert_eq!(jobs::cancel(&yard.pipeline.admin, job).await.unwrap(), Cancelled::Requested);
        yard.probe.until("the handler is cancelled", |seen| seen.cancelled == [job]).await;
    };
    let (summary, ()) = tokio::join!(yard.work(), cancelling);
    assert_eq!(summary.succeeded, 0);
    assert_eq!(yard.job(job).await.status, Status::Dead);
    assert_eq!(yard.job(job).await.error_code.as_deref(), Some("cancelled"));
    assert_eq!(yard.open_alerts("job_dead").await, (0, 0));
    yard.check_invariants().await;
}

#[tokio::test]
async fn progress_is_stored_while_the_lease_lives_and_refused_when_it_is_lost() {
    let yard = Yard::new().await;
    let job = yard.enqueue(json!("hold_between_progress")).await;
    let taking = async {
        let stored = "SELECT EXISTS (SELECT FROM tidemark.job_note WHERE progress = '{\"step\": 1}')";
        until_true(&yard.pipeline.admin, stored, &[]).await;
        yard.expire_leases().await;
        yard.probe.release();
    };
    let (_summary, ()) = tokio::join!(yard.work(), taking);
    let progress = yard.job(job).await.progress.map(|progress| progress.value().unwrap());
    assert_eq!(progress, Some(json!({"step": 1})));
    yard.check_invariants().await;
}

#[tokio::test]
async fn an_invocation_without_long_handlers_needs_one_connection() {
    let yard = Yard::new().await;
    let proxy = ChaosProxy::start(&yard.pipeline.database.url_for("tidemark_worker"));
    let mut connection = Connection::new(proxy.connector());
    connection.client().await.unwrap();
    proxy.inject(Fault::Refuse);
    for _number in 0..20 {
        yard.enqueue(json!({"done": 1})).await;
    }
    let summary = yard.work_on(&mut connection, invocation()).await;
    assert_eq!((summary.succeeded, summary.outcome), (20, Outcome::Worked));
    assert!(Duration::from_millis(summary.elapsed_ms) < Duration::from_secs(5));
    yard.check_invariants().await;
}
