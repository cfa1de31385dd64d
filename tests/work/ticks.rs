//! Ticks of the work function: idle ones take one round trip; late and paused ones do nothing but take leases back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tidemark_queue::jobs::{self, NewJob, Status};
use tidemark_queue::{Connection, Invocation, Outcome};
use tidemark_testkit::SocketConnector;
use tidemark_tests::{invocation, until_true};
use uuid::Uuid;

use crate::probe::PROBE;
use crate::round_trips::RoundTrips;
use crate::yard::Yard;

/// An invocation that could linger, whose tick was planned `seconds` ago.
fn planned(seconds: i64) -> Invocation {
    let planned_at = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds);
    Invocation::begin(Some(planned_at), Some(Duration::from_secs(900)), Duration::from_secs(5))
}

#[tokio::test]
async fn an_idle_or_paused_tick_takes_one_round_trip_although_it_could_linger() {
    let yard = Yard::new().await;
    let counter = RoundTrips::listen(&yard.pipeline.database.url_for("tidemark_worker")).await;
    let mut connection = Connection::new(Arc::new(SocketConnector::new(counter.url())));
    connection.client().await.unwrap();
    for (enabled, outcome) in [("true", Outcome::Idle), ("false", Outcome::Paused)] {
        yard.pipeline.set("work_enabled", enabled).await;
        for warmth in ["first", "second"] {
            counter.reset();
            let summary = yard.work_on(&mut connection, planned(0)).await;
            assert_eq!(summary.outcome, outcome, "{summary}");
            assert_eq!(counter.count(), 1, "{warmth} tick, enabled: {enabled}");
        }
    }
    // With work there are more, or the counter counts nothing.
    yard.pipeline.set("work_enabled", "true").await;
    yard.enqueue(json!({"done": 1})).await;
    counter.reset();
    assert_eq!(yard.work_on(&mut connection, invocation()).await.succeeded, 1);
    assert_eq!(counter.count(), 5, "the tick, a claim, an end, a claim that finds nothing, the note of the end");
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_tick_planned_more_than_five_seconds_ago_is_late_and_claims_nothing() {
    let yard = Yard::new().await;
    let job = yard.enqueue(json!({"done": 1})).await;
    let mut connection = yard.pipeline.worker();
    assert_eq!(yard.work_on(&mut connection, planned(6)).await.outcome, Outcome::Late);
    assert_eq!(yard.job(job).await.status, Status::Pending);
    assert_eq!(yard.work_on(&mut connection, Invocation { linger: Duration::ZERO, ..planned(2) }).await.succeeded, 1);
    yard.check_invariants().await;
}

#[tokio::test]
async fn b62_a_paused_tick_claims_nothing_and_still_takes_expired_leases_back() {
    let yard = Yard::new().await;
    let job = yard.enqueue(json!("hold")).await;
    let running = async {
        yard.probe.until_begun(1).await;
        yard.pipeline.set("work_enabled", "false").await;
        yard.expire_leases().await;
        let summary = yard.work().await;
        assert_eq!((summary.outcome, summary.recovered), (Outcome::Worked, 1));
        assert_eq!(yard.job(job).await.status, Status::Pending);
        assert_eq!(yard.work().await.outcome, Outcome::Paused);
        yard.probe.release();
    };
    let (summary, ()) = tokio::join!(yard.work(), running);
    assert_eq!((summary.succeeded, summary.lost), (0, 1), "the first worker was too late");
    assert_eq!(yard.job(job).await.status, Status::Pending);
    yard.pipeline.set("work_enabled", "true").await;
    assert_eq!(yard.work().await.succeeded, 1);
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_tick_fires_the_schedules_that_are_due_and_runs_their_jobs_in_the_same_invocation() {
    let yard = Yard::new().await;
    yard.probe.release();
    let schedule = "INSERT INTO public.schedules (name, cron_expression, job_type, payload) VALUES ('probe', '*/5 * * * *', 100, '\"hold\"')";
    yard.pipeline.run(schedule, &[]).await;
    let planned = yard.work().await;
    assert_eq!((planned.outcome, planned.succeeded), (Outcome::Worked, 0), "it is planned, and not yet due");
    yard.pipeline
        .run("UPDATE public.schedules SET next_planned_at = clock_timestamp() WHERE name = 'probe'", &[])
        .await;
    assert_eq!(yard.work().await.succeeded, 1);
    assert_eq!(yard.work().await.outcome, Outcome::Idle);
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_tick_that_worked_is_noted_with_its_outcome() {
    let yard = Yard::new().await;
    yard.enqueue(json!({"done": 1})).await;
    yard.work().await;
    let query = "SELECT last_outcome FROM tidemark.ticks WHERE function_name = 'work'";
    assert_eq!(yard.pipeline.one(query, &[]).await.get::<_, String>(0), "worked");
}

#[tokio::test]
async fn an_invocation_lingers_for_jobs_that_come_while_it_works() {
    let yard = Yard::new().await;
    yard.enqueue(json!({"done": 1})).await;
    let mut connection = yard.pipeline.worker();
    let lingering = Invocation::begin(None, None, Duration::from_secs(3));
    let later = async {
        yard.probe.until_begun(1).await;
        until_true(&yard.pipeline.admin, "SELECT EXISTS (SELECT FROM tidemark.job_finished)", &[]).await;
        yard.enqueue(json!({"done": 2})).await;
    };
    let (summary, ()) = tokio::join!(yard.work_on(&mut connection, lingering), later);
    assert_eq!(summary.succeeded, 2);
    yard.check_invariants().await;
}

#[tokio::test]
async fn an_invocation_that_works_on_and_on_notices_a_pause_and_takes_leases_back_meanwhile() {
    let yard = Yard::new().await;
    let long = yard.enqueue(json!("hold")).await;
    let mut connection = yard.pipeline.worker();
    let meanwhile = async {
        yard.probe.until_begun(1).await;
        // Somebody else's job, whose worker is gone: no other invocation is there to take it back.
        let orphan = yard.enqueue_job(NewJob { priority: 1, ..NewJob::new(PROBE, json!({"done": 1})) }).await;
        let worker = yard.pipeline.database.worker().await;
        jobs::claim(&worker, &jobs::ClaimRequest::new(Uuid::new_v4(), 1)).await.unwrap();
        let expire = "UPDATE tidemark.job_lease SET lease_until = clock_timestamp() WHERE $1 = ANY (job_ids)";
        yard.pipeline.run(expire, &[&orphan]).await;
        yard.probe.until("the orphan has run", |seen| seen.begun.contains(&orphan)).await;
        yard.pipeline.set("work_enabled", "false").await;
        // Noticed within five seconds; from then on nothing is claimed, however long the other handler takes.
        let noticed = "SELECT last_outcome = 'paused' FROM tidemark.ticks WHERE function_name = 'work'";
        until_true(&yard.pipeline.admin, noticed, &[]).await;
        yard.probe.release();
        yard.enqueue(json!({"done": 2})).await
    };
    let (summary, late) =
        tokio::join!(yard.work_on(&mut connection, Invocation::begin(None, None, Duration::ZERO)), meanwhile);
    assert_eq!(yard.job(long).await.status, Status::Done);
    assert_eq!(yard.job(late).await.status, Status::Pending);
    assert!(summary.succeeded <= 2, "{summary}");
    yard.check_invariants().await;
}
