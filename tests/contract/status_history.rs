//! The last hour by the minute, and what the page shows beside the status document.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tidemark_tests::Pipeline;
use tokio_postgres::types::Json;

use crate::{EVENING, saved_user};

/// A minute that is over.
fn minute() -> Timestamp {
    "2026-07-19T17:30:00Z".parse().unwrap()
}

async fn write(pipeline: &Pipeline, minute: Timestamp) -> Value {
    pipeline.one("SELECT tidemark.status_history_write($1)", &[&minute]).await;
    let query = "SELECT to_jsonb(history) FROM tidemark.status_history AS history WHERE minute = $1";
    pipeline.one(query, &[&minute]).await.get::<_, Json<Value>>(0).0
}

async fn minutes(pipeline: &Pipeline) -> Vec<Timestamp> {
    let query = "SELECT coalesce(array_agg(minute ORDER BY minute), '{}') FROM tidemark.status_history";
    pipeline.one(query, &[]).await.get(0)
}

async fn dashboard(pipeline: &Pipeline) -> Value {
    pipeline.one("SELECT tidemark.dashboard_v1()", &[]).await.get::<_, Json<Value>>(0).0
}

#[tokio::test]
async fn a_tick_of_claim_keeps_each_minute_once() {
    let mut pipeline = Pipeline::new().await;
    let again = "UPDATE tidemark.ticks SET last_started_at = clock_timestamp() - interval '6 seconds'";
    pipeline.compute().await;
    pipeline.publish().await;
    assert_eq!(minutes(&pipeline).await, [], "only claim writes");
    pipeline.claim().await;
    let first = minutes(&pipeline).await;
    let [kept] = first[..] else { panic!("one row, not {first:?}") };
    let age = Timestamp::now().duration_since(kept).as_secs();
    assert!((70..140).contains(&age) && kept.as_second() % 60 == 0, "over for ten seconds at least: {age} s");
    pipeline.run("UPDATE tidemark.status_history SET published = 777", &[]).await;
    // Also where the function is paused: what waits goes on to be seen.
    pipeline.set("claim_enabled", "false").await;
    for _tick in 0..3 {
        pipeline.run(again, &[]).await;
        pipeline.claim().await;
    }
    let rows = minutes(&pipeline).await;
    assert!(rows[0] == kept && rows.windows(2).all(|pair| pair[1].duration_since(pair[0]).as_secs() == 60), "{rows:?}");
    let kept = pipeline.one("SELECT published FROM tidemark.status_history ORDER BY minute LIMIT 1", &[]).await;
    assert_eq!(kept.get::<_, i32>(0), 777, "the same minute is never written again");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_row_counts_what_ended_in_its_minute_and_what_stands_now() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_attempts", "1").await;
    for _user in 0..3 {
        saved_user(&pipeline).await;
    }
    pipeline.refresh().await;
    // The first moment of the minute, its last, and the first of the next one.
    let places = [(0, 40, 4, 100), (59_999, 60, 6, 200), (60_000, 9000, 900, 9999)];
    for (number, (after_ms, compute_ms, publish_ms, lease_ms)) in (1_i64..).zip(places) {
        let published_at = minute() + SignedDuration::from_millis(after_ms);
        let claimed_at = published_at - SignedDuration::from_millis(lease_ms);
        let statement = "UPDATE public.user_stats_projection_runs
            SET published_at = $2, claimed_at = $3, compute_ms = $4, publish_ms = $5 WHERE id = $1";
        pipeline.run(statement, &[&number, &published_at, &claimed_at, &compute_ms, &publish_ms]).await;
    }
    let failing = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.run(FAIL, &[&failing]).await;
    let failed = "UPDATE public.user_stats_projection_runs SET failed_at = $1 WHERE phase = 'failed'";
    pipeline.run(failed, &[&minute()]).await;
    saved_user(&pipeline).await;

    let row = write(&pipeline, minute()).await;
    for (name, figure) in [
        ("published", 2),
        ("compute_ms", 60),
        ("publish_ms", 6),
        ("lease_ms", 200),
        ("failed", 1),
        ("stale_users", 2),
        ("waiting_users", 1),
        ("jobs_dead", 0),
        ("jobs_due", 0),
    ] {
        assert_eq!(row[name], figure, "{name}: {row}");
    }
    assert!(row["oldest_seconds"].as_i64().is_some_and(|seconds| seconds < 60), "{row}");
    let empty = write(&pipeline, minute() - SignedDuration::from_mins(9)).await;
    assert_eq!((&empty["published"], &empty["compute_ms"]), (&json!(0), &json!(null)), "nothing was published");
}

/// Fails the live run of a user for good, with a message that is no markup.
const FAIL: &str = "SELECT tidemark.run_fail_v1(run.id, run.attempt, run.lease_token, '23503', '<b>gone</b>')
    FROM public.user_stats_projection_runs AS run WHERE run.user_id = $1 AND run.phase = 'claimed'";

#[tokio::test]
async fn rows_go_after_a_day_and_rows_of_a_clock_that_ran_ahead_at_once() {
    let pipeline = Pipeline::new().await;
    let day = SignedDuration::from_hours(24);
    let hour = SignedDuration::from_hours(1);
    for at in [minute() - day - hour, minute() - day, minute() - hour] {
        write(&pipeline, at).await;
    }
    pipeline
        .run(
            "INSERT INTO tidemark.status_history SELECT minute + interval '9 days', 0, 0, 0, 0, 0, 0, 0, 0
        FROM tidemark.status_history LIMIT 1",
            &[],
        )
        .await;
    write(&pipeline, minute()).await;
    assert_eq!(minutes(&pipeline).await, [minute() - day, minute() - hour, minute()]);
}

#[tokio::test]
async fn what_failed_for_good_stands_beside_the_last_hour() {
    let mut pipeline = Pipeline::new().await;
    let empty = json!({"history": [], "failed_refreshes": [], "dead_jobs": [], "alerts": []});
    assert_eq!(dashboard(&pipeline).await, empty);
    pipeline.set("max_attempts", "1").await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.run(FAIL, &[&user]).await;
    let shown = dashboard(&pipeline).await;
    let failed = &shown["failed_refreshes"][0];
    assert_eq!(
        (&failed["user_id"], &failed["error_code"], &failed["error_message"], &failed["attempts"]),
        (&json!(user.to_string()), &json!("23503"), &json!("<b>gone</b>"), &json!(1))
    );
    assert_eq!(shown["alerts"][0]["kind"], "refresh_exhausted");
    assert_eq!(shown["history"].as_array().map(Vec::len), Some(1), "{shown}");
    // Absorbed by a later success it is no trouble any more.
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    pipeline.refresh().await;
    let shown = dashboard(&pipeline).await;
    assert_eq!((&shown["failed_refreshes"], &shown["alerts"]), (&json!([]), &json!([])));
}
