use jiff::civil::Weekday;
use tidemark_stats::{Summary, current_streak};

use crate::log::{Log, date};

fn summary(days: &[&str]) -> Summary {
    let mut log = Log::lifting();
    for day in days {
        log.workout(day);
    }
    log.compute().summary
}

#[test]
fn c43_a_streak_lives_until_a_whole_week_went_by_without_a_workout() {
    let summary = summary(&["2025-12-23", "2026-01-04"]);
    assert_eq!((summary.last_training_week, summary.last_streak_weeks), (Some(date("2025-12-29")), 2));
    let on =
        |today| current_streak(summary.last_training_week, summary.last_streak_weeks, Weekday::Monday, date(today));
    assert_eq!(on("2026-01-04"), 2);
    assert_eq!(on("2026-01-05"), 2, "kept alive on Monday");
    assert_eq!(on("2026-01-11"), 2, "kept alive through the running week");
    assert_eq!(on("2026-01-12"), 0);
}

#[test]
fn a_person_without_workouts_has_no_streak() {
    let summary = summary(&[]);
    assert_eq!(
        (summary.last_training_week, summary.longest_streak_weeks, summary.longest_streak_started_on),
        (None, 0, None)
    );
    assert_eq!(current_streak(None, 0, Weekday::Monday, date("2026-01-05")), 0);
}

#[test]
fn the_longest_streak_is_the_earliest_of_equals_and_goes_over_new_year() {
    let summary = summary(&["2024-12-30", "2024-12-23", "2025-01-01", "2025-03-03", "2025-03-10", "2025-05-05"]);
    assert_eq!((summary.longest_streak_weeks, summary.longest_streak_started_on), (2, Some(date("2024-12-23"))));
    assert_eq!((summary.last_training_week, summary.last_streak_weeks), (Some(date("2025-05-05")), 1));
}
