//! Imports: twice, with changed notes, of hundreds of workouts and of tens of thousands of sets.

use std::fmt::Write;

use serde_json::json;
use tidemark_importers::storing::{self, StoreOptions};
use tidemark_importers::{ParseOptions, parse};
use uuid::Uuid;

use crate::lifter::Lifter;

const HEADER: &str =
    "Date,Workout Name,Duration,Exercise Name,Set Order,Weight,Reps,Distance,Seconds,Notes,Workout Notes,RPE";

/// A Strong export of `workouts` workouts on consecutive days, `sets` sets each, one exercise per ten workouts in turn.
fn strong(workouts: u32, sets: u32, note: &str) -> String {
    let mut file = HEADER.to_owned();
    let first: jiff::civil::Date = "2020-01-01".parse().unwrap();
    let mut day = first;
    for workout in 0..workouts {
        for set in 1..=sets {
            let (exercise, weight, reps) = (workout % 10, 40 + (workout + set) % 60, 1 + set % 12);
            write!(
                file,
                "\n{day} 18:00:00,\"Evening\",1h,\"Exercise {exercise}\",{set},{weight}.5,{reps},0,0,\"{note}\",\"\","
            )
            .unwrap();
        }
        day = day.tomorrow().unwrap();
    }
    file
}

async fn runs(lifter: &Lifter) -> i64 {
    let query = "SELECT count(*) FROM public.user_stats_projection_runs WHERE user_id = $1";
    lifter.pipeline.one(query, &[&lifter.user]).await.get(0)
}

#[tokio::test]
async fn c33_importing_twice_adds_nothing_and_a_changed_comment_neither() {
    let mut lifter = Lifter::new().await;
    assert_eq!(lifter.import(strong(5, 4, "first").as_bytes(), None).await.imported, 20);
    lifter.refresh().await;
    for note in ["first", "changed"] {
        let again = lifter.import(strong(5, 4, note).as_bytes(), None).await;
        assert_eq!((again.imported, again.skipped.len()), (0, 20), "{note}");
    }
    assert_eq!(lifter.import(strong(6, 4, "more").as_bytes(), None).await.imported, 4, "only what is new is added");
    lifter.refresh().await;
    assert_eq!(lifter.summary("workouts").await.as_deref(), Some("6"));
    assert_eq!(lifter.summary("sets").await.as_deref(), Some("24"));
}

#[tokio::test]
async fn c37_an_import_of_772_workouts_makes_one_refresh() {
    let mut lifter = Lifter::new().await;
    assert_eq!(lifter.import(strong(772, 3, "").as_bytes(), None).await.imported, 2316);
    lifter.refresh().await;
    assert_eq!(runs(&lifter).await, 1);
    assert_eq!(lifter.summary("workouts").await.as_deref(), Some("772"));
}

#[tokio::test]
async fn c36_the_figures_of_38786_sets_are_served_from_stored_rows() {
    const SETS: u32 = 38_786;
    let mut lifter = Lifter::new().await;
    lifter.import(strong(1385, 28, "").as_bytes(), None).await;
    lifter.import(strong(1386, 6, "").as_bytes(), None).await;
    assert_eq!(1385 * 28 + 6, SETS);
    lifter.refresh().await;
    let rows =
        "SELECT (sum(working_set_rows) + sum(warmup_sets))::text FROM public.user_exercise_stats WHERE user_id = $1";
    assert_eq!(lifter.text(rows).await, Some(SETS.to_string()));

    // Serving reads the stored rows of one user through their key, however many sets are behind them.
    let client = lifter.pipeline.database.connect_as("service_role").await;
    let query = "EXPLAIN (FORMAT JSON) SELECT * FROM public.user_exercise_stats WHERE user_id = ";
    let plan = client.simple_query(&format!("{query}'{}'", lifter.user)).await.unwrap();
    let plan = format!("{plan:?}");
    assert!(plan.contains("user_exercise_stats") && !plan.contains("workout_sets"), "{plan}");

    // One more set is one small publish: its exercise's rows and the summary.
    lifter.lift("2026-01-01", "Exercise 3", &[(500.0, "kg", 5)]).await;
    lifter.refresh().await;
    let changed = "SELECT (rows_changed + rows_deleted) FROM public.user_stats_projection_runs
        WHERE user_id = $1 ORDER BY id DESC LIMIT 1";
    let changed: i32 = lifter.pipeline.one(changed, &[&lifter.user]).await.get(0);
    // Exercise, summary, week, and the five rep maxima that it raises.
    assert_eq!(changed, 8);
}

/// A Strong export of one workout with these weights, five repetitions each.
fn one_workout(weights: &[u32]) -> String {
    let mut file = HEADER.to_owned();
    for (order, weight) in (1..).zip(weights) {
        write!(file, "\n2024-05-06 18:00:00,\"A\",1h,\"Squat\",{order},{weight},5,0,0,\"\",\"\",").unwrap();
    }
    file
}

const REPLACE: StoreOptions<'static> = StoreOptions { zone: None, replace: true };

#[tokio::test]
async fn an_export_that_overlaps_one_before_adds_only_the_new_workouts() {
    let mut lifter = Lifter::new().await;
    let all = strong(12, 4, "");
    let lines: Vec<&str> = all.lines().collect();
    let of_days = |days: std::ops::Range<usize>| {
        let rows = lines[1 + days.start * 4..1 + days.end * 4].join("\n");
        format!("{}\n{rows}\n", lines[0])
    };
    assert_eq!(lifter.import(of_days(0..8).as_bytes(), None).await.imported, 32);
    let later = lifter.import(of_days(5..12).as_bytes(), None).await;
    assert_eq!((later.rows, later.imported, later.skipped.len(), later.different), (28, 16, 12, 0));
    assert!(later.skipped.iter().all(|row| row.reason == "imported before"));
    lifter.refresh().await;
    assert_eq!(lifter.summary("workouts").await.as_deref(), Some("12"));
    assert_eq!(lifter.summary("sets").await.as_deref(), Some("48"));
}

#[tokio::test]
async fn a_workout_that_was_edited_in_the_application_stays_until_replace_is_said() {
    let mut lifter = Lifter::new().await;
    lifter.import(one_workout(&[100, 110, 120]).as_bytes(), None).await;
    let added = lifter.import(one_workout(&[100, 110, 120, 130]).as_bytes(), None).await;
    assert_eq!((added.imported, added.skipped.len(), added.different), (1, 3, 0), "a set after all others is added");
    lifter.refresh().await;
    assert_eq!(lifter.summary("total_volume_kg").await.as_deref(), Some("2300"));

    // A set put in the middle moves the others: taken set by set it would leave two of the last.
    let edited = one_workout(&[100, 105, 110, 120, 130]);
    let kept = lifter.import(edited.as_bytes(), None).await;
    assert_eq!((kept.imported, kept.skipped.len(), kept.different), (0, 5, 1));
    assert!(kept.skipped.iter().all(|row| row.reason.contains("--replace")), "{kept:?}");
    lifter.refresh().await;
    assert_eq!(lifter.summary("total_volume_kg").await.as_deref(), Some("2300"));

    let replaced = lifter.import_as(edited.as_bytes(), REPLACE).await;
    assert_eq!((replaced.imported, replaced.skipped.len(), replaced.different), (5, 0, 0));
    lifter.refresh().await;
    assert_eq!(lifter.summary("total_volume_kg").await.as_deref(), Some("2825"));
    let again = lifter.import_as(edited.as_bytes(), REPLACE).await;
    assert_eq!((again.imported, again.skipped.len(), again.different), (0, 5, 0), "replacing twice changes nothing");
    // Replaced by fewer sets, none of the old ones stays.
    assert_eq!(lifter.import_as(one_workout(&[90]).as_bytes(), REPLACE).await.imported, 1);
    lifter.refresh().await;
    assert_eq!(lifter.summary("sets").await.as_deref(), Some("1"));
}

#[tokio::test]
async fn a_workout_that_was_edited_here_is_not_undone_by_an_import() {
    let mut lifter = Lifter::new().await;
    let export = one_workout(&[100, 110, 120]);
    lifter.import(export.as_bytes(), None).await;
    let id: Uuid =
        lifter.text("SELECT id::text FROM public.workouts WHERE user_id = $1").await.unwrap().parse().unwrap();
    let sets = json!([{"exercise": "Squat", "weight": 100, "reps": 5}]);
    lifter.edit(id, json!({"started_at": "2024-05-06T18:00:00Z", "title": "A", "sets": sets})).await;
    let again = lifter.import(export.as_bytes(), None).await;
    assert_eq!((again.imported, again.skipped.len(), again.different), (0, 3, 1), "removed sets do not come back");
    lifter.refresh().await;
    assert_eq!(lifter.summary("sets").await.as_deref(), Some("1"));
}

#[tokio::test]
async fn an_exercise_that_was_renamed_does_not_come_back_empty() {
    let mut lifter = Lifter::new().await;
    lifter.import(one_workout(&[100, 110]).as_bytes(), None).await;
    lifter.run("UPDATE public.exercises SET name = 'Back Squat' WHERE user_id = $1", &[&lifter.user]).await;
    let again = lifter.import(one_workout(&[100, 110]).as_bytes(), None).await;
    assert_eq!((again.imported, again.different), (0, 1));
    lifter.refresh().await;
    let names = "SELECT string_agg(name, ',') FROM public.exercises WHERE user_id = $1";
    assert_eq!(lifter.text(names).await.as_deref(), Some("Back Squat"));
}

#[tokio::test]
async fn an_import_that_fails_midway_leaves_nothing() {
    let lifter = Lifter::new().await;
    let mut import = parse(strong(450, 2, "").as_bytes(), &ParseOptions::default()).unwrap();
    // What no parser gives: the server refuses it in the last of three statements.
    import.workouts[430].sets[1].reps = Some(-1);
    let mut client = lifter.pipeline.database.admin().await;
    let mut dealt_with = 0;
    let stored =
        storing::store(&mut client, lifter.user, &import, StoreOptions::default(), |sets| dealt_with += sets).await;
    assert!(stored.is_err());
    assert_eq!(dealt_with, 800, "two statements went well");
    for table in ["workouts", "workout_sets", "exercises", "user_stats_projection_state"] {
        let query = format!("SELECT count(*)::text FROM public.{table} WHERE user_id = $1");
        assert_eq!(lifter.text(&query).await.as_deref(), Some("0"), "{table}");
    }
    lifter.pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_instant_is_placed_on_the_calendar_of_the_zone() {
    let lifter = Lifter::new().await;
    let export = "Date,Exercise,Reps,Weight(kg),isWarmup\n2026-03-11 23:19:01 +0000,Squat,5,100,false\n";
    lifter.import(export.as_bytes(), Some("Asia/Seoul")).await;
    let query = "SELECT started_at AT TIME ZONE 'UTC' || ' ' || local_date || ' ' || local_time FROM public.workouts
        WHERE user_id = $1";
    assert_eq!(lifter.text(query).await.as_deref(), Some("2026-03-11 23:19:01 2026-03-12 08:19:01"));
    let elsewhere = lifter.import(export.as_bytes(), Some("America/New_York")).await;
    assert_eq!(elsewhere.imported, 0, "the same instant is the same workout");
}

#[tokio::test]
async fn every_look_alike_export_is_stored_once_and_its_figures_are_published() {
    let mut lifter = Lifter::new().await;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/exports");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    assert!(files.len() > 20);
    for path in files {
        let name = path.display();
        let bytes = std::fs::read(&path).unwrap();
        lifter.user = Uuid::new_v4();
        let first = lifter.import(&bytes, Some("Europe/Berlin")).await;
        assert_eq!(first.imported + first.skipped.len() as u64, first.rows, "{name}");
        lifter.refresh().await;
        let again = lifter.import(&bytes, Some("Europe/Berlin")).await;
        assert_eq!((again.imported, again.skipped.len() as u64, again.different), (0, again.rows, 0), "{name}");
        assert_eq!(lifter.summary("workouts").await, Some(first.workouts.to_string()), "{name}");
    }
}
