//! Dates, weeks and zones through `save_workout_v1`.

use serde_json::{Value, json};

use crate::lifter::Lifter;

fn squats(started_at: &str, zone: &str) -> Value {
    json!({"started_at": started_at, "time_zone": zone, "sets": [{"exercise": "Squat", "weight": 50, "reps": 5}]})
}

async fn saved(workouts: &[Value]) -> Lifter {
    let mut lifter = Lifter::new().await;
    for workout in workouts {
        lifter.save(workout.clone()).await;
    }
    lifter.refresh().await;
    lifter
}

fn week(first: &str, iso: &str, sets: i64) -> (String, String, i64) {
    (first.to_owned(), iso.to_owned(), sets)
}

#[tokio::test]
async fn c18_a_workout_after_midnight_is_published_under_its_local_date_and_week() {
    let lifter = saved(&[squats("2023-12-18T00:55:00+05:30", "Asia/Kolkata")]).await;
    assert_eq!(lifter.summary("first_performed_on").await.as_deref(), Some("2023-12-18"));
    assert_eq!(lifter.weeks().await, [week("2023-12-18", "2023-W51", 1)]);
}

#[tokio::test]
async fn c19_new_year_at_midnight_is_published_in_january() {
    let lifter = saved(&[squats("2025-01-01T00:00:00+01:00", "Europe/Paris")]).await;
    let months = "SELECT string_agg(month ->> 'month', ' ') FROM public.user_stats_summary,
        jsonb_array_elements(monthly) AS month WHERE user_id = $1";
    assert_eq!(lifter.text(months).await.as_deref(), Some("2025-01"));
    assert_eq!(lifter.summary("first_performed_on").await.as_deref(), Some("2025-01-01"));
}

#[tokio::test]
async fn c21_the_week_start_of_the_profile_moves_weeks_and_nothing_else() {
    let days = ["2026-01-24", "2026-01-25", "2026-01-26"];
    let mut lifter = saved(&days.map(|day| squats(&format!("{day}T12:00:00Z"), "UTC"))).await;
    assert_eq!(lifter.weeks().await, [week("2026-01-19", "2026-W04", 2), week("2026-01-26", "2026-W05", 1)]);
    lifter.run("INSERT INTO public.training_profiles (user_id, week_start) VALUES ($1, 7)", &[&lifter.user]).await;
    lifter.refresh().await;
    let weeks: Vec<_> = lifter.weeks().await.into_iter().map(|(first, _iso, sets)| (first, sets)).collect();
    assert_eq!(weeks, [("2026-01-18".to_owned(), 1), ("2026-01-25".to_owned(), 2)]);
    assert_eq!(lifter.summary("training_days").await.as_deref(), Some("3"));
}

#[tokio::test]
async fn c22_a_sunday_evening_in_los_angeles_is_published_in_the_week_that_ends_with_it() {
    let lifter = saved(&[squats("2026-07-20T00:30:00Z", "America/Los_Angeles")]).await;
    assert_eq!(lifter.weeks().await, [week("2026-07-13", "2026-W29", 1)]);
    assert_eq!(lifter.summary("last_performed_on").await.as_deref(), Some("2026-07-19"));
}

#[tokio::test]
async fn c24_an_evening_run_is_published_on_one_day_only() {
    let lifter = saved(&[json!({
        "started_at": "2025-06-03T19:05:00-04:00", "time_zone": "America/New_York", "duration_seconds": 1500,
        "sets": [{"exercise": "Run", "duration_seconds": 1500, "distance_meters": 5000}],
    })])
    .await;
    assert_eq!(lifter.summary("training_days").await.as_deref(), Some("1"));
    assert_eq!(lifter.exercise("Run", "first_performed_on").await.as_deref(), Some("2025-06-03"));
    assert_eq!(lifter.exercise("Run", "last_performed_on").await.as_deref(), Some("2025-06-03"));
}

#[tokio::test]
async fn c25_the_day_of_25_hours_is_one_day() {
    // The first and the last hour of the long day, and a day on either side of it.
    let lifter = saved(&[
        squats("2018-10-27T22:30:00+02:00", "Europe/Amsterdam"),
        squats("2018-10-28T00:10:00+02:00", "Europe/Amsterdam"),
        squats("2018-10-28T23:50:00+01:00", "Europe/Amsterdam"),
        squats("2018-10-29T07:00:00+01:00", "Europe/Amsterdam"),
    ])
    .await;
    assert_eq!(lifter.summary("training_days").await.as_deref(), Some("3"));
    assert_eq!(lifter.summary("workouts").await.as_deref(), Some("4"));
    assert_eq!(lifter.weeks().await, [week("2018-10-22", "2018-W43", 3), week("2018-10-29", "2018-W44", 1)]);
}

#[tokio::test]
async fn c42_weeks_of_different_years_are_published_apart() {
    let lifter = saved(&["2024-02-01", "2025-01-28"].map(|day| {
        json!({"started_at": format!("{day}T12:00:00Z"), "sets": [{"exercise": "Squat", "weight": 10, "reps": 5}]})
    }))
    .await;
    let volumes = "SELECT string_agg(iso_week || ' ' || trim_scale(total_volume_kg), ', ' ORDER BY week_start)
        FROM public.user_exercise_stats_weekly WHERE user_id = $1";
    assert_eq!(lifter.text(volumes).await.as_deref(), Some("2024-W05 50, 2025-W05 50"));
}

#[tokio::test]
async fn c43_what_the_streak_needs_is_stored_as_dates() {
    let lifter = saved(&["2025-12-23", "2026-01-04"].map(|day| squats(&format!("{day}T12:00:00Z"), "UTC"))).await;
    assert_eq!(lifter.summary("last_training_week").await.as_deref(), Some("2025-12-29"));
    assert_eq!(lifter.summary("last_streak_weeks").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn later_travel_moves_no_workout_and_a_moved_workout_moves_its_figures() {
    let mut lifter = Lifter::new().await;
    let id = lifter.save(squats("2026-03-01T23:30:00-08:00", "America/Los_Angeles")).await;
    lifter
        .run("INSERT INTO public.training_profiles (user_id, time_zone) VALUES ($1, 'Asia/Tokyo')", &[&lifter.user])
        .await;
    lifter.refresh().await;
    assert_eq!(lifter.summary("first_performed_on").await.as_deref(), Some("2026-03-01"));

    lifter.edit(id, squats("2026-03-09T23:30:00-07:00", "America/Los_Angeles")).await;
    lifter.refresh().await;
    assert_eq!(lifter.summary("first_performed_on").await.as_deref(), Some("2026-03-09"));
    assert_eq!(lifter.exercise("Squat", "heaviest_on").await.as_deref(), Some("2026-03-09"));
    assert_eq!(lifter.weeks().await, [week("2026-03-09", "2026-W11", 1)], "the row of the old week is gone");
}
