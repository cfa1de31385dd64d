//! Published statistics as tables for people. Rounding happens here and nowhere else.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::published::Published;
use crate::table::{Column, table};

/// Weeks shown of one exercise.
const WEEKS_SHOWN: usize = 12;

#[derive(Debug, Deserialize)]
struct Summary {
    workouts: i64,
    training_days: i64,
    exercises: i64,
    sets: i64,
    total_reps: i64,
    total_volume_kg: f64,
    working_volume_kg: f64,
    effective_volume_kg: f64,
    first_performed_on: Option<String>,
    last_performed_on: Option<String>,
    last_streak_weeks: i64,
    longest_streak_weeks: i64,
}

#[derive(Debug, Deserialize)]
struct Exercise {
    exercise_name: String,
    sets: i64,
    reps: i64,
    working_volume_kg: f64,
    best_e1rm_kg: Option<f64>,
    best_e1rm_on: Option<String>,
    heaviest_kg: Option<f64>,
    heaviest_reps: Option<i64>,
    heaviest_on: Option<String>,
    most_reps: Option<i64>,
    last_performed_on: Option<String>,
    suspect_sets: i64,
}

#[derive(Debug, Deserialize)]
struct RepMax {
    reps: i64,
    weight_kg: f64,
    performed_reps: i64,
    performed_on: String,
}

#[derive(Debug, Deserialize)]
struct Week {
    week_start: String,
    sets: i64,
    reps: i64,
    working_volume_kg: f64,
    best_e1rm_kg: Option<f64>,
}

/// The whole screen; of one exercise with its rep maxima and latest weeks.
pub(crate) fn draw(published: &Published, one_exercise: bool) -> anyhow::Result<String> {
    let mut parts = vec![format!("User {}", published.user_id)];
    if published.stale {
        parts.push("STALE: something newer waits to be published; `tidemark status` says what holds it up.".to_owned());
    }
    match &published.user_stats_summary {
        None => parts.push("Nothing is published yet.".to_owned()),
        Some(summary) if !one_exercise => parts.push(draw_summary(&serde_json::from_str(summary.get())?)),
        Some(_) => {}
    }
    let exercises: Vec<Exercise> = rows(&published.user_exercise_stats)?;
    if !exercises.is_empty() {
        parts.push(draw_exercises(&exercises));
    }
    if one_exercise {
        parts.push(draw_rep_maxes(&rows(&published.user_exercise_rep_maxes)?));
        parts.push(draw_weeks(&rows(&published.user_exercise_stats_weekly)?));
    }
    Ok(parts.join("\n\n"))
}

fn rows<T: DeserializeOwned>(rows: &[Box<RawValue>]) -> serde_json::Result<Vec<T>> {
    rows.iter().map(|row| serde_json::from_str(row.get())).collect()
}

fn draw_summary(summary: &Summary) -> String {
    let facts = [
        ("workouts", grouped(summary.workouts)),
        ("training days", grouped(summary.training_days)),
        ("exercises", grouped(summary.exercises)),
        ("working sets", grouped(summary.sets)),
        ("repetitions with warm-ups", grouped(summary.total_reps)),
        ("working volume", mass(summary.working_volume_kg)),
        ("volume with warm-ups", mass(summary.total_volume_kg)),
        ("effective volume", mass(summary.effective_volume_kg)),
        ("first workout", date(summary.first_performed_on.as_deref())),
        ("last workout", date(summary.last_performed_on.as_deref())),
        ("last streak", format!("{} weeks", summary.last_streak_weeks)),
        ("longest streak", format!("{} weeks", summary.longest_streak_weeks)),
    ];
    let rows = facts.map(|(name, value)| vec![name.to_owned(), value]);
    table(&[Column::Words("SUMMARY"), Column::Figures("")], rows)
}

fn draw_exercises(exercises: &[Exercise]) -> String {
    let columns = [
        Column::Words("EXERCISE"),
        Column::Figures("sets"),
        Column::Figures("reps"),
        Column::Figures("working volume"),
        Column::Figures("best e1RM"),
        Column::Words("on"),
        Column::Figures("heaviest"),
        Column::Words("on"),
        Column::Figures("most reps"),
        Column::Words("last"),
        Column::Figures("suspect"),
    ];
    let rows = exercises.iter().map(|exercise| {
        let heaviest = exercise.heaviest_kg.map_or_else(none, |weight| {
            format!("{} × {}", mass(weight), exercise.heaviest_reps.map_or_else(none, grouped))
        });
        vec![
            exercise.exercise_name.clone(),
            grouped(exercise.sets),
            grouped(exercise.reps),
            mass(exercise.working_volume_kg),
            exercise.best_e1rm_kg.map_or_else(none, mass),
            date(exercise.best_e1rm_on.as_deref()),
            heaviest,
            date(exercise.heaviest_on.as_deref()),
            exercise.most_reps.map_or_else(none, grouped),
            date(exercise.last_performed_on.as_deref()),
            grouped(exercise.suspect_sets),
        ]
    });
    table(&columns, rows)
}

fn draw_rep_maxes(rep_maxes: &[RepMax]) -> String {
    let columns =
        [Column::Figures("REP MAX"), Column::Figures("weight"), Column::Figures("reps performed"), Column::Words("on")];
    let rows = rep_maxes.iter().map(|rep_max| {
        vec![
            format!("{} RM", rep_max.reps),
            mass(rep_max.weight_kg),
            grouped(rep_max.performed_reps),
            rep_max.performed_on.clone(),
        ]
    });
    table(&columns, rows)
}

fn draw_weeks(weeks: &[Week]) -> String {
    let columns = [
        Column::Words("WEEK FROM"),
        Column::Figures("sets"),
        Column::Figures("reps"),
        Column::Figures("working volume"),
        Column::Figures("best e1RM"),
    ];
    let rows = weeks.iter().rev().take(WEEKS_SHOWN).map(|week| {
        vec![
            week.week_start.clone(),
            grouped(week.sets),
            grouped(week.reps),
            mass(week.working_volume_kg),
            week.best_e1rm_kg.map_or_else(none, mass),
        ]
    });
    let shown = table(&columns, rows);
    match weeks.len().checked_sub(WEEKS_SHOWN) {
        Some(more @ 1..) => format!("{shown}\n (and {more} earlier weeks; --json has them all)"),
        _ => shown,
    }
}

/// Kilograms to one decimal, with the thousands set apart.
fn mass(kilograms: f64) -> String {
    let rounded = format!("{kilograms:.1}");
    let (whole, tenths) = rounded.split_once('.').unwrap_or((&rounded, "0"));
    let whole = apart(whole);
    if tenths == "0" { format!("{whole} kg") } else { format!("{whole}.{tenths} kg") }
}

fn grouped(number: i64) -> String {
    apart(&number.to_string())
}

/// Sets groups of three digits apart.
fn apart(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn date(on: Option<&str>) -> String {
    on.map_or_else(none, str::to_owned)
}

fn none() -> String {
    "none".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_are_rounded_to_one_decimal_and_thousands_set_apart() {
        assert_eq!(mass(1_234_567.26), "1,234,567.3 kg");
        assert_eq!(mass(100.0), "100 kg");
        assert_eq!(mass(-1_000.04), "-1,000 kg");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
    }
}
