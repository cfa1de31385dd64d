//! Sets and volumes by muscle, through saves, renames and merges.

use serde_json::json;

use crate::lifter::Lifter;

impl Lifter {
    /// `muscle week sets volume` of every row, in the order of the key; the volume is that of all rows as logged.
    async fn muscles(&self) -> Vec<String> {
        let query = "SELECT concat_ws(' ', muscle, week_start, trim_scale(sets), trim_scale(total_volume_kg))
            FROM public.user_muscle_stats_weekly WHERE user_id = $1 ORDER BY muscle, week_start";
        let rows = self.pipeline.admin.query(query, &[&self.user]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}

#[tokio::test]
async fn a_set_counts_whole_for_a_primary_and_half_for_a_secondary_muscle() {
    let mut lifter = Lifter::new().await;
    let sets = [("warmup", 5), ("normal", 5), ("drop", 3), ("normal", 0)]
        .map(|(kind, reps)| json!({"exercise": "Bench Press (Barbell)", "kind": kind, "weight": 50, "reps": reps}));
    lifter.save(json!({"started_at": "2025-01-01T12:00:00Z", "sets": sets})).await;
    lifter.lift("2025-01-02", "Triceps Pushdown", &[(20.0, "kg", 10)]).await;
    lifter.lift("2025-01-08", "bench press", &[(50.0, "kg", 1)]).await;
    lifter.refresh().await;
    let expected = [
        "chest 2024-12-30 1 650",
        "chest 2025-01-06 1 50",
        "shoulders 2024-12-30 0.5 325",
        "shoulders 2025-01-06 0.5 25",
        "triceps 2024-12-30 1.5 525",
        "triceps 2025-01-06 0.5 25",
    ];
    assert_eq!(lifter.muscles().await, expected);
}

#[tokio::test]
async fn an_unknown_exercise_has_no_muscles_and_counts_everywhere_else() {
    let mut lifter = Lifter::new().await;
    lifter.lift("2025-01-01", "Stone of My Garden", &[(100.0, "kg", 5)]).await;
    lifter.refresh().await;
    assert_eq!(lifter.muscles().await, [""; 0]);
    assert_eq!(lifter.exercise("Stone of My Garden", "sets").await.as_deref(), Some("1"));
    assert_eq!(lifter.weeks().await.len(), 1);
    assert_eq!(lifter.summary("total_volume_kg").await.as_deref(), Some("500"));
}

#[tokio::test]
async fn a_renamed_or_merged_exercise_leaves_the_muscles_of_its_former_name() {
    let mut lifter = Lifter::new().await;
    lifter.lift("2025-01-01", "Bench Press", &[(100.0, "kg", 5)]).await;
    lifter.refresh().await;
    lifter.run("UPDATE public.exercises SET name = 'Triceps Pushdown' WHERE user_id = $1", &[&lifter.user]).await;
    lifter.refresh().await;
    assert_eq!(lifter.muscles().await, ["triceps 2024-12-30 1 500"]);

    lifter.lift("2025-01-01", "Unheard Of", &[(100.0, "kg", 1)]).await;
    let merge = "UPDATE public.exercises SET merged_into = (
            SELECT id FROM public.exercises WHERE user_id = $1 AND name = 'Unheard Of')
        WHERE user_id = $1 AND name = 'Triceps Pushdown'";
    lifter.run(merge, &[&lifter.user]).await;
    lifter.refresh().await;
    assert_eq!(lifter.muscles().await, [""; 0], "what it counts under works no muscle");
}

#[tokio::test]
async fn an_exercise_deleted_with_its_sets_leaves_its_muscles() {
    let mut lifter = Lifter::new().await;
    let only = lifter.lift("2025-01-01", "Bench Press", &[(100.0, "kg", 5)]).await;
    lifter.lift("2025-01-01", "Squat", &[(100.0, "kg", 5)]).await;
    lifter.refresh().await;
    lifter.delete(only).await;
    lifter.run("DELETE FROM public.exercises WHERE user_id = $1 AND name = 'Bench Press'", &[&lifter.user]).await;
    lifter.refresh().await;
    assert!(lifter.muscles().await.iter().all(|row| !row.starts_with("chest")));
}

#[tokio::test]
async fn how_often_an_exercise_is_done_follows_from_its_first_and_last_week() {
    let mut lifter = Lifter::new().await;
    for day in ["2025-01-01", "2025-01-03", "2025-01-03", "2025-01-20"] {
        lifter.lift(day, "Squat", &[(100.0, "kg", 5)]).await;
    }
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Squat", "training_weeks").await.as_deref(), Some("2"));
    assert_eq!(lifter.exercise("Squat", "days_per_week").await.as_deref(), Some("0.75"), "3 days in 4 weeks");
}
