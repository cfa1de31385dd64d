//! Ticks: idle ones take one round trip and leave next to nothing; late ones do nothing.

use std::time::Duration;

use tidemark_projection::{compute, publish};
use tidemark_queue::{Connection, Function, Invocation, Outcome, Summary, claim};
use tidemark_testkit::SocketConnector;
use tidemark_tests::{Pipeline, invocation};

use crate::round_trips::RoundTrips;
use crate::saved_user;

async fn tick(function: Function, connection: &mut Connection, invocation: &Invocation) -> Summary {
    match function {
        Function::Claim => claim::handle(connection, invocation).await,
        Function::Compute => compute::handle(connection, invocation).await,
        Function::Publish => publish::handle(connection, invocation).await,
        Function::Work => unreachable!("these tests drive the pipeline"),
    }
}

/// An invocation whose tick was planned `seconds` ago.
fn planned(seconds: i64) -> Invocation {
    let planned_at = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds);
    Invocation::begin(Some(planned_at), Some(Duration::from_secs(900)), Duration::from_secs(5))
}

#[tokio::test]
async fn an_idle_or_paused_tick_takes_one_round_trip_although_it_could_linger() {
    let mut pipeline = Pipeline::new().await;
    let counter = RoundTrips::listen(&pipeline.database.url_for("tidemark_worker")).await;
    for paused in [false, true] {
        for function in Function::ALL {
            let mut connection = Connection::new(std::sync::Arc::new(SocketConnector::new(counter.url())));
            connection.client().await.expect("the proxy lets it through");
            for warmth in ["first", "second"] {
                counter.reset();
                let summary = tick(function, &mut connection, &planned(0)).await;
                assert_eq!(summary.outcome, if paused { Outcome::Paused } else { Outcome::Idle }, "{function}");
                assert_eq!(counter.count(), 1, "{warmth} tick of {function}, paused: {paused}");
            }
        }
        pipeline.set("claim_enabled", "false, compute_enabled = false, publish_enabled = false").await;
    }
    // With work there are more, or the counter counts nothing.
    pipeline.set("claim_enabled", "true, compute_enabled = true, publish_enabled = true").await;
    saved_user(&pipeline).await;
    let mut connection = Connection::new(std::sync::Arc::new(SocketConnector::new(counter.url())));
    connection.client().await.expect("the proxy lets it through");
    counter.reset();
    assert_eq!(tick(Function::Claim, &mut connection, &invocation()).await.succeeded, 1);
    assert_eq!(counter.count(), 2, "one pass and the note of its end");
    pipeline.compute().await;
    pipeline.publish().await;
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_idle_tick_is_noted_at_most_every_five_seconds() {
    let mut pipeline = Pipeline::new().await;
    let places = "SELECT array_agg(function_name || ctid::text ORDER BY function_name) FROM tidemark.ticks";
    let ago = |seconds: i32| {
        format!("UPDATE tidemark.ticks SET last_started_at = clock_timestamp() - interval '{seconds} seconds'")
    };
    pipeline.claim().await;
    pipeline.compute().await;
    pipeline.publish().await;

    pipeline.run(&ago(3), &[]).await;
    let before: Vec<String> = pipeline.one(places, &[]).await.get(0);
    pipeline.claim().await;
    pipeline.compute().await;
    pipeline.publish().await;
    assert_eq!(pipeline.one(places, &[]).await.get::<_, Vec<String>>(0), before, "noted three seconds ago");

    pipeline.run(&ago(6), &[]).await;
    pipeline.claim().await;
    pipeline.compute().await;
    pipeline.publish().await;
    let fresh = "SELECT count(*) FROM tidemark.ticks WHERE last_started_at > clock_timestamp() - interval '3 seconds'
        AND last_ended_at > clock_timestamp() - interval '3 seconds' AND last_outcome = 'idle'";
    assert_eq!(pipeline.one(fresh, &[]).await.get::<_, i64>(0), 3);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_tick_that_worked_is_noted_with_its_outcome() {
    let mut pipeline = Pipeline::new().await;
    saved_user(&pipeline).await;
    pipeline.refresh().await;
    let query = "SELECT last_outcome FROM tidemark.ticks WHERE function_name = $1";
    for function in ["compute", "publish"] {
        assert_eq!(pipeline.one(query, &[&function]).await.get::<_, String>(0), "worked", "{function}");
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_tick_planned_more_than_five_seconds_ago_is_late_and_does_nothing() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    for (function, phase) in
        [(Function::Claim, None), (Function::Compute, Some("claimed")), (Function::Publish, Some("computed"))]
    {
        let mut connection = pipeline.worker();
        let summary = tick(function, &mut connection, &planned(6)).await;
        assert_eq!((summary.outcome, summary.succeeded), (Outcome::Late, 0), "{function}");
        let run = pipeline.runs(user).await.pop();
        assert_eq!(run.as_ref().map(|run| run.phase.as_str()), phase, "{function}");
        assert_eq!(tick(function, &mut connection, &planned(2)).await.succeeded, 1, "{function}");
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_tick_from_a_clock_that_runs_ahead_is_not_late() {
    let pipeline = Pipeline::new().await;
    saved_user(&pipeline).await;
    assert_eq!(claim::handle(&mut pipeline.worker(), &planned(-600)).await.succeeded, 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn b61_a_tick_that_comes_twice_does_its_work_once() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let same = planned(0);
    let (mut first, mut second) = (pipeline.worker(), pipeline.worker());
    for function in Function::ALL {
        let (one, other) = tokio::join!(tick(function, &mut first, &same), tick(function, &mut second, &same));
        assert_eq!(one.succeeded + other.succeeded, 1, "{function}");
    }
    assert_eq!(pipeline.runs(user).await.len(), 1);
    assert_eq!(pipeline.claim().await.succeeded, 0);
    pipeline.check_invariants().await;
}
