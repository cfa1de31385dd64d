//! The save functions: one effect each, refused with the field's place and never its value.

use serde_json::{Value, json};
use tidemark_tests::Pipeline;
use tokio_postgres::types::Json;
use uuid::Uuid;

use crate::{EVENING, saved_user};

const SAVE: &str = "SELECT public.save_workout_v1($1, $2)";

#[tokio::test]
async fn a_retried_save_has_one_effect() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let workout = Json(json!({
        "id": Uuid::new_v4(), "started_at": EVENING, "sets": [{"exercise": "Squat", "weight": 100, "reps": 5}]
    }));
    let first: Json<Value> = pipeline.one(SAVE, &[&user, &workout]).await.get(0);
    let second: Json<Value> = pipeline.one(SAVE, &[&user, &workout]).await.get(0);
    assert_eq!((&first.0["inserted"], &second.0["inserted"]), (&json!(true), &json!(false)));
    assert_eq!(first.0["generation"], second.0["generation"]);
    assert_eq!(first.0["workout_id"], second.0["workout_id"]);
    assert_eq!(pipeline.jobs(user).await.len(), 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_edit_of_an_unknown_workout_is_refused_and_marks_nobody() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let workout = Json(json!({"started_at": EVENING, "sets": [{"exercise": "Squat", "weight": 100, "reps": 5}]}));
    let query = "SELECT public.edit_workout_v1($1, $2, $3)";
    let error = pipeline.admin.query_one(query, &[&user, &Uuid::new_v4(), &workout]).await.expect_err("it is unknown");
    assert_eq!(error.code().unwrap().code(), "P0002");
    assert!(pipeline.jobs(user).await.is_empty());
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_edit_writes_only_the_slots_that_differ() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let workout = pipeline.save(user, EVENING, "Squat", &[(100.0, 5), (110.0, 5), (120.0, 5)]).await;
    let places = "SELECT array_agg(ctid::text ORDER BY position) FROM public.workout_sets WHERE user_id = $1";
    let before: Vec<String> = pipeline.one(places, &[&user]).await.get(0);
    let edited = Json(json!({"started_at": EVENING, "sets": [
        {"exercise": "Squat", "weight": 100, "reps": 5}, {"exercise": "Squat", "weight": 110, "reps": 6}
    ]}));
    pipeline.one("SELECT public.edit_workout_v1($1, $2, $3)", &[&user, &workout, &edited]).await;
    let after: Vec<String> = pipeline.one(places, &[&user]).await.get(0);
    assert_eq!(after.len(), 2);
    assert_eq!(after[0], before[0]);
    assert_ne!(after[1], before[1]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn deleting_twice_is_no_error_and_marks_once() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let workout = pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    let query = "SELECT public.delete_workout_v1($1, $2)";
    let first: Json<Value> = pipeline.one(query, &[&user, &workout]).await.get(0);
    let second: Json<Value> = pipeline.one(query, &[&user, &workout]).await.get(0);
    assert_eq!((&first.0["deleted"], &second.0["deleted"]), (&json!(true), &json!(false)));
    assert_eq!(first.0["generation"], second.0["generation"]);
    assert_eq!(pipeline.jobs(user).await.len(), 2);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_refused_save_names_the_field_and_never_its_value() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let set = |field: &str, value: Value| json!({"started_at": EVENING, "sets": [{"exercise": "Squat", field: value}]});
    for (workout, place) in [
        (json!([]), "the workout"),
        (json!({"started_at": "canary"}), "started_at"),
        (json!({"started_at": "2026-07-19T17:30:00", "sets": []}), "started_at"),
        (json!({"started_at": "9999-12-31T23:00:00Z", "time_zone": "Europe/Berlin", "title": "canary"}), "started_at"),
        (json!({"started_at": "0001-01-01T00:00:00Z", "notes": "canary"}), "started_at"),
        (json!({"started_at": EVENING, "title": {"canary": 1}}), "title"),
        (json!({"started_at": EVENING, "notes": true}), "title and notes"),
        (set("notes", json!(["canary"])), "sets[0].notes"),
        (set("exercise", json!("  ")), "sets[0].exercise"),
        (json!({"started_at": EVENING, "sets": "canary"}), "sets"),
        (set("exercise", json!("")), "sets[0].exercise"),
        (set("reps", json!("canary")), "sets[0].reps"),
        (set("reps", json!(5.5)), "sets[0].reps"),
        (set("weight", json!(1_000_000)), "sets[0].weight"),
        (set("kind", json!("canary")), "sets[0].kind"),
        (set("unit", json!("canary")), "sets[0].unit"),
        (set("rpe", json!(11)), "sets[0].rpe"),
        (json!({"started_at": EVENING, "sets": ["canary"]}), "sets[0] must"),
        (json!({"started_at": EVENING, "canary": 1}), "the workout has a field that is not known"),
        (set("canary", json!(100)), "sets[0] has a field that is not known"),
    ] {
        let error = pipeline.admin.query_one(SAVE, &[&user, &Json(&workout)]).await.expect_err("it is refused");
        let refused = error.as_db_error().unwrap();
        assert_eq!(refused.code().code(), "22023", "{workout}");
        assert!(refused.message().starts_with(place), "{workout}: {}", refused.message());
        assert!(!refused.message().contains("canary"));
    }
    assert!(pipeline.jobs(user).await.is_empty());
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_falls_on_the_date_of_its_own_zone() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let workout = Json(json!({"started_at": "2026-07-20T23:30:00Z", "time_zone": "Asia/Seoul"}));
    pipeline.one(SAVE, &[&user, &workout]).await;
    let query = "SELECT local_date::text FROM public.workouts WHERE user_id = $1 AND time_zone = 'Asia/Seoul'";
    assert_eq!(pipeline.one(query, &[&user]).await.get::<_, String>(0), "2026-07-21");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_misspelled_field_is_refused_with_the_fields_there_are_and_nothing_is_stored_or_changed() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let workout = pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    let edit = "SELECT public.edit_workout_v1($1, $2, $3)";
    for (document, known) in [
        (
            json!({"started_at": EVENING, "note": "easy"}),
            "id, started_at, time_zone, duration_seconds, title, notes, sets",
        ),
        (
            json!({"started_at": EVENING, "sets": [{"exercise": "Squat"}, {"exercise": "Squat", "rep": 5}]}),
            "exercise, kind, weight, unit, reps, duration_seconds, distance_meters, rpe, superset, notes",
        ),
    ] {
        let document = Json(document);
        for refused in [
            pipeline.admin.query_one(SAVE, &[&user, &document]).await,
            pipeline.admin.query_one(edit, &[&user, &workout, &document]).await,
        ] {
            let error = refused.expect_err("it is refused");
            let refused = error.as_db_error().unwrap();
            assert_eq!(refused.code().code(), "22023");
            assert!(refused.message().ends_with(known), "{}", refused.message());
        }
    }
    let stored = "SELECT count(*) = 1 AND sum(reps) = 5 FROM public.workout_sets WHERE user_id = $1";
    assert!(pipeline.one(stored, &[&user]).await.get::<_, bool>(0));
    assert_eq!(pipeline.jobs(user).await.len(), 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn every_field_that_is_known_is_stored() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let workout = Json(json!({
        "id": Uuid::new_v4(), "started_at": EVENING, "time_zone": "Asia/Seoul", "duration_seconds": 3600, "title": "Legs",
        "notes": "easy", "sets": [{
            "exercise": "Squat", "kind": "drop", "weight": 100.5, "unit": "lb", "reps": 5, "duration_seconds": 30,
            "distance_meters": 12.5, "rpe": 8.5, "superset": 2, "notes": "slow"
        }]
    }));
    pipeline.one(SAVE, &[&user, &workout]).await;
    let stored = "SELECT workout.time_zone, workout.duration_seconds, workout.title, workout.notes,
            concat_ws('|', logged.kind, trim_scale(logged.weight), logged.weight_unit, logged.reps,
                logged.duration_seconds, trim_scale(logged.distance_meters), trim_scale(logged.rpe), logged.superset,
                logged.notes)
        FROM public.workouts AS workout JOIN public.workout_sets AS logged
            ON logged.user_id = workout.user_id AND logged.workout_id = workout.id
        WHERE workout.user_id = $1";
    let row = pipeline.one(stored, &[&user]).await;
    let texts: [String; 3] = [row.get(0), row.get(2), row.get(3)];
    assert_eq!(texts, ["Asia/Seoul", "Legs", "easy"]);
    assert_eq!(row.get::<_, i64>(1), 3600);
    assert_eq!(row.get::<_, String>(4), "drop|100.5|lb|5|30|12.5|8.5|2|slow");
    pipeline.check_invariants().await;
}
