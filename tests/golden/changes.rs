//! Edits, deletes and renames: everything derives from source, so that figures can fall.

use crate::lifter::{Lifter, workout};

#[tokio::test]
async fn c31_deleting_the_best_workout_lowers_the_record() {
    let mut lifter = Lifter::new().await;
    lifter.lift("2025-01-01", "Bench Press", &[(100.0, "kg", 5)]).await;
    let best = lifter.lift("2025-01-08", "Bench Press", &[(120.0, "kg", 5)]).await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Bench Press", "heaviest_kg").await.as_deref(), Some("120"));
    lifter.delete(best).await;
    lifter.refresh().await;
    let expected = [
        ("heaviest_kg", "100"),
        ("heaviest_on", "2025-01-01"),
        ("total_volume_kg", "500"),
        ("last_performed_on", "2025-01-01"),
        ("records", "[]"),
    ];
    for (column, value) in expected {
        assert_eq!(lifter.exercise("Bench Press", column).await.as_deref(), Some(value), "{column}");
    }
    let weeks = lifter.weeks().await;
    assert_eq!(weeks.len(), 1, "the week of the deleted workout is gone: {weeks:?}");
}

#[tokio::test]
async fn deleting_the_only_workout_leaves_no_row_but_an_empty_summary() {
    let mut lifter = Lifter::new().await;
    let only = lifter.lift("2025-01-01", "Bench Press", &[(100.0, "kg", 5)]).await;
    lifter.refresh().await;
    lifter.delete(only).await;
    lifter.refresh().await;
    let rows = "SELECT ((SELECT count(*) FROM public.user_exercise_stats WHERE user_id = $1)
        + (SELECT count(*) FROM public.user_exercise_rep_maxes WHERE user_id = $1)
        + (SELECT count(*) FROM public.user_exercise_stats_weekly WHERE user_id = $1)
        + (SELECT count(*) FROM public.user_muscle_stats_weekly WHERE user_id = $1))::text";
    assert_eq!(lifter.text(rows).await.as_deref(), Some("0"));
    assert_eq!(lifter.summary("workouts").await.as_deref(), Some("0"));
    assert_eq!(lifter.summary("first_performed_on").await, None);
}

#[tokio::test]
async fn editing_the_best_set_lowers_the_record_and_moving_a_workout_moves_it() {
    let mut lifter = Lifter::new().await;
    lifter.lift("2025-01-01", "Squat", &[(100.0, "kg", 5)]).await;
    let best = lifter.lift("2025-01-08", "Squat", &[(150.0, "kg", 5), (140.0, "kg", 5)]).await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Squat", "heaviest_kg").await.as_deref(), Some("150"));

    lifter.edit(best, workout("2025-01-08", "Squat", &[(105.0, "kg", 5)])).await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Squat", "heaviest_kg").await.as_deref(), Some("105"));
    assert_eq!(lifter.exercise("Squat", "sets").await.as_deref(), Some("2"));

    // Moved before the first workout, it becomes the base, and the other one beats nothing.
    lifter.edit(best, workout("2024-12-01", "Squat", &[(105.0, "kg", 5)])).await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Squat", "heaviest_on").await.as_deref(), Some("2024-12-01"));
    assert_eq!(lifter.exercise("Squat", "records").await.as_deref(), Some("[]"));
    assert_eq!(lifter.exercise("Squat", "last_performed_on").await.as_deref(), Some("2025-01-01"));

    // With another exercise in its place, the old one loses it and the new one gains it.
    lifter.edit(best, workout("2024-12-01", "Front Squat", &[(105.0, "kg", 5)])).await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Squat", "heaviest_kg").await.as_deref(), Some("100"));
    assert_eq!(lifter.exercise("Front Squat", "heaviest_kg").await.as_deref(), Some("105"));
}

#[tokio::test]
async fn c34_a_renamed_and_archived_exercise_keeps_its_sets() {
    let mut lifter = Lifter::new().await;
    lifter.lift("2025-01-01", "A", &[(100.0, "kg", 5); 3]).await;
    lifter.refresh().await;
    for change in ["name = 'B'", "archived_at = clock_timestamp()"] {
        let statement = format!("UPDATE public.exercises SET {change} WHERE user_id = $1");
        assert_eq!(lifter.run(&statement, &[&lifter.user]).await, 1);
        lifter.refresh().await;
        assert_eq!(lifter.exercise("B", "sets").await.as_deref(), Some("3"), "after {change}");
        assert_eq!(lifter.summary("exercises").await.as_deref(), Some("1"));
    }
}

#[tokio::test]
async fn merged_exercises_are_published_under_the_target_and_part_again() {
    let mut lifter = Lifter::new().await;
    lifter.lift("2025-01-01", "Bench", &[(100.0, "kg", 5)]).await;
    lifter.lift("2025-01-02", "Bench Press", &[(110.0, "kg", 5)]).await;
    let merge = "UPDATE public.exercises SET merged_into = (
            SELECT id FROM public.exercises WHERE user_id = $1 AND name = 'Bench Press')
        WHERE user_id = $1 AND name = 'Bench'";
    lifter.run(merge, &[&lifter.user]).await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Bench Press", "sets").await.as_deref(), Some("2"));
    assert_eq!(lifter.summary("exercises").await.as_deref(), Some("1"));

    // A later set of the merged exercise reaches the target's row.
    lifter.lift("2025-01-03", "Bench", &[(120.0, "kg", 5)]).await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Bench Press", "heaviest_kg").await.as_deref(), Some("120"));

    lifter.run("UPDATE public.exercises SET merged_into = NULL WHERE user_id = $1", &[&lifter.user]).await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Bench", "sets").await.as_deref(), Some("2"));
    assert_eq!(lifter.exercise("Bench Press", "sets").await.as_deref(), Some("1"));
}
