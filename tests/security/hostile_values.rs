//! Values that break what is put together carelessly: each is stored as it is or refused with a clear error, never a fault.

use serde_json::{Value, json};
use tidemark_tests::Pipeline;
use tokio_postgres::Client;
use tokio_postgres::types::Json;
use uuid::Uuid;

use crate::refusal::{Refusal, refusal};

/// Texts that mean something to SQL, to a shell, to JSON, to HTML or to a terminal.
fn hostile_texts() -> Vec<String> {
    let texts = [
        "'",
        "''",
        "\"",
        "\\",
        "\\'",
        "$$",
        "$1",
        "%s%n%I%L",
        "'); DROP TABLE public.workouts; --",
        "$$; DROP TABLE public.workouts; $$",
        "E'\\x27'",
        "/* ",
        "-- ",
        ";",
        "{\"a\": 1}",
        "null",
        "NULL",
        "{}",
        "{1,2}",
        "\u{0001}\u{001b}[31m\r\n\t",
        "\u{202e}evil\u{202c}\u{feff}\u{200d}",
        "<script>alert(1)</script>",
        "😀\u{10ffff}ä́한국어",
        "NaN",
        "-Infinity",
        "1e400",
        "../../etc/passwd",
        "${jndi:ldap://a}",
        "' OR '1'='1",
    ];
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Refusals that tell the caller what is wrong: data exceptions, constraints, missing rights, missing rows, limits.
fn is_clear(refusal: &Refusal) -> bool {
    let classes = ["22", "23", "42501", "P0002", "54"];
    classes.iter().any(|class| refusal.code.starts_with(class)) && refusal.code != "22000"
}

async fn save(client: &Client, user: Uuid, workout: Value) -> Option<Refusal> {
    refusal(client, "SELECT public.save_workout_v1($1, $2)", &[&user, &Json(workout)]).await
}

/// A document as text, so that it can hold what a JSON library would not write.
async fn save_text(client: &Client, user: Uuid, workout: &str) -> Option<Refusal> {
    refusal(client, "SELECT public.save_workout_v1($1, $2::text::jsonb)", &[&user, &workout]).await
}

fn workout_with(field: &str, value: Value) -> Value {
    let mut workout =
        json!({"started_at": "2026-07-19T17:30:00Z", "sets": [{"exercise": "Squat", "weight": 1, "reps": 1}]});
    match field.strip_prefix("sets.") {
        Some(field) => workout["sets"][0][field] = value,
        None => workout[field] = value,
    }
    workout
}

#[tokio::test]
async fn free_texts_of_a_save_are_stored_to_the_letter() {
    let mut pipeline = Pipeline::new().await;
    for text in hostile_texts() {
        let user = Uuid::new_v4();
        let mut workout = workout_with("title", json!(text));
        workout["notes"] = json!(text);
        workout["sets"][0]["exercise"] = json!(text);
        workout["sets"][0]["notes"] = json!(text);
        assert_eq!(save(&pipeline.admin, user, workout).await, None, "{text:?}");
        let query = "SELECT workout.title = $2 AND workout.notes = $2 AND stored.notes = $2 AND exercise.name = $2
            FROM public.workouts AS workout
            JOIN public.workout_sets AS stored ON stored.user_id = workout.user_id AND stored.workout_id = workout.id
            JOIN public.exercises AS exercise ON exercise.user_id = stored.user_id AND exercise.id = stored.exercise_id
            WHERE workout.user_id = $1";
        assert!(pipeline.one(query, &[&user, &text]).await.get::<_, bool>(0), "{text:?}");
    }
    pipeline.refresh().await;
    let published = "SELECT count(*) FROM public.user_exercise_stats";
    let expected = i64::try_from(hostile_texts().len()).unwrap();
    assert_eq!(pipeline.one(published, &[]).await.get::<_, i64>(0), expected);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn every_other_field_of_a_save_refuses_a_hostile_text_without_repeating_it() {
    let pipeline = Pipeline::new().await;
    let fields = [
        "id",
        "started_at",
        "time_zone",
        "duration_seconds",
        "sets",
        "sets.kind",
        "sets.unit",
        "sets.weight",
        "sets.reps",
        "sets.duration_seconds",
        "sets.distance_meters",
        "sets.rpe",
        "sets.superset",
    ];
    for field in fields {
        for text in hostile_texts().into_iter().chain(["canary-7919".to_owned(), "x".repeat(1 << 20)]) {
            let refused = save(&pipeline.admin, Uuid::new_v4(), workout_with(field, json!(text))).await;
            let refused = refused.unwrap_or_else(|| panic!("{field} accepts {text:?}"));
            assert!(is_clear(&refused), "{field} {:.40?}: {} {:.200}", text, refused.code, refused.text);
            assert!(text.len() < 8 || !refused.text.contains(&text), "{field} is repeated: {:.200}", refused.text);
        }
    }
    let workouts = "SELECT count(*) FROM public.workouts";
    assert_eq!(pipeline.one(workouts, &[]).await.get::<_, i64>(0), 0);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn instants_and_ids_that_only_look_right_are_refused_without_repeating_them() {
    let pipeline = Pipeline::new().await;
    let looks_right = [
        ("started_at", "2026-99-99T17:30:00Z"),
        ("started_at", "2026-02-30T17:30:00Z"),
        ("started_at", "2026-02-03T25:61:00Z"),
        ("started_at", "2026-02-03T17:30:00+99:99"),
        ("started_at", "0000-01-01T00:00:00Z"),
        ("started_at", "infinity"),
        ("id", "00000000-0000-0000-0000-00000000000"),
        ("id", "zzzzzzzz-0000-0000-0000-000000000000"),
    ];
    for (field, value) in looks_right {
        let refused = save(&pipeline.admin, Uuid::new_v4(), workout_with(field, json!(value))).await;
        let refused = refused.unwrap_or_else(|| panic!("{field} accepts {value}"));
        assert!(refused.code.starts_with("22") && !refused.text.contains(value), "{field}: {refused:?}");
    }
}

#[tokio::test]
async fn values_of_another_json_type_are_refused_or_stored_as_their_text() {
    let pipeline = Pipeline::new().await;
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0.1),
        json!([]),
        json!({}),
        json!([[["x"]]]),
        json!({"a": {"b": 1}}),
    ];
    let fields = [
        "id",
        "started_at",
        "time_zone",
        "duration_seconds",
        "title",
        "notes",
        "sets",
        "sets.exercise",
        "sets.kind",
        "sets.unit",
        "sets.weight",
        "sets.reps",
        "sets.duration_seconds",
        "sets.distance_meters",
        "sets.rpe",
        "sets.superset",
        "sets.notes",
    ];
    for field in fields {
        for value in &values {
            if let Some(refused) = save(&pipeline.admin, Uuid::new_v4(), workout_with(field, value.clone())).await {
                assert!(is_clear(&refused), "{field} {value}: {refused:?}");
            }
        }
    }
    for whole in [json!(null), json!([]), json!("x"), json!(1), json!({}), json!({"sets": []})] {
        let refused = save(&pipeline.admin, Uuid::new_v4(), whole).await.unwrap();
        assert_eq!(refused.code, "22023", "{refused:?}");
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn numbers_beyond_every_limit_are_refused() {
    let pipeline = Pipeline::new().await;
    let numbers =
        ["1e400", "-1e400", "1e-400", "1e131071", "1e131073", "1000000", "99999999999999999999", "0.0000000001"];
    for field in ["weight", "reps", "duration_seconds", "distance_meters", "rpe", "superset"] {
        for number in numbers {
            let workout = format!(
                "{{\"started_at\": \"2026-07-19T17:30:00Z\", \"sets\": [{{\"exercise\": \"Squat\", \"{field}\": {number}}}]}}"
            );
            let outcome = save_text(&pipeline.admin, Uuid::new_v4(), &workout).await;
            let fits = number == "1000000" && !matches!(field, "weight" | "rpe");
            assert_eq!(outcome.is_none(), fits, "{field} {number}: {outcome:?}");
            assert!(outcome.is_none_or(|refused| refused.code.starts_with("22")), "{field} {number}");
        }
    }
    for not_json in ["NaN", "Infinity", "-Infinity", "0x10", "1_000", "+1", "01"] {
        let workout = format!("{{\"started_at\": \"2026-07-19T17:30:00Z\", \"sets\": [{{\"weight\": {not_json}}}]}}");
        assert_eq!(save_text(&pipeline.admin, Uuid::new_v4(), &workout).await.unwrap().code, "22P02", "{not_json}");
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn nul_and_lone_surrogates_are_refused_by_the_server() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let escaped = "{\"started_at\": \"2026-07-19T17:30:00Z\", \"title\": \"a\\u0000b\"}";
    assert_eq!(save_text(&pipeline.admin, user, escaped).await.unwrap().code, "22P05");
    assert_eq!(save(&pipeline.admin, user, workout_with("title", json!("a\0b"))).await.unwrap().code, "22P05");
    for lone in ["\\ud800", "\\udc00", "\\ud800\\ud800", "\\ud83dx"] {
        let workout = format!("{{\"started_at\": \"2026-07-19T17:30:00Z\", \"title\": \"{lone}\"}}");
        assert_eq!(save_text(&pipeline.admin, user, &workout).await.unwrap().code, "22P02", "{lone}");
    }
    let zone = refusal(&pipeline.admin, "SELECT tidemark.check_time_zone($1)", &[&"Europe/\0Berlin"]).await.unwrap();
    assert_eq!(zone.code, "22021");
}

#[tokio::test]
async fn deep_and_wide_documents_are_refused_or_ignored_but_break_nothing() {
    let pipeline = Pipeline::new().await;
    for depth in [100, 10_000, 1_000_000] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for place in ["title", "sets", "unknown"] {
            let workout = format!("{{\"started_at\": \"2026-07-19T17:30:00Z\", \"{place}\": {nested}}}");
            if let Some(refused) = save_text(&pipeline.admin, Uuid::new_v4(), &workout).await {
                assert!(is_clear(&refused), "{place} {depth}: {} {:.300}", refused.code, refused.text);
            }
        }
    }
    let many: Vec<Value> = (0..2001).map(|_set| json!({"exercise": "Squat"})).collect();
    let refused = save(&pipeline.admin, Uuid::new_v4(), workout_with("sets", json!(many))).await.unwrap();
    assert_eq!(refused.code, "22023");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn texts_of_a_megabyte_are_refused_where_a_limit_is_documented() {
    let pipeline = Pipeline::new().await;
    let long = "x".repeat(1 << 20);
    for field in ["title", "notes", "sets.exercise", "sets.notes", "time_zone"] {
        let refused = save(&pipeline.admin, Uuid::new_v4(), workout_with(field, json!(long))).await.unwrap();
        assert_eq!(refused.code, "22023", "{field}");
        assert!(refused.text.len() < 2000, "{field} repeats the text");
    }
}

async fn import(client: &Client, user: Uuid, source: &str, zone: &str, workouts: &Value) -> Option<Refusal> {
    let statement = "SELECT * FROM tidemark.import_workouts_v1($1, $2, $3, $4)";
    refusal(client, statement, &[&user, &source, &zone, &Json(workouts)]).await
}

#[tokio::test]
async fn an_import_stores_hostile_texts_to_the_letter() {
    let mut pipeline = Pipeline::new().await;
    for text in hostile_texts() {
        let user = Uuid::new_v4();
        let workouts = json!([{
            "id": Uuid::new_v4(), "local_start": "2026-07-19 17:30:00", "title": text, "notes": text,
            "sets": [{"position": 0, "exercise": text, "kind": "normal", "weight": 1, "unit": "kg", "reps": 1, "notes": text}]
        }]);
        assert_eq!(import(&pipeline.admin, user, &text, "UTC", &workouts).await, None, "{text:?}");
        let query = "SELECT workout.title = $2 AND workout.notes = $2 AND workout.source = $2 AND exercise.name = $2
            FROM public.workouts AS workout
            JOIN public.exercises AS exercise ON exercise.user_id = workout.user_id
            WHERE workout.user_id = $1";
        assert!(pipeline.one(query, &[&user, &text]).await.get::<_, bool>(0), "{text:?}");
    }
    pipeline.refresh().await;
    let stale =
        "SELECT count(*) FROM public.user_stats_projection_state WHERE requested_generation > applied_generation";
    assert_eq!(pipeline.one(stale, &[]).await.get::<_, i64>(0), 0);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_import_refuses_zones_instants_and_numbers_that_mean_nothing() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    for text in hostile_texts() {
        let refused = import(&pipeline.admin, user, "strong", &text, &json!([])).await.unwrap();
        assert_eq!(refused.code, "22023", "{text:?}");
    }
    let hostile = [
        ("local_start", json!("infinity")),
        ("local_start", json!("-infinity")),
        ("local_start", json!("20000-01-01 00:00:00")),
        ("local_start", json!("2026-02-30 00:00:00")),
        ("id", json!("'")),
        ("sets.weight", json!("NaN")),
        ("sets.weight", json!("Infinity")),
        ("sets.weight", json!("'")),
        ("sets.distance_meters", json!("NaN")),
        ("sets.rpe", json!("NaN")),
        ("sets.reps", json!(1e300)),
        ("sets.kind", json!("'")),
        ("sets.unit", json!("stone")),
        ("sets.position", json!(-1)),
        ("sets.exercise", json!("x".repeat(1 << 20))),
        ("sets.exercise", json!("")),
    ];
    for (field, value) in hostile {
        let mut workouts = json!([{
            "id": Uuid::new_v4(), "local_start": "2026-07-19 17:30:00", "title": "", "notes": "",
            "sets": [{"position": 0, "exercise": "Squat", "kind": "normal", "weight": 1, "unit": "kg", "reps": 1}]
        }]);
        match field.strip_prefix("sets.") {
            Some(field) => workouts[0]["sets"][0][field] = value.clone(),
            None => workouts[0][field] = value.clone(),
        }
        let refused = import(&pipeline.admin, user, "strong", "UTC", &workouts).await;
        let refused = refused.unwrap_or_else(|| panic!("{field} accepts {value:.40}"));
        assert!(is_clear(&refused), "{field} {value:.40}: {} {:.300}", refused.code, refused.text);
    }
    let stored = "SELECT count(*) FROM public.workouts";
    assert_eq!(pipeline.one(stored, &[]).await.get::<_, i64>(0), 0);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn rows_that_no_compute_could_read_are_refused_whatever_road_they_take() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    pipeline.save(user, "2026-07-19T17:30:00Z", "Squat", &[(100.0, 5)]).await;
    for statement in [
        "UPDATE public.workout_sets SET weight = 'NaN'",
        "UPDATE public.workout_sets SET distance_meters = 'NaN'",
        "UPDATE public.workout_sets SET rpe = 'NaN'",
        "UPDATE public.workouts SET started_at = 'infinity'",
        "UPDATE public.workouts SET started_at = '-infinity'",
        "UPDATE public.workouts SET local_date = 'infinity'",
        "UPDATE public.workouts SET local_date = '10000-01-01'",
        "UPDATE public.workouts SET local_date = '0001-12-31 BC'",
        "UPDATE public.workouts SET local_time = '24:00:00'",
        "UPDATE public.exercises SET bodyweight_share = 'NaN'",
        "INSERT INTO public.bodyweight_log SELECT user_id, 'infinity', 80 FROM public.workouts",
        "INSERT INTO public.bodyweight_log SELECT user_id, '10000-01-01', 80 FROM public.workouts",
        "INSERT INTO public.bodyweight_log SELECT user_id, '2026-01-01', 'NaN' FROM public.workouts",
    ] {
        let refused = refusal(&pipeline.admin, statement, &[]).await;
        assert!(refused.as_ref().is_some_and(is_clear), "{statement}: {refused:?}");
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_workers_functions_keep_hostile_texts_within_their_limits() {
    let mut pipeline = Pipeline::new().await;
    for text in hostile_texts().into_iter().chain(["x".repeat(1 << 20)]) {
        pipeline.save(Uuid::new_v4(), "2026-07-19T17:30:00Z", "Squat", &[(100.0, 5)]).await;
        pipeline.claim().await;
        let fail =
            "SELECT tidemark.run_fail_v1(id, attempt, lease_token, $1, $1) FROM public.user_stats_projection_runs
            WHERE phase = 'claimed'";
        assert_eq!(pipeline.one(fail, &[&text]).await.get::<_, String>(0), "retry");
        let stored = "SELECT error_code = left($1, 100) AND error_message = left($1, 2000)
            FROM public.user_stats_projection_runs ORDER BY id DESC LIMIT 1";
        assert!(pipeline.one(stored, &[&text]).await.get::<_, bool>(0), "{text:.40?}");

        let worker = pipeline.database.worker().await;
        let begun = refusal(&worker, "SELECT tidemark.begin_step_v1($1)", &[&text]).await.unwrap();
        assert_eq!(begun.code, "22023");
        assert_eq!(refusal(&worker, "SELECT tidemark.tick_end_v1($1, $1)", &[&text]).await, None);
        assert_eq!(refusal(&worker, "SELECT tidemark.tick_end_v1('claim', $1)", &[&text]).await, None);
        let outcome = "SELECT last_outcome = left($1, 40) FROM tidemark.ticks WHERE function_name = 'claim'";
        assert!(pipeline.one(outcome, &[&text]).await.get::<_, bool>(0), "{text:.40?}");
    }
    let ticks = "SELECT count(*) FROM tidemark.ticks";
    assert_eq!(pipeline.one(ticks, &[]).await.get::<_, i64>(0), 4);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_note_of_the_settings_row_is_stored_to_the_letter_with_its_history() {
    let pipeline = Pipeline::new().await;
    for text in hostile_texts() {
        pipeline.run("UPDATE public.stats_projection_worker_settings SET note = $1", &[&text]).await;
        let query = "SELECT settings.note = $1 AND history.new_row ->> 'note' = $1
            FROM public.stats_projection_worker_settings AS settings,
                (SELECT new_row FROM public.stats_projection_worker_settings_history ORDER BY id DESC LIMIT 1) AS history";
        assert!(pipeline.one(query, &[&text]).await.get::<_, bool>(0), "{text:?}");
    }
}
