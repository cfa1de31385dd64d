//! `tidemark stats`: what a person sees of one user, and what a machine gets.

use serde_json::{Value, json};
use tidemark_tests::Pipeline;
use uuid::Uuid;

use crate::folder::{Folder, Ran, data};

const HEVY: &str = "hevy_MIT_kg_rpe_settypes_7211.csv";

/// The command's own answer about `user`.
async fn stats(pipeline: &Pipeline, user: Uuid, arguments: &[&str]) -> Ran {
    let folder = Folder::new().await;
    let (user, url) = (user.to_string(), pipeline.database.url_for("postgres"));
    folder.run(&[&["stats", &user, "--database-url", &url], arguments].concat()).await
}

/// Saves one working set of each exercise now.
async fn train(pipeline: &Pipeline, user: Uuid, exercises: &[&str]) {
    let now: String = pipeline.one("SELECT to_char(now(), 'YYYY-MM-DD\"T\"HH24:MI:SSOF:00')", &[]).await.get(0);
    for exercise in exercises {
        pipeline.save(user, &now, exercise, &[(100.0, 5)]).await;
    }
}

/// Whether `value` is what `schema` says, as far as this schema's words go. Says where it is not.
fn check(schema: &Value, value: &Value, root: &Value, place: &str) {
    let words = schema.as_object().unwrap();
    if let Some(target) = words.get("$ref").and_then(Value::as_str) {
        return check(root.pointer(&target[1..]).unwrap(), value, root, place);
    }
    if let Some(choices) = words.get("anyOf").and_then(Value::as_array) {
        let choice = choices.iter().find(|choice| (choice["type"] == "null") == value.is_null()).unwrap();
        return check(choice, value, root, place);
    }
    let is = |kind: &Value| match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        unknown => panic!("{unknown}"),
    };
    let kinds = words["type"].as_array().cloned().unwrap_or_else(|| vec![words["type"].clone()]);
    assert!(kinds.iter().any(is), "{place} is {value}, not {}", words["type"]);
    if let Some(allowed) = words.get("enum") {
        assert!(allowed.as_array().unwrap().contains(value), "{place} is {value}, not one of {allowed}");
    }
    if let Some(format) = words.get("format").and_then(Value::as_str).filter(|_format| value.is_string()) {
        let text = value.as_str().unwrap();
        let is_well_formed = match format {
            "uuid" => text.parse::<Uuid>().is_ok(),
            "date" => text.parse::<jiff::civil::Date>().is_ok(),
            "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
            unknown => panic!("{unknown}"),
        };
        assert!(is_well_formed, "{place} is {value}, no {format}");
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check(&words["items"], item, root, &format!("{place}[{index}]"));
    }
    if let Some(fields) = value.as_object() {
        assert_eq!(words["additionalProperties"], false, "{place}");
        let described: Vec<&String> = words["properties"].as_object().unwrap().keys().collect();
        assert_eq!(fields.keys().collect::<Vec<_>>(), described, "{place}");
        assert_eq!(words["required"].as_array().unwrap().len(), described.len(), "{place}");
        for (name, field) in fields {
            check(&words["properties"][name], field, root, &format!("{place}.{name}"));
        }
    }
}

fn check_document(document: &Value) {
    let schema: Value = serde_json::from_str(include_str!("../../docs/stats.schema.json")).unwrap();
    check(&schema, document, &schema, "answer");
}

#[tokio::test]
async fn the_document_is_complete_and_what_its_schema_says_before_and_after_a_publish() {
    let mut pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let folder = Folder::new().await;
    let (id, url) = (user.to_string(), pipeline.database.url_for("postgres"));
    let import = ["import", &data(HEVY), "--user", &id, "--zone", "Asia/Seoul", "--database-url", &url];
    assert_eq!(folder.run(&import).await.code, Some(0));
    let before = stats(&pipeline, user, &["--json"]).await.document();
    check_document(&before);
    assert_eq!((&before["stale_because"], &before["user_stats_summary"]), (&json!("save"), &Value::Null));
    assert_eq!(before["user_stats_overview"]["sets"], 0);
    pipeline.refresh().await;
    let after = stats(&pipeline, user, &["--json"]).await.document();
    check_document(&after);
    assert_eq!(
        [&after["stale"], &after["stale_since"], &after["stale_because"]],
        [&json!(false), &Value::Null, &Value::Null]
    );
    for table in
        ["user_exercise_stats", "user_exercise_rep_maxes", "user_exercise_stats_weekly", "user_muscle_stats_weekly"]
    {
        let count = format!("SELECT count(*) FROM public.{table} WHERE user_id = $1");
        let rows: i64 = pipeline.one(&count, &[&user]).await.get(0);
        assert_eq!(after[table].as_array().unwrap().len(), usize::try_from(rows).unwrap(), "{table}");
        assert!(rows > 0, "{table}");
    }
    let totals = (&after["user_stats_overview"]["workouts"], &after["user_stats_overview"]["total_volume_kg"]);
    assert_eq!(totals, (&after["user_stats_summary"]["workouts"], &after["user_stats_summary"]["total_volume_kg"]));
    let one = stats(&pipeline, user, &["--json", "--exercise", "bench press (barbell)"]).await.document();
    check_document(&one);
    assert_eq!(one["user_exercise_stats"].as_array().unwrap().len(), 1);
    assert_eq!(one["user_muscle_stats_weekly"], json!([]));
}

#[tokio::test]
async fn a_person_sees_the_running_week_muscles_and_wide_names_without_colours() {
    let mut pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    train(&pipeline, user, &["Bench Press (Barbell)", "데드리프트", "Evil\u{1b}[31mName"]).await;
    pipeline.refresh().await;
    let ran = stats(&pipeline, user, &[]).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
    for words in [
        "Fresh: published ",
        "THIS WEEK",
        "streak           1 week",
        "SETS BY MUSCLE",
        "this week",
        "chest",
        "데드리프트",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    train(&pipeline, user, &["데드리프트"]).await;
    let ran = stats(&pipeline, user, &["--exercise", "데드리프트"]).await;
    assert!(ran.stdout.contains("STALE since ") && ran.stdout.contains("`tidemark status`"), "{}", ran.stdout);
    assert!(ran.stdout.contains("5 RM") && !ran.stdout.contains("Bench"), "{}", ran.stdout);
}

#[tokio::test]
async fn a_name_that_is_not_known_is_answered_with_those_most_like_it() {
    let mut pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    train(&pipeline, user, &["Bench Press (Barbell)", "벤치 프레스", "Farmer's Walk", "Old Squat", "Squat (Barbell)"])
        .await;
    let merge = "UPDATE public.exercises AS old SET merged_into = kept.id FROM public.exercises AS kept
        WHERE old.user_id = $1 AND kept.user_id = $1 AND old.name = 'Old Squat' AND kept.name = 'Squat (Barbell)'";
    assert_eq!(pipeline.run(merge, &[&user]).await, 1);
    pipeline.refresh().await;
    for (wanted, words) in [
        ("Bench Pres", &["`Bench Press (Barbell)`", "--exercise 'Bench Press (Barbell)'"][..]),
        ("벤치프레스", &["did you mean `벤치 프레스`"]),
        // To be pasted into a shell.
        ("farmers walk", &["--exercise 'Farmer'\\''s Walk'"]),
        ("old squat", &["count under `Squat (Barbell)`", "--exercise 'Squat (Barbell)'"]),
        ("Yoga", &["lists the user's exercises"]),
        ("' OR true --", &["lists the user's exercises"]),
    ] {
        stats(&pipeline, user, &["--exercise", wanted]).await.check_refused(1, words);
        stats(&pipeline, user, &["--json", "--exercise", wanted]).await.check_refused(1, words);
    }
    // It may be what waits.
    train(&pipeline, user, &["Yoga"]).await;
    stats(&pipeline, user, &["--exercise", "Yoga"]).await.check_refused(1, &["waits to be published"]);
}

#[tokio::test]
async fn a_user_who_is_not_known_is_answered_with_who_is() {
    let pipeline = Pipeline::new().await;
    let (user, stranger) = (Uuid::new_v4(), Uuid::new_v4());
    stats(&pipeline, stranger, &[]).await.check_refused(1, &[&stranger.to_string(), "tidemark import"]);
    train(&pipeline, user, &["Squat"]).await;
    stats(&pipeline, stranger, &[]).await.check_refused(1, &["known are", &user.to_string()]);
    for _further in 0..3 {
        train(&pipeline, Uuid::new_v4(), &["Squat"]).await;
    }
    stats(&pipeline, stranger, &["--json"]).await.check_refused(1, &["check the id"]);
    let url = pipeline.database.url_for("postgres");
    let ran = Folder::new().await.run(&["stats", "me", "--database-url", &url]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
