//! One exercise: its records, its rep maxima, its estimates over time and its latest weeks.

use jiff::civil::Date;

use super::figures::{date, grouped, lifted, mass, none, tenths};
use super::person::{fact, facts_under};
use super::rows::{Exercise, RepMax, Week};
use crate::plot::plot;
use crate::table::{Column, narrow_table};

/// Weeks shown of one exercise.
const WEEKS_SHOWN: usize = 12;

pub(super) fn draw(exercise: &Exercise, rep_maxes: &[RepMax], weeks: &[Week], running_week: Date) -> String {
    let weeks: Vec<&Week> = weeks.iter().filter(|week| week.exercise_id == exercise.exercise_id).collect();
    let rep_maxes = rep_maxes.iter().filter(|rep_max| rep_max.exercise_id == exercise.exercise_id);
    let mut parts = vec![facts_under(&exercise.exercise_name, facts(exercise, &weeks, running_week))];
    parts.extend(draw_rep_maxes(rep_maxes));
    let estimates: Vec<(Date, f64)> =
        weeks.iter().filter_map(|week| week.best_e1rm_kg.map(|estimate| (week.week_start, estimate))).collect();
    parts.extend(plot(&estimates, tenths).map(|plot| format!(" BEST e1RM OF EACH WEEK, kg\n{plot}")));
    parts.extend(draw_weeks(&weeks));
    parts.join("\n\n")
}

fn facts(exercise: &Exercise, weeks: &[&Week], running_week: Date) -> Vec<Vec<String>> {
    let this_week = weeks.iter().find(|week| week.week_start == running_week);
    let this_week = this_week.map_or_else(none, |week| {
        format!("{} sets, {} reps, {}", grouped(week.sets), grouped(week.reps), mass(week.working_volume_kg))
    });
    let formula = exercise.best_e1rm_formula.as_deref().map(|formula| format!(" ({formula})")).unwrap_or_default();
    let estimate = exercise.best_e1rm_kg.map(|estimate| format!("{}{formula}", mass(estimate)));
    let mut facts = vec![
        vec!["this week".to_owned(), this_week],
        vec!["working sets".to_owned(), grouped(exercise.sets)],
        vec!["warm-up sets".to_owned(), grouped(exercise.warmup_sets)],
        vec!["repetitions".to_owned(), grouped(exercise.reps)],
        vec!["working volume".to_owned(), mass(exercise.working_volume_kg)],
        fact("best e1RM", estimate, exercise.best_e1rm_on),
        fact("heaviest", lifted(exercise.heaviest_kg, exercise.heaviest_reps), exercise.heaviest_on),
        fact("best set", lifted(exercise.best_set_kg, exercise.best_set_reps), exercise.best_set_on),
        fact("most repetitions", exercise.most_reps.map(grouped), exercise.most_reps_on),
    ];
    if exercise.least_assistance_kg.is_some() {
        facts.push(fact("least assistance", exercise.least_assistance_kg.map(mass), exercise.least_assistance_on));
    }
    facts.push(vec!["first performed".to_owned(), date(exercise.first_performed_on)]);
    facts.push(vec!["last performed".to_owned(), date(exercise.last_performed_on)]);
    facts.push(vec!["training days".to_owned(), grouped(exercise.training_days)]);
    facts.push(vec!["days a week".to_owned(), exercise.days_per_week.map_or_else(none, |days| format!("{days:.2}"))]);
    if exercise.suspect_sets > 0 {
        facts.push(vec!["suspect sets".to_owned(), format!("{}, kept out of records", grouped(exercise.suspect_sets))]);
    }
    facts
}

fn draw_rep_maxes<'a>(rep_maxes: impl Iterator<Item = &'a RepMax>) -> Option<String> {
    let columns =
        [Column::Figures("REP MAX"), Column::Figures("weight"), Column::Figures("reps performed"), Column::Words("on")];
    let rows: Vec<_> = rep_maxes
        .map(|rep_max| {
            vec![
                format!("{} RM", rep_max.reps),
                mass(rep_max.weight_kg),
                grouped(rep_max.performed_reps),
                rep_max.performed_on.to_string(),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| narrow_table(&columns, rows))
}

fn draw_weeks(weeks: &[&Week]) -> Option<String> {
    let columns = [
        Column::Words("WEEK FROM"),
        Column::Figures("sets"),
        Column::Figures("reps"),
        Column::Figures("working volume"),
        Column::Figures("best e1RM"),
    ];
    let rows = weeks.iter().rev().take(WEEKS_SHOWN).map(|week| {
        vec![
            week.week_start.to_string(),
            grouped(week.sets),
            grouped(week.reps),
            mass(week.working_volume_kg),
            week.best_e1rm_kg.map_or_else(none, mass),
        ]
    });
    weeks.first()?;
    let shown = narrow_table(&columns, rows);
    Some(match weeks.len().checked_sub(WEEKS_SHOWN) {
        Some(more @ 1..) => format!("{shown}\n (and {more} earlier weeks; --json has them all)"),
        _ => shown,
    })
}
