//! A person's figures: what depends on today, the totals, and every exercise.

use std::cmp::Reverse;

use super::figures::{date, grouped, mass, none, on, tenths, weeks};
use super::rows::{Exercise, Overview, Summary};
use crate::table::{Column, narrow_table};

/// Most names of exercises with suspect sets; more would not be read.
const SUSPECTS_SHOWN: usize = 5;

/// The running week and the streak, in the person's own zone.
pub(super) fn draw_overview(overview: &Overview) -> String {
    let facts = [
        ("today", overview.today.to_string()),
        ("week from", overview.week_start.strftime("%F, a %A").to_string()),
        ("sets", grouped(overview.week_sets)),
        ("repetitions", grouped(overview.week_reps)),
        ("working volume", mass(overview.week_working_volume_kg)),
        ("streak", weeks(overview.streak_weeks)),
        ("longest streak", weeks(overview.longest_streak_weeks)),
    ];
    facts_under("THIS WEEK", facts.map(|(name, value)| vec![name.to_owned(), value]))
}

/// Everything that was ever logged.
pub(super) fn draw_totals(summary: &Summary) -> String {
    let facts = [
        ("workouts", grouped(summary.workouts)),
        ("training days", grouped(summary.training_days)),
        ("exercises", grouped(summary.exercises)),
        ("working sets", grouped(summary.sets)),
        ("repetitions with warm-ups", grouped(summary.total_reps)),
        ("working volume", mass(summary.working_volume_kg)),
        ("volume with warm-ups", mass(summary.total_volume_kg)),
        ("effective volume", mass(summary.effective_volume_kg)),
        ("first workout", date(summary.first_performed_on)),
        ("last workout", date(summary.last_performed_on)),
        ("longest streak began", date(summary.longest_streak_started_on)),
    ];
    facts_under("SO FAR", facts.map(|(name, value)| vec![name.to_owned(), value]))
}

/// Names and values below a title.
pub(super) fn facts_under(title: &str, facts: impl IntoIterator<Item = Vec<String>>) -> String {
    narrow_table(&[Column::Words(title), Column::Words("")], facts)
}

/// One line for each exercise, the latest performed first.
pub(super) fn draw_exercises(mut exercises: Vec<Exercise>) -> Option<String> {
    if exercises.is_empty() {
        return None;
    }
    exercises.sort_by_key(|exercise| Reverse(exercise.last_performed_on));
    let columns = [
        Column::Words("EXERCISE"),
        Column::Figures("sets"),
        Column::Figures("volume kg"),
        Column::Figures("e1RM kg"),
        Column::Figures("heaviest"),
        Column::Words("last"),
    ];
    let rows = exercises.iter().map(|exercise| {
        vec![
            exercise.exercise_name.clone(),
            grouped(exercise.sets),
            tenths(exercise.working_volume_kg),
            exercise.best_e1rm_kg.map_or_else(none, tenths),
            exercise.heaviest_kg.map_or_else(none, tenths),
            date(exercise.last_performed_on),
        ]
    });
    let table = narrow_table(&columns, rows);
    Some([Some(table), draw_suspects(&exercises)].into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
}

/// Exercises with sets that are too great to be true.
fn draw_suspects(exercises: &[Exercise]) -> Option<String> {
    let suspects = || exercises.iter().filter(|exercise| exercise.suspect_sets > 0);
    let listed = suspects()
        .take(SUSPECTS_SHOWN)
        .map(|exercise| vec![exercise.exercise_name.clone(), grouped(exercise.suspect_sets)]);
    let rest = suspects().skip(SUSPECTS_SHOWN).map(|exercise| exercise.suspect_sets).sum::<i64>();
    let rest = (rest > 0).then(|| vec!["(others)".to_owned(), grouped(rest)]);
    suspects().next()?;
    Some(narrow_table(
        &[Column::Words("SUSPECT SETS, kept out of records"), Column::Figures("sets")],
        listed.chain(rest),
    ))
}

/// A figure that was reached on a day, as a line of facts.
pub(super) fn fact(name: &str, figure: Option<String>, day: Option<jiff::civil::Date>) -> Vec<String> {
    vec![name.to_owned(), on(figure, day)]
}
