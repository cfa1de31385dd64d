//! Imports: twice, with changed notes, of hundreds of workouts and of tens of thousands of sets.

use std::fmt::Write;

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
