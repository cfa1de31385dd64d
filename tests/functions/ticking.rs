//! Ticks as the platform gives them: in order, late, twice, overlapping, to a frozen environment, with a short deadline.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tidemark_testkit::{ChaosProxy, Fault, InvocationError};
use tidemark_tests::{Pipeline, until_true};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::environments::{Environments, LIMIT, TICKING, stale, start};

const STARTED: &str = "2026-07-19T17:30:00+02:00";

async fn save(pipeline: &Pipeline) -> Uuid {
    let user = Uuid::new_v4();
    pipeline.save(user, STARTED, "Bench Press", &[(100.0, 5), (80.0, 8)]).await;
    user
}

async fn volume(pipeline: &Pipeline, user: Uuid) -> Option<String> {
    let query = "SELECT (SELECT total_volume_kg::text FROM public.user_stats_summary WHERE user_id = $1)";
    pipeline.one(query, &[&user]).await.get(0)
}

/// Stops compute while it reads, until the connection is closed or rolled back.
async fn hold_source(pipeline: &Pipeline) -> Client {
    let holder = pipeline.database.admin().await;
    holder.batch_execute("BEGIN; LOCK TABLE public.workout_sets IN ACCESS EXCLUSIVE MODE").await.unwrap();
    holder
}

#[tokio::test]
async fn one_tick_of_the_three_functions_brings_a_save_to_its_figures() {
    let pipeline = Pipeline::new().await;
    let environments = Environments::start(&pipeline).await;
    let user = save(&pipeline).await;
    assert_eq!(environments.refresh(&pipeline).await, [1, 1, 1]);
    assert_eq!(volume(&pipeline, user).await.as_deref(), Some("1140"));
    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!(requested, applied);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_tick_with_nothing_to_do_is_answered_at_once_by_each_function() {
    let pipeline = Pipeline::new().await;
    let environments = Environments::start(&pipeline).await;
    for answer in environments.tick(&json!({"planned_at": Timestamp::now().to_string()})).await {
        let answer = answer.unwrap();
        assert_eq!(answer["outcome"], "idle", "{answer}");
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_first_tick_of_a_minute_writes_the_figures_for_cloudwatch_and_no_other_does() {
    let pipeline = Pipeline::new().await;
    save(&pipeline).await;
    let claim = start("claim", &pipeline).await;
    let minute = Timestamp::now().as_second() / 60 * 60 + 60;
    let is_figures = |line: &str| line.contains("CloudWatchMetrics");
    for (second, told) in [(1, 0), (0, 1), (59, 1)] {
        let planned_at = Timestamp::from_second(minute + second).unwrap();
        claim.invoke(json!({"planned_at": planned_at.to_string()}), LIMIT).await.unwrap();
        if told > 0 {
            claim.wait_for_log(LIMIT, is_figures).await.unwrap();
        }
        assert_eq!(claim.logs().iter().filter(|line| is_figures(line)).count(), told, "second {second}");
    }
    let line = claim.wait_for_log(LIMIT, is_figures).await.unwrap();
    let figures: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&figures["StaleUsers"], &figures["_aws"]["Timestamp"]), (&json!(1), &json!(minute * 1_000)), "{line}");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_tick_that_was_planned_too_long_ago_does_nothing_and_says_late() {
    let mut pipeline = Pipeline::new().await;
    let environments = Environments::start(&pipeline).await;
    let user = save(&pipeline).await;
    let late = json!({"planned_at": (Timestamp::now() - SignedDuration::from_secs(10)).to_string()});
    // Each function has something to do when its late tick comes.
    for (place, name) in TICKING.into_iter().enumerate() {
        let answer = environments.tick(&late).await[place].clone().unwrap();
        assert_eq!((&answer["outcome"], &answer["succeeded"]), (&json!("late"), &json!(0)), "{name}");
        match name {
            "claim" => assert_eq!(pipeline.claim().await.succeeded, 1, "nobody had claimed"),
            "compute" => assert_eq!(pipeline.compute().await.succeeded, 1, "nobody had computed"),
            _ => assert_eq!(pipeline.publish().await.succeeded, 1, "nobody had published"),
        }
    }
    assert_eq!(volume(&pipeline, user).await.as_deref(), Some("1140"));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_tick_that_waited_in_the_platforms_queue_is_late_without_a_look_at_the_database() {
    // Nobody answers there: whoever looked would say `unavailable`.
    let environments = Environments::start_on("postgres://user@127.0.0.1:1/app").await;
    let planned = |seconds: i64| (Timestamp::now() - SignedDuration::from_secs(seconds)).to_string();
    for event in [
        json!({"planned_at": planned(10)}),
        json!({"planned_at": planned(60), "shard": "main"}),
        json!({"version": "2.0", "body": json!({"planned_at": planned(30)}).to_string()}),
    ] {
        for answer in environments.tick(&event).await {
            assert_eq!(answer.unwrap()["outcome"], "late", "{event}");
        }
    }
    // Older than the platform keeps an event: the function's own clock is wrong, and the database's decides.
    for event in [json!({"planned_at": planned(3_600)}), json!({"planned_at": planned(-3_600)}), json!({})] {
        for answer in environments.tick(&event).await {
            assert_eq!(answer.unwrap()["outcome"], "unavailable", "{event}");
        }
    }
}

#[tokio::test]
async fn a_paused_function_does_nothing_from_the_next_tick_on_and_goes_on_when_resumed() {
    let pipeline = Pipeline::new().await;
    let environments = Environments::start(&pipeline).await;
    for answer in environments.tick(&json!({})).await {
        assert_eq!(answer.unwrap()["outcome"], "idle");
    }
    pipeline.set("compute_enabled", "false").await;
    save(&pipeline).await;
    let [claim, compute, publish] = environments.tick(&json!({})).await;
    assert_eq!(claim.unwrap()["succeeded"], 1);
    assert_eq!(compute.unwrap()["outcome"], "paused");
    assert_eq!(publish.unwrap()["succeeded"], 0);
    pipeline.set("compute_enabled", "true").await;
    assert_eq!(environments.refresh(&pipeline).await, [0, 1, 1]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn duplicate_and_overlapping_ticks_take_each_user_once_and_never_more_than_max_active() {
    let pipeline = Pipeline::new().await;
    let sets = [Environments::start(&pipeline).await, Environments::start(&pipeline).await];
    const USERS: u64 = 12;
    for _user in 0..USERS {
        save(&pipeline).await;
    }
    let (one, two) = tokio::join!(sets[0].refresh(&pipeline), sets[1].refresh(&pipeline));
    for (one, two) in one.into_iter().zip(two) {
        assert_eq!(one + two, USERS, "each function took each user once");
    }
    // Counted from the runs themselves: how many were live when each was claimed.
    let most = "SELECT max((SELECT count(*) FROM public.user_stats_projection_runs AS other
                    WHERE other.claimed_at <= run.claimed_at AND other.published_at > run.claimed_at))
                FROM public.user_stats_projection_runs AS run";
    let (most, allowed): (i64, i32) = (
        pipeline.one(most, &[]).await.get(0),
        pipeline.one("SELECT max_active FROM public.stats_projection_worker_settings", &[]).await.get(0),
    );
    assert!(most <= i64::from(allowed), "{most} live at once, {allowed} allowed");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_frozen_environment_whose_connection_was_ended_meanwhile_serves_the_tick_that_thaws_it() {
    /// Longer than an environment trusts a resting connection without trying it.
    const REST: Duration = Duration::from_millis(1_600);
    let pipeline = Pipeline::new().await;
    let environments = Environments::start(&pipeline).await;
    save(&pipeline).await;
    environments.refresh(&pipeline).await;
    for simulator in [&environments.claim, &environments.compute, &environments.publish] {
        simulator.freeze();
    }
    let kill = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name IN ('tidemark-claim', 'tidemark-compute', 'tidemark-publish')";
    assert_eq!(pipeline.one(kill, &[]).await.get::<_, i64>(0), 3);
    // Not a wait for anything: the length of the rest is what is tested.
    tokio::time::sleep(REST).await;
    let user = save(&pipeline).await;
    for simulator in [&environments.claim, &environments.compute, &environments.publish] {
        let answer = simulator.invoke(json!({}), LIMIT).await.unwrap();
        assert_eq!(answer["succeeded"], 1, "{answer}");
    }
    assert_eq!(volume(&pipeline, user).await.as_deref(), Some("1140"));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_step_that_would_outlast_the_deadline_is_ended_and_recorded_before_the_kill() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("backoff_seconds", "0").await;
    let user = save(&pipeline).await;
    pipeline.claim().await;
    let compute = start("compute", &pipeline).await;
    let holder = hold_source(&pipeline).await;
    let answer = compute.invoke(json!({}), Duration::from_secs(3)).await.unwrap();
    assert_eq!((&answer["failed"], &answer["error_code"]), (&json!(1), &json!("57014")), "{answer}");
    drop(holder);
    pipeline.refresh().await;
    assert_eq!(volume(&pipeline, user).await.as_deref(), Some("1140"));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_function_killed_at_its_deadline_is_recovered_and_starts_anew() {
    let mut pipeline = Pipeline::new().await;
    let user = save(&pipeline).await;
    pipeline.claim().await;
    let compute = start("compute", &pipeline).await;
    let holder = hold_source(&pipeline).await;
    let starving = async {
        let blocked = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                       AND application_name = 'tidemark-compute' AND wait_event_type = 'Lock')";
        until_true(&pipeline.admin, blocked, &[]).await;
        // Without a processor it cannot end its step in time by itself.
        compute.freeze();
    };
    let (answer, ()) = tokio::join!(compute.invoke(json!({}), Duration::from_millis(2_500)), starving);
    assert_eq!(answer, Err(InvocationError::DeadlineExceeded));
    let gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                AND application_name = 'tidemark-compute')";
    until_true(&pipeline.admin, gone, &[]).await;
    drop(holder);
    let expire =
        "UPDATE public.user_stats_projection_runs SET lease_expires_at = clock_timestamp() - interval '1 second'";
    pipeline.run(expire, &[]).await;
    assert_eq!(pipeline.claim().await.recovered, 1);
    assert_eq!(compute.invoke(json!({}), LIMIT).await.unwrap()["succeeded"], 1, "a new process serves the next tick");
    assert_eq!(pipeline.publish().await.succeeded, 1);
    assert_eq!(volume(&pipeline, user).await.as_deref(), Some("1140"));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_unreachable_database_ends_ticks_quietly_and_no_process() {
    let pipeline = Pipeline::new().await;
    let proxy = ChaosProxy::start(&pipeline.database.url_for("tidemark_worker"));
    let environments = Environments::start_on(&proxy.url()).await;
    proxy.inject(Fault::Refuse);
    let user = save(&pipeline).await;
    for answer in environments.tick(&json!({})).await {
        let answer = answer.unwrap();
        assert_eq!((&answer["outcome"], &answer["succeeded"]), (&json!("unavailable"), &json!(0)), "{answer}");
    }
    let before: Vec<_> =
        [&environments.claim, &environments.compute, &environments.publish].map(|one| one.process_id()).into();
    proxy.inject(Fault::None);
    assert_eq!(environments.refresh(&pipeline).await, [1, 1, 1]);
    let after: Vec<_> =
        [&environments.claim, &environments.compute, &environments.publish].map(|one| one.process_id()).into();
    assert_eq!(before, after, "the same processes serve on");
    assert_eq!(volume(&pipeline, user).await.as_deref(), Some("1140"));
    assert_eq!(stale(&pipeline).await, 0);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_schema_of_another_release_ends_each_tick_as_failed_and_the_log_says_who_is_older_and_what_to_do() {
    let pipeline = Pipeline::new().await;
    let user = save(&pipeline).await;
    let version = tidemark_migrations::latest_version();
    let rename = "UPDATE tidemark.schema_migrations SET version = version + $1 WHERE version = $2";
    // Newer by far, and it speaks to its own release only.
    pipeline.run(rename, &[&100, &version]).await;
    let minimum = format!(
        "CREATE OR REPLACE FUNCTION tidemark.minimum_function_version() RETURNS integer
        LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT {}'",
        version + 100
    );
    pipeline.admin.batch_execute(&minimum).await.unwrap();
    let environments = Environments::start(&pipeline).await;
    let simulators = [&environments.claim, &environments.compute, &environments.publish];
    let check = async |words: &'static str, next: &'static str| {
        for answer in environments.tick(&json!({})).await {
            let answer = answer.unwrap();
            assert_eq!(
                (&answer["outcome"], &answer["error_code"]),
                (&json!("failed"), &json!("schema_mismatch")),
                "{answer}"
            );
        }
        for simulator in simulators {
            let line = simulator.wait_for_log(LIMIT, |line| line.contains(words)).await.unwrap();
            assert!(line.contains(next) && line.contains("ERROR"), "{line}");
        }
    };
    check("this build is older than the schema", "deploy the release that the schema was migrated with").await;
    // Older by one.
    pipeline.run("DELETE FROM tidemark.schema_migrations WHERE version > $1", &[&version]).await;
    check("the schema is older than this build", "tidemark migrate").await;
    assert!(pipeline.runs(user).await.is_empty());
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn b39_a_terminated_function_ends_its_invocation_before_it_goes() {
    let mut pipeline = Pipeline::new().await;
    let user = save(&pipeline).await;
    pipeline.claim().await;
    let compute = start("compute", &pipeline).await;
    let holder = hold_source(&pipeline).await;
    let terminating = async {
        let blocked = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                       AND application_name = 'tidemark-compute' AND wait_event_type = 'Lock')";
        until_true(&pipeline.admin, blocked, &[]).await;
        compute.terminate();
        holder.batch_execute("ROLLBACK").await.unwrap();
    };
    let (answer, ()) = tokio::join!(compute.invoke(json!({}), LIMIT), terminating);
    assert_eq!(answer.unwrap()["succeeded"], 1);
    assert_eq!(compute.ended().await.unwrap().code(), Some(0));
    pipeline.publish().await;
    assert_eq!(volume(&pipeline, user).await.as_deref(), Some("1140"));
    pipeline.check_invariants().await;
}
