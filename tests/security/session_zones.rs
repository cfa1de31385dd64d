//! Whatever a session's time zone and date style: the same instants, the same dates, the same figures.

use serde_json::json;
use tidemark_tests::Pipeline;
use tokio_postgres::types::Json;
use uuid::Uuid;

use crate::refusal::become_role;

/// Session settings under which the same rows are written.
const SESSIONS: &[&str] = &[
    "SET TimeZone = 'UTC'",
    "SET TimeZone = 'America/New_York'; SET DateStyle = 'SQL, MDY'",
    "SET TimeZone = 'Pacific/Chatham'; SET DateStyle = 'German, DMY'; SET IntervalStyle = 'sql_standard'",
    "SET TimeZone = 'Asia/Kolkata'; SET DateStyle = 'Postgres, YMD'; SET extra_float_digits = -15",
];

const BULK: &str = "
    WITH exercise AS (
        INSERT INTO public.exercises (user_id, name) VALUES ($1, 'Deadlift') RETURNING user_id, id
    ), workout AS (
        -- Twice around midnight in Auckland, once within the hour that New York has twice.
        INSERT INTO public.workouts (user_id, started_at, time_zone)
        VALUES ($1, '2026-03-28T10:59:59Z', 'Pacific/Auckland'), ($1, '2026-03-28T11:00:00Z', 'Pacific/Auckland'),
            ($1, '2026-11-01T01:30:00-05:00', 'America/New_York')
        RETURNING user_id, id
    )
    SELECT exercise.user_id, exercise.id, workout.id FROM exercise, workout";

/// What is stored of one user, instants as seconds since 1970.
const STORED: &str = "
    SELECT string_agg(concat_ws(' ', extract(epoch FROM started_at)::text, to_char(local_date, 'YYYY-MM-DD'), local_time::text), E'\\n'
        ORDER BY started_at)
    FROM public.workouts WHERE user_id = $1";

/// What is published of one user, without the names of its rows.
const PUBLISHED: &str = "
    SELECT jsonb_build_object(
        'summary', (SELECT to_jsonb(summary) - 'user_id' - 'generation' FROM public.user_stats_summary AS summary
            WHERE summary.user_id = $1),
        'weeks', (SELECT jsonb_agg(to_jsonb(weekly) - 'user_id' - 'generation' - 'exercise_id' ORDER BY weekly.week_start)
            FROM public.user_exercise_stats_weekly AS weekly WHERE weekly.user_id = $1))::text";

async fn write_in_bulk(pipeline: &Pipeline, session: &str, role: &str, user: Uuid) {
    let client = pipeline.database.admin().await;
    client.batch_execute(session).await.unwrap();
    if role == "service_role" {
        become_role(&client, role, None).await;
    }
    let rows = client.query(BULK, &[&user]).await.unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        let (exercise, workout): (Uuid, Uuid) = (row.get(1), row.get(2));
        let set = "INSERT INTO public.workout_sets (user_id, workout_id, position, exercise_id, weight, reps)
            VALUES ($1, $2, 0, $3, 140.5, 3)";
        client.execute(set, &[&user, &workout, &exercise]).await.unwrap();
    }
}

#[tokio::test]
async fn rows_written_in_bulk_mean_the_same_instants_in_every_session_zone() {
    let mut pipeline = Pipeline::new().await;
    let mut users = Vec::new();
    for session in SESSIONS {
        for role in ["service_role", "superuser"] {
            let user = Uuid::new_v4();
            write_in_bulk(&pipeline, session, role, user).await;
            users.push(user);
        }
    }
    // The functions' own sessions are in yet another zone.
    let zone = format!("ALTER DATABASE {} SET TimeZone = 'Pacific/Chatham'", pipeline.database.name());
    pipeline.admin.batch_execute(&zone).await.unwrap();
    pipeline.refresh().await;

    let expected = "1774695599.000000 2026-03-28 23:59:59\n1774695600.000000 2026-03-29 00:00:00\n\
                    1793514600.000000 2026-11-01 01:30:00";
    let first: String = pipeline.one(PUBLISHED, &[&users[0]]).await.get(0);
    assert!(first.contains("\"training_days\": 3"), "{first}");
    for user in users {
        assert_eq!(pipeline.one(STORED, &[&user]).await.get::<_, String>(0), expected);
        assert_eq!(pipeline.one(PUBLISHED, &[&user]).await.get::<_, String>(0), first);
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn saved_and_imported_workouts_mean_the_same_instants_in_every_session_zone() {
    let pipeline = Pipeline::new().await;
    let mut stored = Vec::new();
    for session in SESSIONS {
        let client = pipeline.database.admin().await;
        client.batch_execute(session).await.unwrap();
        let user = Uuid::new_v4();
        let saved = json!({"started_at": "2026-07-19T23:30:00-07:00", "time_zone": "America/Los_Angeles"});
        client.execute("SELECT public.save_workout_v1($1, $2)", &[&user, &Json(saved)]).await.unwrap();
        let imported =
            json!([{"id": Uuid::new_v4(), "local_start": "2026-02-03 04:05:06", "title": "", "notes": "", "sets": []}]);
        client
            .execute(
                "SELECT * FROM tidemark.import_workouts_v1($1, 'strong', 'Asia/Seoul', $2)",
                &[&user, &Json(imported)],
            )
            .await
            .unwrap();
        stored.push(pipeline.one(STORED, &[&user]).await.get::<_, String>(0));
    }
    let expected = "1770059106.000000 2026-02-03 04:05:06\n1784529000.000000 2026-07-19 23:30:00";
    assert!(stored.iter().all(|text| text == expected), "{stored:#?}");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn b03_leases_and_backoff_last_as_long_in_every_session_zone() {
    for zone in ["America/New_York", "Pacific/Chatham", "Asia/Kolkata"] {
        let mut pipeline = Pipeline::new().await;
        let set = format!(
            "ALTER DATABASE {0} SET TimeZone = '{zone}'; ALTER DATABASE {0} SET IntervalStyle = 'sql_standard'",
            pipeline.database.name()
        );
        pipeline.admin.batch_execute(&set).await.unwrap();
        pipeline.save(Uuid::new_v4(), "2026-07-19T17:30:00Z", "Squat", &[(100.0, 5)]).await;
        pipeline.claim().await;
        let lasting =
            "SELECT extract(epoch FROM lease_expires_at - claimed_at)::float8, lease_expires_at > clock_timestamp(),
            id, attempt, lease_token FROM public.user_stats_projection_runs";
        let row = pipeline.one(lasting, &[]).await;
        let (seconds, alive): (f64, bool) = (row.get(0), row.get(1));
        // Two readings of one clock in the same statement.
        assert!(alive && (seconds - 300.0).abs() < 1.0, "{zone}: {seconds}");

        let fail = "SELECT tidemark.run_fail_v1($1, $2, $3, 'made_up', '')";
        pipeline.one(fail, &[&row.get::<_, i64>(2), &row.get::<_, i32>(3), &row.get::<_, Uuid>(4)]).await;
        let waiting =
            "SELECT extract(epoch FROM retry_not_before - failed_at)::float8 FROM public.user_stats_projection_runs";
        let seconds: f64 = pipeline.one(waiting, &[]).await.get(0);
        assert!((seconds - 30.0).abs() < 1.0, "{zone}: {seconds}");
        pipeline.check_invariants().await;
    }
}
