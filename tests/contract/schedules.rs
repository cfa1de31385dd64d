//! Recurring jobs: each planned instant enqueues one job, in the schedule's own zone, whatever the session's.

use std::sync::Arc;

use jiff::civil::date;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tidemark_queue::Connection;
use tidemark_queue::schedule::{self, Fired, Timetable};
use tidemark_testkit::SocketConnector;
use tidemark_tests::{Pipeline, invocation};
use tokio_postgres::Client;
use tokio_postgres::types::{Json, Type};

use crate::refusal;
use crate::round_trips::RoundTrips;

const CHECK_VIOLATION: &str = "23514";
const INVALID_PARAMETER: &str = "22023";

const FIRE: &str = "SELECT tidemark.schedule_fire_v1($1, $2, $3, $4, $5)";
const PLAN: &str = "SELECT tidemark.schedule_plan_v1($1, $2, $3, $4)";
const REFUSE: &str = "SELECT tidemark.schedule_refuse_v1($1, $2, $3, $4)";

/// One planned, one fired and so on; nothing else.
const NOTHING: Fired = Fired { fired: 0, planned: 0, refused: 0, lost: 0, failed: 0 };
const ONE_FIRED: Fired = Fired { fired: 1, ..NOTHING };
const ONE_PLANNED: Fired = Fired { planned: 1, ..NOTHING };

/// A database without the schedule that every installation has.
async fn without_schedules() -> Pipeline {
    let pipeline = Pipeline::new().await;
    assert_eq!(pipeline.run("DELETE FROM public.schedules", &[]).await, 1);
    pipeline
}

/// One more schedule, as an operator inserts it.
async fn add(pipeline: &Pipeline, name: &str, cron_expression: &str, time_zone: &str) {
    let statement = "INSERT INTO public.schedules (name, cron_expression, time_zone, job_type) VALUES ($1, $2, $3, 3)";
    pipeline.run(statement, &[&name, &cron_expression, &time_zone]).await;
}

async fn tick(pipeline: &Pipeline) -> Fired {
    schedule::run(&mut pipeline.worker(), &invocation()).await.expect("the database answers")
}

/// What `tick` says when it costs nothing extra: nothing was due.
async fn is_due(pipeline: &Pipeline) -> bool {
    pipeline.one("SELECT tidemark.schedule_is_due()", &[]).await.get(0)
}

#[derive(Debug, PartialEq)]
struct Row {
    next: Option<Timestamp>,
    last: Option<Timestamp>,
    error: String,
}

async fn row(pipeline: &Pipeline, name: &str) -> Row {
    let query = "SELECT next_planned_at, last_planned_at, error FROM public.schedules WHERE name = $1";
    let row = pipeline.one(query, &[&name]).await;
    Row { next: row.get(0), last: row.get(1), error: row.get(2) }
}

async fn set_next(pipeline: &Pipeline, name: &str, next: Timestamp) {
    let statement = "UPDATE public.schedules SET next_planned_at = $2 WHERE name = $1";
    assert_eq!(pipeline.run(statement, &[&name, &next]).await, 1);
}

/// Makes a schedule due for a whole minute that lies so many minutes back.
async fn make_due(pipeline: &Pipeline, name: &str, minutes_ago: i64) -> Timestamp {
    let minute = now(pipeline).await.as_second().div_euclid(60) - minutes_ago;
    let planned_at = Timestamp::from_second(minute * 60).expect("it is within range");
    set_next(pipeline, name, planned_at).await;
    planned_at
}

async fn now(pipeline: &Pipeline) -> Timestamp {
    pipeline.one("SELECT clock_timestamp()", &[]).await.get(0)
}

/// Planned instants that have fired, with their jobs' payloads.
async fn fired(pipeline: &Pipeline, name: &str) -> Vec<(Timestamp, Value)> {
    let query = "SELECT run.planned_at, job.payload FROM tidemark.schedule_runs AS run
        JOIN public.jobs AS job USING (job_id) WHERE run.name = $1 ORDER BY run.planned_at";
    let rows = pipeline.admin.query(query, &[&name]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get::<_, Json<Value>>(1).0)).collect()
}

async fn jobs(pipeline: &Pipeline) -> i64 {
    pipeline.one("SELECT count(*) FROM public.jobs", &[]).await.get(0)
}

/// What the database answers to one transition, asked as the functions ask it.
async fn answer(worker: &Client, transition: &str, schedule: [&str; 3], instants: &[Timestamp]) -> String {
    let mut parameters: Vec<(&(dyn tokio_postgres::types::ToSql + Sync), Type)> = Vec::new();
    for text in &schedule {
        parameters.push((text, Type::TEXT));
    }
    for instant in instants {
        parameters.push((instant, Type::TIMESTAMPTZ));
    }
    worker.query_typed(transition, &parameters).await.unwrap()[0].get(0)
}

#[tokio::test]
async fn a_fresh_database_purges_its_history_every_ten_minutes() {
    let pipeline = Pipeline::new().await;
    let query = "SELECT cron_expression, time_zone, job_type, priority, enabled FROM public.schedules WHERE name = 'history-purge'";
    let purge = pipeline.one(query, &[]).await;
    let texts: (&str, &str) = (purge.get(0), purge.get(1));
    assert_eq!(texts, ("*/10 * * * *", "UTC"));
    assert_eq!((purge.get::<_, i32>(2), purge.get::<_, i32>(3), purge.get::<_, bool>(4)), (2, 200, true));
    assert_eq!(tick(&pipeline).await, ONE_PLANNED);
    let next = row(&pipeline, "history-purge").await.next.expect("it is planned");
    assert_eq!(next.as_second() % 600, 0);
    let until = next.duration_since(now(&pipeline).await);
    assert!(until <= SignedDuration::from_mins(10), "{until:?}");
}

#[tokio::test]
async fn a_new_schedule_is_planned_first_and_fires_when_its_instant_has_come() {
    let pipeline = without_schedules().await;
    add(&pipeline, "yearly", "0 0 1 1 *", "Asia/Kolkata").await;
    assert!(is_due(&pipeline).await);
    let before = now(&pipeline).await;
    assert_eq!(tick(&pipeline).await, ONE_PLANNED);
    assert!(!is_due(&pipeline).await);
    assert_eq!(tick(&pipeline).await, NOTHING);
    let next = row(&pipeline, "yearly").await.next.expect("it is planned");
    assert_eq!(next.as_second() % 3600, 1800, "Kolkata is half an hour off");
    assert!(next > before && next <= before + SignedDuration::from_hours(366 * 24));
    assert_eq!(jobs(&pipeline).await, 0);

    let planned_at = make_due(&pipeline, "yearly", 1).await;
    assert_eq!(tick(&pipeline).await, ONE_FIRED);
    let payload = json!({"planned_at": planned_at.to_string()});
    assert_eq!(fired(&pipeline, "yearly").await, [(planned_at, payload)]);
    let after = row(&pipeline, "yearly").await;
    assert_eq!((after.last, after.next > Some(planned_at)), (Some(planned_at), true));
    let query = "SELECT job.job_id = schedule.last_job_id, job.job_type, job.priority, job.max_attempts, job.dedupe_key
        FROM public.schedules AS schedule, public.jobs AS job";
    let job = pipeline.one(query, &[]).await;
    assert!(job.get::<_, bool>(0));
    assert_eq!((job.get::<_, i32>(1), job.get::<_, i32>(2), job.get::<_, i32>(3)), (3, 100, 3));
    assert_eq!(job.get::<_, String>(4), format!("schedule:yearly:{planned_at}"));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_tick_with_nothing_due_costs_one_round_trip_and_each_due_schedule_one_more() {
    let pipeline = without_schedules().await;
    let counter = RoundTrips::listen(&pipeline.database.url_for("tidemark_worker")).await;
    let mut connection = Connection::new(Arc::new(SocketConnector::new(counter.url())));
    connection.client().await.expect("the relay lets it through");
    for (schedules, round_trips) in [(0, 1), (2, 3), (0, 1)] {
        for number in 0..schedules {
            add(&pipeline, &format!("number-{number}"), "0 0 1 1 *", "UTC").await;
        }
        counter.reset();
        let done = schedule::run(&mut connection, &invocation()).await.expect("the database answers");
        assert_eq!((done.planned, counter.count()), (schedules, round_trips));
    }
}

#[tokio::test]
async fn b61_two_ticks_that_see_the_same_schedule_due_fire_it_once() {
    let pipeline = without_schedules().await;
    add(&pipeline, "daily", "0 12 * * *", "UTC").await;
    tick(&pipeline).await;
    let planned_at = make_due(&pipeline, "daily", 5).await;
    let holder = pipeline.database.admin().await;
    holder.batch_execute("BEGIN; SELECT FROM public.schedules FOR UPDATE").await.unwrap();
    let released = async {
        pipeline.until_blocked("schedule_fire_v1", 2).await;
        holder.batch_execute("COMMIT").await.unwrap();
    };
    let (one, other, ()) = tokio::join!(tick(&pipeline), tick(&pipeline), released);
    assert_eq!((one.fired + other.fired, one.lost + other.lost), (1, 1));
    assert_eq!(fired(&pipeline, "daily").await.len(), 1);
    assert_eq!((jobs(&pipeline).await, row(&pipeline, "daily").await.last), (1, Some(planned_at)));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_same_event_delivered_twice_enqueues_nothing_the_second_time() {
    let pipeline = without_schedules().await;
    add(&pipeline, "daily", "0 12 * * *", "UTC").await;
    tick(&pipeline).await;
    let planned_at = make_due(&pipeline, "daily", 5).await;
    let worker = pipeline.database.connect_as("tidemark_worker").await;
    let daily = ["daily", "0 12 * * *", "UTC"];
    let instants = [planned_at, planned_at + SignedDuration::from_hours(24)];
    assert_eq!(answer(&worker, FIRE, daily, &instants).await, "fired");
    assert_eq!(answer(&worker, FIRE, daily, &instants).await, "lost");
    // Even where somebody puts the clock or the row back.
    set_next(&pipeline, "daily", planned_at).await;
    assert_eq!(answer(&worker, FIRE, daily, &instants).await, "repeated");
    let after = row(&pipeline, "daily").await;
    assert_eq!((after.last, after.next), (Some(planned_at), Some(instants[1])));
    assert_eq!(jobs(&pipeline).await, 1);

    let twice = "INSERT INTO tidemark.schedule_runs (name, planned_at, job_id) SELECT name, planned_at, job_id FROM tidemark.schedule_runs";
    assert_eq!(refusal(&pipeline.admin, twice).await, "23505");
    let kept = "SELECT last_job_id IS NOT NULL FROM public.schedules";
    assert!(pipeline.one(kept, &[]).await.get::<_, bool>(0));
}

#[tokio::test]
async fn a_schedule_does_not_fire_before_its_instant_nor_move_backwards() {
    let pipeline = without_schedules().await;
    add(&pipeline, "yearly", "0 12 1 1 *", "UTC").await;
    tick(&pipeline).await;
    let worker = pipeline.database.connect_as("tidemark_worker").await;
    let yearly = ["yearly", "0 12 1 1 *", "UTC"];
    let next = row(&pipeline, "yearly").await.next.expect("it is planned");
    let later = next + SignedDuration::from_hours(24);
    assert_eq!(answer(&worker, FIRE, yearly, &[next, later]).await, "early");

    let planned_at = make_due(&pipeline, "yearly", 5).await;
    let parameters = [
        (&"yearly" as _, Type::TEXT),
        (&"0 12 1 1 *" as _, Type::TEXT),
        (&"UTC" as _, Type::TEXT),
        (&planned_at as _, Type::TIMESTAMPTZ),
        (&planned_at as _, Type::TIMESTAMPTZ),
    ];
    let error = worker.query_typed(FIRE, &parameters).await.expect_err("it would fire for ever");
    assert_eq!(error.code().map(|code| code.code()), Some(INVALID_PARAMETER));
    assert_eq!((jobs(&pipeline).await, row(&pipeline, "yearly").await.next), (0, Some(planned_at)));
}

#[tokio::test]
async fn an_outage_is_made_up_for_by_one_job_for_the_first_missed_instant() {
    let pipeline = without_schedules().await;
    add(&pipeline, "minutely", "* * * * *", "Europe/Berlin").await;
    tick(&pipeline).await;
    let planned_at = make_due(&pipeline, "minutely", 3 * 24 * 60).await;
    assert_eq!(tick(&pipeline).await, ONE_FIRED);
    let after = row(&pipeline, "minutely").await;
    let instants: Vec<Timestamp> =
        fired(&pipeline, "minutely").await.into_iter().map(|(planned_at, _)| planned_at).collect();
    assert_eq!((instants, after.last), (vec![planned_at], Some(planned_at)));
    let next = after.next.expect("it is planned");
    let until = next.duration_since(now(&pipeline).await);
    // Within this minute, or, on a very slow machine, just over.
    assert!(until <= SignedDuration::from_mins(1) && until > SignedDuration::from_secs(-30), "{until:?}");
}

#[tokio::test]
async fn a_paused_schedule_rests_and_goes_on_from_now_when_it_is_resumed() {
    let pipeline = without_schedules().await;
    add(&pipeline, "minutely", "* * * * *", "UTC").await;
    tick(&pipeline).await;
    make_due(&pipeline, "minutely", 60).await;
    pipeline.run("UPDATE public.schedules SET enabled = false", &[]).await;
    assert!(!is_due(&pipeline).await);
    assert_eq!((tick(&pipeline).await, row(&pipeline, "minutely").await.next), (NOTHING, None));
    let worker = pipeline.database.connect_as("tidemark_worker").await;
    let minutely = ["minutely", "* * * * *", "UTC"];
    let instant: Timestamp = "2020-01-01T12:00:00Z".parse().unwrap();
    assert_eq!(answer(&worker, PLAN, minutely, &[instant]).await, "lost");
    set_next(&pipeline, "minutely", instant).await;
    assert_eq!(answer(&worker, FIRE, minutely, &[instant, instant + SignedDuration::from_mins(1)]).await, "lost");

    pipeline.run("UPDATE public.schedules SET enabled = true", &[]).await;
    let resumed = now(&pipeline).await;
    assert_eq!(tick(&pipeline).await, ONE_PLANNED);
    assert!(row(&pipeline, "minutely").await.next > Some(resumed));
    assert_eq!(jobs(&pipeline).await, 0, "what was missed while it was paused is not made up for");
}

#[tokio::test]
async fn a_pause_between_the_look_and_the_firing_is_obeyed() {
    let pipeline = without_schedules().await;
    add(&pipeline, "minutely", "* * * * *", "UTC").await;
    tick(&pipeline).await;
    make_due(&pipeline, "minutely", 2).await;
    let holder = pipeline.database.admin().await;
    holder.batch_execute("BEGIN; UPDATE public.schedules SET enabled = false").await.unwrap();
    let paused = async {
        pipeline.until_blocked("schedule_fire_v1", 1).await;
        holder.batch_execute("COMMIT").await.unwrap();
    };
    let (done, ()) = tokio::join!(tick(&pipeline), paused);
    assert_eq!((done, jobs(&pipeline).await), (Fired { lost: 1, ..NOTHING }, 0));
}

#[tokio::test]
async fn a_changed_expression_or_zone_is_planned_anew() {
    let pipeline = without_schedules().await;
    add(&pipeline, "yearly", "0 12 1 1 *", "UTC").await;
    tick(&pipeline).await;
    let changes = [
        ("UPDATE public.schedules SET cron_expression = '30 12 1 1 *'", "12:30:00"),
        ("UPDATE public.schedules SET time_zone = 'Asia/Kolkata'", "07:00:00"),
    ];
    for (change, expected) in changes {
        let stamped = "SELECT updated_at FROM public.schedules";
        let before: Timestamp = pipeline.one(stamped, &[]).await.get(0);
        pipeline.run(change, &[]).await;
        assert_eq!(row(&pipeline, "yearly").await.next, None, "{change}");
        assert!(pipeline.one(stamped, &[]).await.get::<_, Timestamp>(0) > before, "{change}");
        assert_eq!(tick(&pipeline).await, ONE_PLANNED, "{change}");
        let time = "SELECT to_char(next_planned_at AT TIME ZONE 'UTC', 'HH24:MI:SS') FROM public.schedules";
        assert_eq!(pipeline.one(time, &[]).await.get::<_, String>(0), expected, "{change}");
    }
    let planned = row(&pipeline, "yearly").await.next;
    pipeline
        .run("UPDATE public.schedules SET priority = 5, payload = '{\"a\": 1}', max_attempts = 7, job_type = 9", &[])
        .await;
    assert_eq!(row(&pipeline, "yearly").await.next, planned, "what it enqueues says nothing about when");
}

#[tokio::test]
async fn whoever_read_a_schedule_before_it_was_changed_decides_nothing_about_it() {
    let pipeline = without_schedules().await;
    add(&pipeline, "daily", "0 12 * * *", "UTC").await;
    let worker = pipeline.database.connect_as("tidemark_worker").await;
    let instant: Timestamp = "2020-01-01T12:00:00Z".parse().unwrap();
    let next = instant + SignedDuration::from_hours(24);
    for stale in
        [["daily", "0 13 * * *", "UTC"], ["daily", "0 12 * * *", "Europe/Berlin"], ["gone", "0 12 * * *", "UTC"]]
    {
        assert_eq!(answer(&worker, PLAN, stale, &[instant]).await, "lost", "{stale:?}");
        let parameters = stale.iter().map(|text| (text as _, Type::TEXT)).chain([(&"reason" as _, Type::TEXT)]);
        let refused = worker.query_typed(REFUSE, &parameters.collect::<Vec<_>>()).await.unwrap();
        assert_eq!(refused[0].get::<_, String>(0), "lost", "{stale:?}");
    }
    let present = ["daily", "0 12 * * *", "UTC"];
    assert_eq!(answer(&worker, FIRE, present, &[instant, next]).await, "lost", "nothing is planned");
    assert_eq!(answer(&worker, PLAN, present, &[instant]).await, "planned");
    assert_eq!(answer(&worker, PLAN, present, &[next]).await, "lost", "somebody else has planned it");
    // Planned for the same instant again, but by another expression: its next instant is not what was computed before.
    for stale in [["daily", "0 12 * * 1", "UTC"], ["daily", "0 12 * * *", "Etc/UTC"]] {
        assert_eq!(answer(&worker, FIRE, stale, &[instant, next]).await, "lost", "{stale:?}");
    }
    assert_eq!(row(&pipeline, "daily").await, Row { next: Some(instant), last: None, error: String::new() });
    assert_eq!(jobs(&pipeline).await, 0);
}

#[tokio::test]
async fn an_expression_of_no_use_says_so_in_its_row_and_stops_no_other_schedule() {
    let pipeline = without_schedules().await;
    let unusable = [
        ("ninety-nine", "99 * * * *", "UTC", "minute: not understood; it may hold 0-59"),
        ("seven-fields", "* * * * * * *", "UTC", "cron_expression: five fields are needed"),
        ("thirtieth", "0 0 30 2 *", "UTC", "day of month, month, day of week: no such day ever comes"),
        ("on-mars", "0 0 * * *", "Mars/Olympus", "time_zone: unknown; write an IANA name"),
    ];
    for (name, expression, zone, _error) in unusable {
        add(&pipeline, name, expression, zone).await;
    }
    add(&pipeline, "usable", "0 0 1 1 *", "UTC").await;
    assert_eq!(tick(&pipeline).await, Fired { refused: 4, planned: 1, ..NOTHING });
    for (name, expression, _zone, error) in unusable {
        let refused = row(&pipeline, name).await;
        assert!(refused.error.starts_with(error) && !refused.error.contains(expression), "{name}: {}", refused.error);
        assert_eq!(refused.next, None, "{name}");
    }
    assert!(!is_due(&pipeline).await, "they are not looked at again");
    assert_eq!(tick(&pipeline).await, NOTHING);
    assert_eq!(
        alerted(&pipeline).await,
        ["schedule ninety-nine", "schedule on-mars", "schedule seven-fields", "schedule thirtieth"]
    );

    let worker = pipeline.database.connect_as("tidemark_worker").await;
    let instant: Timestamp = "2020-01-01T12:00:00Z".parse().unwrap();
    assert_eq!(answer(&worker, PLAN, ["thirtieth", "0 0 30 2 *", "UTC"], &[instant]).await, "lost");

    pipeline.run("UPDATE public.schedules SET cron_expression = '59 * * * *' WHERE name = 'ninety-nine'", &[]).await;
    assert_eq!(tick(&pipeline).await, ONE_PLANNED);
    let repaired = row(&pipeline, "ninety-nine").await;
    assert_eq!((repaired.error.as_str(), repaired.next.is_some()), ("", true));
    pipeline.run("UPDATE public.schedules SET enabled = false WHERE name = 'on-mars'", &[]).await;
    pipeline.run("DELETE FROM public.schedules WHERE name = 'thirtieth'", &[]).await;
    assert_eq!(alerted(&pipeline).await, ["schedule seven-fields"], "corrected, switched off or removed");
    pipeline.run("UPDATE public.schedules SET name = 'seven' WHERE name = 'seven-fields'", &[]).await;
    assert_eq!(alerted(&pipeline).await, ["schedule seven"]);
}

/// The subjects of the open alerts about schedules.
async fn alerted(pipeline: &Pipeline) -> Vec<String> {
    let open = "SELECT coalesce(array_agg(subject ORDER BY subject), '{}') FROM public.alert_outbox
        WHERE kind = 'schedule_refused' AND resolved_at IS NULL";
    pipeline.one(open, &[]).await.get(0)
}

#[tokio::test]
async fn a_schedule_that_the_database_will_not_fire_stays_due_and_stops_no_other() {
    let pipeline = without_schedules().await;
    add(&pipeline, "broken", "0 0 * * *", "UTC").await;
    add(&pipeline, "sound", "0 0 * * *", "UTC").await;
    tick(&pipeline).await;
    let planned_at = make_due(&pipeline, "broken", 10).await;
    make_due(&pipeline, "sound", 5).await;
    pipeline.run("ALTER TABLE tidemark.schedule_runs ADD CONSTRAINT unbroken CHECK (name <> 'broken')", &[]).await;
    assert_eq!(tick(&pipeline).await, Fired { fired: 1, failed: 1, ..NOTHING });
    assert_eq!((jobs(&pipeline).await, row(&pipeline, "broken").await.next), (1, Some(planned_at)));
    pipeline.run("ALTER TABLE tidemark.schedule_runs DROP CONSTRAINT unbroken", &[]).await;
    assert_eq!(tick(&pipeline).await, ONE_FIRED);
}

#[tokio::test]
async fn a_job_that_could_not_be_enqueued_is_refused_when_the_schedule_is_written() {
    let pipeline = without_schedules().await;
    let insert = |columns: &str, values: &str| {
        format!("INSERT INTO public.schedules (name, cron_expression, job_type{columns}) VALUES ({values})")
    };
    let refusals = [
        (insert("", "'nightly', '0 0 * * *', 0"), INVALID_PARAMETER),
        (insert(", max_attempts", "'nightly', '0 0 * * *', 3, 0"), INVALID_PARAMETER),
        (insert(", payload", "'nightly', '0 0 * * *', 3, to_jsonb(repeat('x', 1048577))"), INVALID_PARAMETER),
        (insert("", "'Nightly run', '0 0 * * *', 3"), CHECK_VIOLATION),
        (insert("", "'', '0 0 * * *', 3"), CHECK_VIOLATION),
        (insert("", "'nightly', '', 3"), CHECK_VIOLATION),
        (insert("", "'nightly', repeat('0,', 5000), 3"), CHECK_VIOLATION),
        (insert(", time_zone", "'nightly', '0 0 * * *', 3, ''"), CHECK_VIOLATION),
        (insert(", next_planned_at", "'nightly', '0 0 * * *', 3, '-infinity'"), CHECK_VIOLATION),
    ];
    for (statement, code) in refusals {
        assert_eq!(refusal(&pipeline.admin, &statement).await, code, "{statement}");
    }
    add(&pipeline, "nightly", "0 0 * * *", "UTC").await;
    let update = "UPDATE public.schedules SET max_attempts = 101";
    assert_eq!(refusal(&pipeline.admin, update).await, INVALID_PARAMETER);
    // The planned instant is added to an object; what is left for it is checked as well.
    let nearly = "UPDATE public.schedules SET payload = jsonb_build_object('a', repeat('x', 1048560))";
    assert_eq!(refusal(&pipeline.admin, nearly).await, INVALID_PARAMETER);
}

#[tokio::test]
async fn a_payload_learns_its_planned_instant_where_it_is_an_object_without_one() {
    let pipeline = without_schedules().await;
    let payloads = [
        ("empty", "{}", json!({"planned_at": "2026-03-29T01:00:00Z"})),
        ("object", r#"{"url": "a"}"#, json!({"url": "a", "planned_at": "2026-03-29T01:00:00Z"})),
        ("its-own", r#"{"planned_at": "tea"}"#, json!({"planned_at": "tea"})),
        ("array", "[1, 2]", json!([1, 2])),
        ("null", "null", Value::Null),
    ];
    for (name, payload, expected) in payloads {
        let query = "SELECT tidemark.schedule_payload($1::text::jsonb, '2026-03-29T03:00:00+02:00')";
        let given: Json<Value> = pipeline.one(query, &[&payload]).await.get(0);
        assert_eq!(given.0, expected, "{name}");
    }
    add(&pipeline, "listing", "0 0 * * *", "UTC").await;
    pipeline.run("UPDATE public.schedules SET payload = '[1, 2]'", &[]).await;
    tick(&pipeline).await;
    let planned_at = make_due(&pipeline, "listing", 1).await;
    assert_eq!(tick(&pipeline).await, ONE_FIRED);
    assert_eq!(fired(&pipeline, "listing").await, [(planned_at, json!([1, 2]))]);
}

#[tokio::test]
async fn every_due_schedule_fires_in_one_invocation_however_many_there_are() {
    let pipeline = without_schedules().await;
    let many = "INSERT INTO public.schedules (name, cron_expression, job_type, next_planned_at)
        SELECT 'number-' || number, '0 0 1 1 *', 3, '2020-01-01T00:00:00Z' FROM generate_series(1, 250) AS number";
    assert_eq!(pipeline.run(many, &[]).await, 250);
    assert_eq!(tick(&pipeline).await, Fired { fired: 250, ..NOTHING });
    assert_eq!(jobs(&pipeline).await, 250);
}

#[tokio::test]
async fn an_operator_fires_a_schedule_at_once_by_setting_its_next_instant_to_now() {
    let pipeline = without_schedules().await;
    add(&pipeline, "yearly", "0 12 1 1 *", "UTC").await;
    tick(&pipeline).await;
    let planned = row(&pipeline, "yearly").await.next;
    pipeline.run("UPDATE public.schedules SET next_planned_at = now() WHERE name = 'yearly'", &[]).await;
    assert_eq!(tick(&pipeline).await, ONE_FIRED);
    let instant = fired(&pipeline, "yearly").await[0].0;
    assert_eq!(instant.subsec_nanosecond(), 0, "planned instants are whole seconds");
    assert_eq!(row(&pipeline, "yearly").await.next, planned);
}

#[tokio::test]
async fn b03_a_schedule_means_the_same_instants_in_every_session_zone() {
    let mut seen = Vec::new();
    for zone in ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Chatham"] {
        let pipeline = without_schedules().await;
        let set = format!(
            "ALTER DATABASE {0} SET TimeZone = '{zone}'; ALTER DATABASE {0} SET DateStyle = 'SQL, DMY';
            ALTER DATABASE {0} SET IntervalStyle = 'sql_standard'",
            pipeline.database.name()
        );
        pipeline.admin.batch_execute(&set).await.unwrap();
        // Inserted, planned and fired in that zone.
        let operator = pipeline.database.admin().await;
        let session: String = operator.query_one("SELECT current_setting('TimeZone')", &[]).await.unwrap().get(0);
        assert_eq!(session, zone);
        let insert = "INSERT INTO public.schedules (name, cron_expression, time_zone, job_type) VALUES ('yearly', '5 2 29 3 *', 'Europe/Berlin', 3)";
        operator.batch_execute(insert).await.unwrap();
        assert_eq!(tick(&pipeline).await, ONE_PLANNED);
        let planned = row(&pipeline, "yearly").await.next.expect("it is planned");
        let expected = Timetable::new("5 2 29 3 *", "Europe/Berlin").unwrap().next_after(now(&pipeline).await).unwrap();
        assert_eq!(planned, expected, "{zone}");

        let due = "UPDATE public.schedules SET next_planned_at = '2024-03-29T01:05:00Z'";
        operator.batch_execute(due).await.unwrap();
        assert_eq!(tick(&pipeline).await, ONE_FIRED, "{zone}");
        let query = "SELECT dedupe_key, payload FROM public.jobs";
        let job = operator.query_one(query, &[]).await.unwrap();
        seen.push((planned, row(&pipeline, "yearly").await, job.get::<_, String>(0), job.get::<_, Json<Value>>(1).0));
    }
    assert!(seen.iter().all(|one| one == &seen[0]), "{seen:#?}");
    assert_eq!(seen[0].3, json!({"planned_at": "2024-03-29T01:05:00Z"}));
}

/// A year in which the clock is changed twice, day by day, the clock being driven through the planned instants. The server's
/// own zone tables say which local day each of them is.
#[tokio::test]
async fn b04_a_daily_schedule_fires_once_on_each_local_day_of_a_year() {
    let pipeline = without_schedules().await;
    let worker = pipeline.database.connect_as("tidemark_worker").await;
    for (name, expression, zone) in [
        ("berlin", "5 2 * * *", "Europe/Berlin"),
        ("new-york", "30 2 * * *", "America/New_York"),
        ("new-york-twice", "30 1 * * *", "America/New_York"),
        ("lord-howe", "10 2 * * *", "Australia/Lord_Howe"),
        ("chatham", "0 3 * * *", "Pacific/Chatham"),
    ] {
        add(&pipeline, name, expression, zone).await;
        let timetable = Timetable::new(expression, zone).unwrap();
        let midnight = |year: i16| date(year, 1, 1).at(0, 0, 0, 0).in_tz(zone).unwrap().timestamp();
        let (mut planned_at, end) = (timetable.next_after(midnight(2024)).unwrap(), midnight(2025));
        assert_eq!(answer(&worker, PLAN, [name, expression, zone], &[planned_at]).await, "planned");
        while planned_at < end {
            let next = timetable.next_after(planned_at).unwrap();
            assert_eq!(answer(&worker, FIRE, [name, expression, zone], &[planned_at, next]).await, "fired");
            planned_at = next;
        }
        let query = "SELECT count(*), count(DISTINCT local.day), min(local.day)::text, max(local.day)::text,
                string_agg(to_char(local.shown, 'MM-DD HH24:MI'), ', ' ORDER BY local.shown) FILTER (WHERE local.shown::time <> $2::text::time)
            FROM tidemark.schedule_runs AS run,
                LATERAL (SELECT run.planned_at AT TIME ZONE $1 AS shown, (run.planned_at AT TIME ZONE $1)::date AS day) AS local
            WHERE run.name = $3";
        let mut fields = expression.split(' ');
        let (minute, hour) = (fields.next().unwrap(), fields.next().unwrap());
        let days = pipeline.one(query, &[&zone, &format!("{hour}:{minute}"), &name]).await;
        assert_eq!((days.get::<_, i64>(0), days.get::<_, i64>(1)), (366, 366), "{name}");
        assert_eq!((days.get::<_, &str>(2), days.get::<_, &str>(3)), ("2024-01-01", "2024-12-31"), "{name}");
        let moved = match name {
            "berlin" => Some("03-31 03:00"),
            "new-york" => Some("03-10 03:00"),
            "lord-howe" => Some("10-06 02:30"),
            "chatham" => Some("09-29 03:45"),
            _ => None,
        };
        assert_eq!(days.get::<_, Option<&str>>(4), moved, "{name}");
    }
    assert_eq!(jobs(&pipeline).await, 5 * 366);
}

#[tokio::test]
async fn runs_past_the_retention_are_purged_in_batches_the_oldest_first() {
    let pipeline = without_schedules().await;
    pipeline.set("history_retention_days", "2").await;
    let old = "INSERT INTO tidemark.schedule_runs (name, planned_at, fired_at, job_id)
        SELECT 'hourly', fired_at, fired_at, gen_random_uuid()
        FROM (SELECT clock_timestamp() - make_interval(hours => number) AS fired_at FROM generate_series(1, 60) AS number) AS run";
    pipeline.run(old, &[]).await;
    let purge = "SELECT tidemark.schedule_runs_purge_v1($1)";
    assert_eq!(pipeline.one(purge, &[&5_i32]).await.get::<_, i32>(0), 5);
    let oldest = "SELECT min(fired_at) BETWEEN clock_timestamp() - interval '56 hours' AND clock_timestamp() - interval '54 hours'
        FROM tidemark.schedule_runs";
    assert!(pipeline.one(oldest, &[]).await.get::<_, bool>(0));
    let left = async || pipeline.one("SELECT count(*) FROM tidemark.schedule_runs", &[]).await.get::<_, i64>(0);
    // Forty-eight hours old is just past two days.
    assert_eq!((pipeline.one(purge, &[&100_i32]).await.get::<_, i32>(0), left().await), (8, 47));
    assert_eq!((pipeline.one(purge, &[&100_i32]).await.get::<_, i32>(0), left().await), (0, 47));
    assert_eq!((pipeline.one(purge, &[&None::<i32>]).await.get::<_, i32>(0), left().await), (0, 47));
}
