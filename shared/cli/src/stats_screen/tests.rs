#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::*;
use crate::published::Freshness;
use crate::table::WIDTH;

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn exercise(id: &str, name: &str) -> Value {
    json!({
        "exercise_id": id, "exercise_name": name, "sets": 1234, "warmup_sets": 400, "reps": 10_000,
        "working_volume_kg": 1_234_567.26, "best_e1rm_kg": 112.345, "best_e1rm_formula": "brzycki",
        "best_e1rm_on": "2026-06-30", "heaviest_kg": 110, "heaviest_reps": 1, "heaviest_on": "2026-06-30",
        "best_set_kg": 80, "best_set_reps": 12, "best_set_on": "2026-05-30", "most_reps": 20,
        "most_reps_on": "2026-05-01", "least_assistance_kg": null, "least_assistance_on": null,
        "first_performed_on": "2024-01-01", "last_performed_on": "2026-07-14", "training_days": 200,
        "days_per_week": 1.512_345, "suspect_sets": 0
    })
}

fn unperformed(id: &str, name: &str) -> Value {
    let mut row = exercise(id, name);
    for (name, value) in row.as_object_mut().unwrap() {
        if name.ends_with("_on")
            || name.starts_with("best_")
            || name.starts_with("heaviest")
            || name.starts_with("most")
        {
            *value = Value::Null;
        }
    }
    row["suspect_sets"] = json!(3);
    row
}

fn week(exercise: &str, week_start: &str, estimate: Option<f64>) -> Value {
    json!({
        "exercise_id": exercise, "week_start": week_start, "sets": 3, "reps": 15, "working_volume_kg": 1500,
        "best_e1rm_kg": estimate
    })
}

fn muscle(name: &str, week_start: &str, sets: f64) -> Value {
    json!({"muscle": name, "week_start": week_start, "sets": sets, "working_volume_kg": sets * 500.5})
}

fn published() -> Published {
    let overview = json!({
        "published_at": "2026-07-19T12:00:00+00:00", "today": "2026-07-19", "week_start": "2026-07-13", "week_sets": 12,
        "week_reps": 60, "week_working_volume_kg": 6000, "streak_weeks": 1, "longest_streak_weeks": 30
    });
    let summary = json!({
        "workouts": 335, "training_days": 330, "exercises": 5, "sets": 6000, "total_reps": 70_000,
        "total_volume_kg": 2_304_917, "working_volume_kg": 1_964_741.75, "effective_volume_kg": 1_900_000,
        "first_performed_on": "2024-01-01", "last_performed_on": "2026-07-14", "longest_streak_started_on": "2024-03-04"
    });
    let names = [
        exercise("1", "Bench Press (Barbell)"),
        exercise("2", "인클라인 덤벨 벤치 프레스 (중간 무게로 천천히)"),
        unperformed("3", "Single Arm Overhead Cable Triceps Extension with an Unusually Long Name"),
        exercise("4", "데드리프트"),
    ];
    let weeks = [
        week("1", "2026-05-04", Some(100.0)),
        week("1", "2026-05-11", None),
        week("1", "2026-05-18", Some(105.0)),
        week("1", "2026-06-29", Some(112.345)),
        week("1", "2026-07-13", Some(110.0)),
        week("2", "2026-07-13", Some(1.0)),
    ];
    let rep_max =
        json!({"exercise_id": "1", "reps": 5, "weight_kg": 102.5, "performed_reps": 6, "performed_on": "2026-06-30"});
    let muscles = [
        muscle("chest", "2026-05-04", 9.0),
        muscle("chest", "2026-06-29", 6.0),
        muscle("chest", "2026-07-13", 12.0),
        muscle("triceps", "2026-07-13", 6.5),
        muscle("quadriceps", "2026-06-15", 10.0),
        muscle("hamstrings", "2024-06-17", 10.0),
    ];
    Published {
        user_stats_overview: Some(raw(&overview)),
        user_stats_summary: Some(raw(&summary)),
        user_exercise_stats: names.iter().map(raw).collect(),
        user_exercise_rep_maxes: vec![raw(&rep_max)],
        user_exercise_stats_weekly: weeks.iter().map(raw).collect(),
        user_muscle_stats_weekly: muscles.iter().map(raw).collect(),
        ..Published::default()
    }
}

fn check_width(screen: &str) {
    for line in screen.lines() {
        assert!(line.width() <= WIDTH, "{} columns: {line}", line.width());
    }
}

#[test]
fn a_persons_screen_fits_and_names_in_wide_letters_keep_the_columns_straight() {
    let screen = draw(&published(), false).unwrap();
    check_width(&screen);
    insta::assert_snapshot!(screen);
}

#[test]
fn an_exercises_screen_shows_its_own_weeks_and_its_estimates_over_time() {
    let mut published = published();
    published.user_exercise_stats.truncate(1);
    let screen = draw(&published, true).unwrap();
    check_width(&screen);
    insta::assert_snapshot!(screen);
}

#[test]
fn an_exercise_without_figures_and_a_long_name_fits_too() {
    let mut published = published();
    published.user_exercise_stats = vec![published.user_exercise_stats.remove(2)];
    let screen = draw(&published, true).unwrap();
    check_width(&screen);
    assert!(screen.contains("3, kept out of records") && !screen.contains("REP MAX"), "{screen}");
}

#[test]
fn who_stopped_long_ago_sees_the_last_weeks_there_were() {
    let mut published = published();
    published.user_muscle_stats_weekly =
        vec![raw(&muscle("chest", "2024-03-04", 9.0)), raw(&muscle("chest", "2024-02-26", 3.5))];
    let screen = draw(&published, false).unwrap();
    check_width(&screen);
    assert!(screen.contains("nothing was logged since the week from 2024-03-04"), "{screen}");
    assert!(screen.contains("02-26") && screen.contains("3.5") && !screen.contains("this week"), "{screen}");
}

#[test]
fn stale_says_since_when_and_why() {
    let mut published = published();
    let mut first_lines = |because: Option<StaleBecause>, since: Option<&str>| {
        published.freshness =
            Freshness { stale: because.is_some(), stale_since: since.map(str::to_owned), stale_because: because };
        let screen = draw(&published, true).unwrap();
        check_width(&screen);
        screen.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(first_lines(None, None), "Fresh: published 2026-07-19 12:00:00 UTC.");
    let since = Some("2026-07-19T17:30:00.123+02:00");
    let save = first_lines(Some(StaleBecause::Save), since);
    assert_eq!(save, "STALE since 2026-07-19 15:30:00 UTC: something newer waits to be published.");
    let definition = first_lines(Some(StaleBecause::Definition), None);
    assert_eq!(definition, "STALE: computed by older formulas than the newest.");
}

#[test]
fn before_the_first_publish_there_is_nothing_to_show() {
    let published = Published { user_stats_summary: None, user_exercise_stats: Vec::new(), ..published() };
    assert!(draw(&published, false).unwrap().ends_with("Nothing is published yet."));
}
