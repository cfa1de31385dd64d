//! What an application reads, and waiting for its save: the rules of docs/READING.md.

use serde_json::json;
use tidemark_testkit::Server;
use tidemark_tests::{Pipeline, until_true};
use tokio_postgres::types::Json;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use crate::{EVENING, refusal, saved_user};

const WAIT: &str = "SELECT outcome, fresh, error_code, generation, applied_generation, waited_ms
    FROM public.wait_for_fresh_v1($1, $2)";
/// Whether somebody waits between two looks.
const ASLEEP: &str = "SELECT EXISTS (SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'PgSleep')";
/// The longest wait there is. No test lets it pass.
const LONGEST_MS: i32 = 7000;

/// A connection of an application's user.
async fn user_client(pipeline: &Pipeline, user: Uuid) -> Client {
    let client = pipeline.database.connect_as("authenticated").await;
    let claims = json!({"sub": user}).to_string();
    client.execute("SELECT set_config('request.jwt.claims', $1, false)", &[&claims]).await.unwrap();
    client
}

async fn outcome(client: &Client, user: Uuid, timeout_ms: i32) -> String {
    client.query_one(WAIT, &[&user, &timeout_ms]).await.unwrap().get(0)
}

/// The overview as the statement at `instant` would see it: its own text with another clock.
async fn overview_at(pipeline: &Pipeline, user: Uuid, instant: &str) -> Row {
    let view: String = pipeline.one("SELECT pg_get_viewdef('public.user_stats_overview'::regclass)", &[]).await.get(0);
    let clock = "statement_timestamp()";
    assert_eq!(view.matches(clock).count(), 1, "{view}");
    let view = view.replace(clock, &format!("'{instant}'::timestamptz"));
    let columns = "today::text, week_start::text, streak_weeks, week_sets::integer, longest_streak_weeks";
    let query =
        format!("SELECT {columns} FROM ({}) AS overview WHERE user_id = $1", view.trim_end().trim_end_matches(';'));
    pipeline.one(&query, &[&user]).await
}

/// Today, first day of the week, streak and sets of the week.
async fn calendar_at(pipeline: &Pipeline, user: Uuid, instant: &str) -> (String, String, Option<i32>, i32) {
    let row = overview_at(pipeline, user, instant).await;
    (row.get(0), row.get(1), row.get(2), row.get(3))
}

fn calendar(today: &str, week: &str, streak: Option<i32>, sets: i32) -> (String, String, Option<i32>, i32) {
    (today.to_owned(), week.to_owned(), streak, sets)
}

async fn live_in(pipeline: &Pipeline, user: Uuid, zone: &str, week_start: i16) {
    let insert = "INSERT INTO public.training_profiles (user_id, time_zone, week_start) VALUES ($1, $2, $3)";
    pipeline.run(insert, &[&user, &zone, &week_start]).await;
}

#[tokio::test]
async fn the_day_the_week_and_the_streak_turn_at_the_users_midnight_without_a_write() {
    let mut pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    live_in(&pipeline, user, "Asia/Seoul", 1).await;
    // Two weeks in a row: Monday 6 and Sunday 19 July in Seoul.
    pipeline.save(user, "2026-07-05T15:00:00Z", "Squat", &[(100.0, 5)]).await;
    pipeline.save(user, "2026-07-19T14:00:00Z", "Squat", &[(100.0, 5), (100.0, 5)]).await;
    pipeline.refresh().await;
    let at = async |instant| calendar_at(&pipeline, user, instant).await;
    assert_eq!(at("2026-07-19T14:59:59Z").await, calendar("2026-07-19", "2026-07-13", Some(2), 2));
    assert_eq!(at("2026-07-19T15:00:00Z").await, calendar("2026-07-20", "2026-07-20", Some(2), 0));
    assert_eq!(at("2026-07-26T14:59:59Z").await, calendar("2026-07-26", "2026-07-20", Some(2), 0));
    assert_eq!(at("2026-07-26T15:00:00Z").await, calendar("2026-07-27", "2026-07-27", Some(0), 0));
}

#[tokio::test]
async fn a_week_that_begins_on_sunday_in_a_zone_behind_utc_turns_there() {
    let mut pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    live_in(&pipeline, user, "America/Los_Angeles", 7).await;
    pipeline.save(user, "2026-07-19T17:30:00-07:00", "Squat", &[(100.0, 5)]).await;
    pipeline.refresh().await;
    let at = async |instant| calendar_at(&pipeline, user, instant).await;
    assert_eq!(at("2026-07-20T06:59:59Z").await, calendar("2026-07-19", "2026-07-19", Some(1), 1));
    assert_eq!(at("2026-07-26T06:59:59Z").await, calendar("2026-07-25", "2026-07-19", Some(1), 1));
    assert_eq!(at("2026-07-26T07:00:00Z").await, calendar("2026-07-26", "2026-07-26", Some(1), 0));
    assert_eq!(at("2026-08-02T07:00:00Z").await, calendar("2026-08-02", "2026-08-02", Some(0), 0));
}

#[tokio::test]
async fn a_change_of_the_clock_moves_no_day() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    live_in(&pipeline, user, "Europe/Berlin", 1).await;
    // The day of 25 hours and the day of 23.
    for (instant, today) in [
        ("2026-10-24T21:59:59Z", "2026-10-24"),
        ("2026-10-24T22:00:00Z", "2026-10-25"),
        ("2026-10-25T22:59:59Z", "2026-10-25"),
        ("2026-10-25T23:00:00Z", "2026-10-26"),
        ("2026-03-28T23:00:00Z", "2026-03-29"),
        ("2026-03-29T21:59:59Z", "2026-03-29"),
        ("2026-03-29T22:00:00Z", "2026-03-30"),
    ] {
        assert_eq!(calendar_at(&pipeline, user, instant).await.0, today, "{instant}");
    }
}

#[tokio::test]
async fn a_week_that_holds_a_change_of_the_clock_begins_and_ends_at_the_users_midnight() {
    let mut pipeline = Pipeline::new().await;
    let berlin = Uuid::new_v4();
    live_in(&pipeline, berlin, "Europe/Berlin", 7).await;
    // Saturday 24 October, and Sunday 25, whose midnight is two hours before UTC's and whose end is one.
    pipeline.save(berlin, "2026-10-24T21:30:00Z", "Squat", &[(100.0, 5)]).await;
    pipeline.save(berlin, "2026-10-24T22:30:00Z", "Squat", &[(100.0, 5), (100.0, 5)]).await;
    // Cairo's clocks go forward at midnight: Friday 24 April begins at one o'clock.
    let cairo = Uuid::new_v4();
    live_in(&pipeline, cairo, "Africa/Cairo", 5).await;
    pipeline.save(cairo, "2026-04-23T21:30:00Z", "Squat", &[(100.0, 5)]).await;
    pipeline.save(cairo, "2026-04-23T22:30:00Z", "Squat", &[(100.0, 5), (100.0, 5)]).await;
    pipeline.refresh().await;
    let at = async |user, instant| calendar_at(&pipeline, user, instant).await;
    assert_eq!(at(berlin, "2026-10-24T21:59:59Z").await, calendar("2026-10-24", "2026-10-18", Some(2), 1));
    assert_eq!(at(berlin, "2026-10-24T22:00:00Z").await, calendar("2026-10-25", "2026-10-25", Some(2), 2));
    // The hour that there is twice.
    assert_eq!(at(berlin, "2026-10-25T00:30:00Z").await, calendar("2026-10-25", "2026-10-25", Some(2), 2));
    assert_eq!(at(berlin, "2026-10-25T01:30:00Z").await, calendar("2026-10-25", "2026-10-25", Some(2), 2));
    assert_eq!(at(berlin, "2026-10-31T22:59:59Z").await, calendar("2026-10-31", "2026-10-25", Some(2), 2));
    assert_eq!(at(berlin, "2026-10-31T23:00:00Z").await, calendar("2026-11-01", "2026-11-01", Some(2), 0));
    assert_eq!(at(berlin, "2026-11-07T22:59:59Z").await, calendar("2026-11-07", "2026-11-01", Some(2), 0));
    assert_eq!(at(berlin, "2026-11-07T23:00:00Z").await, calendar("2026-11-08", "2026-11-08", Some(0), 0));
    assert_eq!(at(cairo, "2026-04-23T21:59:59Z").await, calendar("2026-04-23", "2026-04-17", Some(2), 1));
    assert_eq!(at(cairo, "2026-04-23T22:00:00Z").await, calendar("2026-04-24", "2026-04-24", Some(2), 2));
    assert_eq!(at(cairo, "2026-04-30T20:59:59Z").await, calendar("2026-04-30", "2026-04-24", Some(2), 2));
    assert_eq!(at(cairo, "2026-04-30T21:00:00Z").await, calendar("2026-05-01", "2026-05-01", Some(2), 0));
}

#[tokio::test]
async fn who_moves_to_another_zone_has_its_day_at_once_and_the_workouts_stay_where_they_were() {
    let mut pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    live_in(&pipeline, user, "Asia/Seoul", 1).await;
    pipeline.save(user, "2026-07-19T15:30:00Z", "Squat", &[(100.0, 5)]).await;
    pipeline.refresh().await;
    let instant = "2026-07-19T16:00:00Z";
    assert_eq!(calendar_at(&pipeline, user, instant).await, calendar("2026-07-20", "2026-07-20", Some(1), 1));
    pipeline.run("UPDATE public.training_profiles SET time_zone = 'America/Lima' WHERE user_id = $1", &[&user]).await;
    pipeline.refresh().await;
    // It is still Sunday there; the workout of Monday lies ahead and keeps the streak.
    assert_eq!(calendar_at(&pipeline, user, instant).await, calendar("2026-07-19", "2026-07-13", Some(1), 0));
    assert_eq!(
        calendar_at(&pipeline, user, "2026-07-20T05:00:00Z").await,
        calendar("2026-07-20", "2026-07-20", Some(1), 1)
    );
}

#[tokio::test]
async fn the_streak_of_the_database_is_that_of_the_formulas() {
    let pipeline = Pipeline::new().await;
    let weekdays =
        [(1_i16, jiff::civil::Weekday::Monday), (6, jiff::civil::Weekday::Saturday), (7, jiff::civil::Weekday::Sunday)];
    let query = "SELECT calendar.running_week::text,
            tidemark.streak_at_v1($1::text::date, 3, calendar.running_week)
        FROM tidemark.calendar_at_v1('UTC', $2, $3::text::timestamptz) AS calendar";
    for (number, weekday) in weekdays {
        let mut last = jiff::civil::date(2026, 12, 1);
        while last.weekday() != weekday {
            last = last.tomorrow().unwrap();
        }
        for days in -8_i64..30 {
            let today = last.checked_add(jiff::Span::new().days(days)).unwrap();
            let row = pipeline.one(query, &[&last.to_string(), &number, &format!("{today}T12:00:00Z")]).await;
            let expected = tidemark_stats::current_streak(Some(last), 3, weekday, today);
            assert_eq!(
                row.get::<_, i32>(1),
                i32::try_from(expected).unwrap(),
                "{weekday:?} {today} {:?}",
                row.get::<_, String>(0)
            );
        }
    }
}

#[tokio::test]
async fn a_user_whose_first_save_is_not_published_has_empty_figures_and_is_stale() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let client = user_client(&pipeline, user).await;
    let query =
        "SELECT stale, workouts, streak_weeks, published_at IS NULL, generation FROM public.user_stats_overview";
    let row = client.query_one(query, &[]).await.unwrap();
    assert!(row.get::<_, bool>(0) && row.get::<_, bool>(3));
    assert_eq!((row.get::<_, i32>(1), row.get::<_, Option<i32>>(2), row.get::<_, i64>(4)), (0, Some(0), 0));
    pipeline.refresh().await;
    let row = client.query_one(query, &[]).await.unwrap();
    assert!(!row.get::<_, bool>(0) && !row.get::<_, bool>(3));
    assert_eq!(row.get::<_, i32>(1), 1);
    assert_eq!(row.get::<_, i64>(4), pipeline.generations(user).await.1);
}

/// Whether the overview says stale, and whether since the time that `since` selects.
async fn stale_since(pipeline: &Pipeline, user: Uuid, since: &str) -> (bool, bool) {
    let query = format!("SELECT stale, stale_since IS NOT DISTINCT FROM ({since}) FROM public.user_stats_overview");
    let client = pipeline.database.admin().await;
    let row = client.query_one(&format!("{query} WHERE user_id = '{user}'"), &[]).await.unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn stale_is_said_since_the_oldest_request_that_still_stands() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let oldest = "SELECT min(created_at) FROM public.user_exercise_stats_refresh_jobs WHERE status = 'pending'";
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    assert_eq!(stale_since(&pipeline, user, oldest).await, (true, true));
    pipeline.claim().await;
    let running = "SELECT created_at FROM public.user_exercise_stats_refresh_jobs WHERE status = 'running'";
    assert_eq!(stale_since(&pipeline, user, running).await, (true, true));
    // Saved while the run is under way: what the publish leaves is newer.
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    assert_eq!(stale_since(&pipeline, user, running).await, (true, true));
    pipeline.compute().await;
    pipeline.publish().await;
    assert_eq!(stale_since(&pipeline, user, oldest).await, (true, true));
    pipeline.refresh().await;
    assert_eq!(stale_since(&pipeline, user, "NULL::timestamptz").await, (false, true));
    // Out of attempts, and nothing is on its way.
    pipeline.set("max_attempts", "1").await;
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    pipeline.claim().await;
    let fail = "SELECT tidemark.run_fail_v1(id, attempt, lease_token, '57014', 'over budget')
        FROM public.user_stats_projection_runs WHERE user_id = $1 AND phase = 'claimed'";
    pipeline.one(fail, &[&user]).await;
    pipeline.claim().await;
    let failed = "SELECT created_at FROM public.user_exercise_stats_refresh_jobs WHERE status = 'failed'";
    assert_eq!(stale_since(&pipeline, user, failed).await, (true, true));
}

#[tokio::test]
async fn figures_of_an_older_definition_are_stale_since_the_newer_one_was_told() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.refresh().await;
    let told = "SELECT announced_at FROM tidemark.definition";
    assert_eq!(stale_since(&pipeline, user, "NULL::timestamptz").await, (false, true));
    pipeline
        .run("UPDATE public.user_stats_projection_state SET definition_version = definition_version - 1", &[])
        .await;
    assert_eq!(stale_since(&pipeline, user, told).await, (true, true));
    // The save is published nevertheless, which is what a wait asks.
    assert_eq!(outcome(&user_client(&pipeline, user).await, user, 0).await, "fresh");
    pipeline.run("SELECT tidemark.rebuild_start_v1()", &[]).await;
    pipeline.refresh().await;
    assert_eq!(stale_since(&pipeline, user, "NULL::timestamptz").await, (false, true));
}

#[tokio::test]
async fn a_wait_that_began_before_the_publish_ends_with_it() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let client = user_client(&pipeline, user).await;
    let waiting = tokio::spawn(async move { client.query_one(WAIT, &[&user, &LONGEST_MS]).await.unwrap() });
    until_true(&pipeline.admin, ASLEEP, &[]).await;
    pipeline.refresh().await;
    let row = waiting.await.unwrap();
    assert_eq!((row.get::<_, String>(0), row.get::<_, bool>(1)), ("fresh".to_owned(), true));
    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!((row.get::<_, i64>(3), row.get::<_, i64>(4)), (requested, applied));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_waiting_client_locks_no_row_and_hinders_no_save_and_no_publish() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let client = user_client(&pipeline, user).await;
    let waiting = tokio::spawn(async move { client.query_one(WAIT, &[&user, &LONGEST_MS]).await.unwrap() });
    until_true(&pipeline.admin, ASLEEP, &[]).await;
    let locks = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE datname = current_database() AND query LIKE '%wait_for_fresh_v1%' AND pg_locks.pid <> pg_backend_pid()
            AND (locktype IN ('tuple', 'transactionid', 'advisory') OR mode NOT IN ('AccessShareLock', 'ExclusiveLock')
                OR (mode = 'ExclusiveLock' AND locktype <> 'virtualxid'))";
    assert_eq!(pipeline.one(locks, &[]).await.get::<_, i64>(0), 0);
    // A later save does not prolong the wait: its generation is beyond the one waited for.
    let awaited = pipeline.generations(user).await.0;
    assert_eq!(pipeline.claim().await.succeeded, 1);
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    assert_eq!(pipeline.compute().await.succeeded, 1);
    assert_eq!(pipeline.publish().await.succeeded, 1);
    let row = waiting.await.unwrap();
    assert_eq!((row.get::<_, String>(0), row.get::<_, i64>(3)), ("fresh".to_owned(), awaited));
    let (requested, applied) = pipeline.generations(user).await;
    assert!(applied < requested);
}

#[tokio::test]
async fn a_wait_ends_with_its_timeout_and_before_the_sessions_own_limit() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let client = user_client(&pipeline, user).await;
    assert_eq!(outcome(&client, user, 0).await, "timeout");
    client.batch_execute("SET statement_timeout = '1s'").await.unwrap();
    assert_eq!(outcome(&client, user, LONGEST_MS).await, "timeout");
}

#[tokio::test]
async fn a_wait_leaves_room_to_answer_within_every_limit() {
    let pipeline = Pipeline::new().await;
    // All began at the same instant, but for the transaction that began a second before.
    let query = "SELECT (extract(epoch FROM tidemark.wait_deadline(
            at, $1, at, $2::text::interval, at - interval '1 second', $3::text::interval) - at) * 1000)::integer
        FROM (VALUES (timestamptz '2026-07-19 17:30:00Z')) AS began (at)";
    for (timeout_ms, statement_limit, transaction_limit, expected_ms) in [
        (3000, Some("0"), Some("0"), 3000),
        (3000, Some("0"), None, 3000),
        (3000, Some("8s"), None, 3000),
        (7000, Some("3s"), None, 2750),
        (7000, Some("400ms"), None, 300),
        (7000, Some("1ms"), None, 1),
        (7000, Some("8s"), Some("5s"), 3750),
        (7000, Some("2s"), Some("5s"), 1750),
        // It is late already: one look, and no wait.
        (7000, Some("0"), Some("500ms"), -625),
    ] {
        let row = pipeline.one(query, &[&timeout_ms, &statement_limit, &transaction_limit]).await;
        assert_eq!(row.get::<_, i32>(0), expected_ms, "{timeout_ms} {statement_limit:?} {transaction_limit:?}");
    }
}

#[tokio::test]
async fn a_read_only_transaction_and_a_function_that_is_called_stable_see_the_publish_too() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let client = user_client(&pipeline, user).await;
    client
        .batch_execute(
            "CREATE FUNCTION pg_temp.wait(p_user uuid) RETURNS text LANGUAGE plpgsql STABLE AS $$
            BEGIN
                RETURN (SELECT outcome FROM public.wait_for_fresh_v1(p_user, 7000));
            END $$;
            BEGIN READ ONLY",
        )
        .await
        .unwrap();
    let waiting = tokio::spawn(async move {
        let row = client.query_one("SELECT pg_temp.wait($1)", &[&user]).await.unwrap();
        row.get::<_, String>(0)
    });
    until_true(&pipeline.admin, ASLEEP, &[]).await;
    pipeline.refresh().await;
    assert_eq!(waiting.await.unwrap(), "fresh");
}

#[tokio::test]
async fn on_a_standby_figures_are_read_and_a_wait_is_refused() {
    let mut server = Server::start_with(&["wal_level=replica"]);
    server.migrate("postgres").await;
    let user = Uuid::new_v4();
    let admin = server.admin("postgres").await;
    let save = "SELECT public.save_workout_v1($1, $2)";
    admin.execute(save, &[&user, &Json(json!({"started_at": EVENING}))]).await.unwrap();
    // The server's own folder is where its programs begin.
    admin.batch_execute("COPY (SELECT) TO PROGRAM 'cat > standby.signal'").await.unwrap();
    drop(admin);
    server.restart();
    let standby = server.admin("postgres").await;
    assert!(standby.query_one("SELECT pg_is_in_recovery()", &[]).await.unwrap().get::<_, bool>(0));
    let stale = "SELECT stale FROM public.user_stats_overview WHERE user_id = $1";
    assert!(standby.query_one(stale, &[&user]).await.unwrap().get::<_, bool>(0));
    assert_eq!(refusal(&standby, &format!("SELECT public.wait_for_fresh_v1('{user}')")).await, "25006");
}

#[tokio::test]
async fn a_wait_that_is_of_no_use_says_so_at_once() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let client = user_client(&pipeline, user).await;
    for name in ["claim_enabled", "compute_enabled", "publish_enabled"] {
        pipeline.set(name, "false").await;
        assert_eq!(outcome(&client, user, LONGEST_MS).await, "paused", "{name}");
        pipeline.set(name, "true").await;
    }
    // A run that has been claimed needs no claim.
    pipeline.claim().await;
    pipeline.set("claim_enabled", "false").await;
    assert_eq!(outcome(&client, user, 0).await, "timeout");
    pipeline.set("claim_enabled", "true").await;

    let fail = "SELECT tidemark.run_fail_v1(id, attempt, lease_token, '57014', 'over budget')
        FROM public.user_stats_projection_runs WHERE user_id = $1 AND phase = 'claimed'";
    pipeline.one(fail, &[&user]).await;
    assert_eq!(outcome(&client, user, LONGEST_MS).await, "retrying");
    pipeline.set("max_attempts", "1").await;
    pipeline
        .run("UPDATE public.user_stats_projection_runs SET retry_not_before = NULL WHERE user_id = $1", &[&user])
        .await;
    pipeline.claim().await;
    let row = client.query_one(WAIT, &[&user, &LONGEST_MS]).await.unwrap();
    assert_eq!((row.get::<_, String>(0), row.get::<_, String>(2)), ("exhausted".to_owned(), "57014".to_owned()));
}

#[tokio::test]
async fn a_user_who_never_saved_is_fresh() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    assert_eq!(outcome(&user_client(&pipeline, user).await, user, LONGEST_MS).await, "fresh");
}

#[tokio::test]
async fn a_wait_that_could_never_see_the_publish_is_refused() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let client = user_client(&pipeline, user).await;
    let wait = format!("SELECT public.wait_for_fresh_v1('{user}')");
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        client.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}")).await.unwrap();
        assert_eq!(refusal(&client, &wait).await, "25000", "{level}");
        client.batch_execute("ROLLBACK").await.unwrap();
    }
    let save = format!("BEGIN; SELECT public.save_workout_v1('{user}', '{{\"started_at\": \"{EVENING}\"}}')");
    client.batch_execute(&save).await.unwrap();
    assert_eq!(refusal(&client, &wait).await, "25000");
    client.batch_execute("ROLLBACK").await.unwrap();
    for (arguments, code) in [
        (format!("'{user}', 7001"), "22023"),
        (format!("'{user}', -1"), "22023"),
        (format!("'{user}', NULL"), "22004"),
        ("NULL, 1".to_owned(), "22004"),
    ] {
        assert_eq!(
            refusal(&client, &format!("SELECT public.wait_for_fresh_v1({arguments})")).await,
            code,
            "{arguments}"
        );
    }
}

/// The statements of the guide, in order.
fn guide() -> Vec<&'static str> {
    let guide = include_str!("../../docs/READING.md");
    guide.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[tokio::test]
async fn the_sql_of_the_guide_finds_the_users_figures_as_every_role_that_may_read() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let now: String = pipeline.one("SELECT to_char(now(), 'YYYY-MM-DD\"T\"HH24:MI:SSOF:00')", &[]).await.get(0);
    pipeline.save(user, &now, "Squat", &[(100.0, 5)]).await;
    pipeline.refresh().await;
    assert_eq!(guide().len(), 6);
    let service = pipeline.database.connect_as("service_role").await;
    for client in [service, user_client(&pipeline, user).await] {
        for statement in guide() {
            let rows = client.query(statement, &[&user]).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
            assert!(!rows.is_empty(), "{statement}");
        }
    }
    // Nothing of another.
    let stranger = user_client(&pipeline, Uuid::new_v4()).await;
    for statement in guide().into_iter().filter(|statement| !statement.contains("wait_for_fresh")) {
        assert_eq!(stranger.query(statement, &[&user]).await.unwrap().len(), 0, "{statement}");
    }
}

/// Pages that a statement reads, the sequential scans in its plan, as its role runs it.
async fn plan(client: &Client, statement: &str, user: Uuid) -> (i64, String) {
    let statement = statement.replace("$1", &format!("'{user}'"));
    let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON, TIMING OFF) {statement}");
    // The first run fills the caches of the catalogue.
    client.query_one(&explain, &[]).await.unwrap();
    let plan: serde_json::Value = client.query_one(&explain, &[]).await.unwrap().get(0);
    let pages = &plan[0]["Plan"];
    let read = pages["Shared Hit Blocks"].as_i64().unwrap() + pages["Shared Read Blocks"].as_i64().unwrap();
    (read, plan.to_string())
}

#[tokio::test]
async fn every_read_of_the_guide_is_a_read_by_index_among_a_thousand_users() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.refresh().await;
    // A thousand users as if each had trained twenty exercises for twenty weeks.
    pipeline.admin.batch_execute(include_str!("sql/thousand_readers.sql")).await.unwrap();
    let clients = [pipeline.database.connect_as("service_role").await, user_client(&pipeline, user).await];
    for client in clients {
        for statement in guide() {
            let (pages, plan) = plan(&client, statement, user).await;
            assert!(pages <= 60, "{statement} reads {pages} pages: {plan}");
            assert!(!plan.contains("Seq Scan"), "{statement}: {plan}");
        }
    }
}
