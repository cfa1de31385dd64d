//! StrongLifts: one row for each exercise of a workout, with its sets side by side, in kilograms or pounds by the names of the
//! columns.

use jiff::civil::DateTime;
use tidemark_stats::SetKind;

use crate::{
    CellProblem, Format, ImportError, ImportedSet, ParseOptions, SkipReason,
    assembly::{Reading, WorkoutRow},
    column::Column,
    format::{Grouping, Reader},
    number,
    row::{DURATION_SECONDS_MAX, Row},
    timestamp::{self, DateOrder},
};

pub(crate) const READER: Reader = Reader {
    format: Format::StrongLifts,
    required: &[Column::Start, Column::Exercise, Column::SetReps, Column::SetWeight],
    read,
    fits: None,
    grouping: Grouping::Start,
    has_regional_dates: false,
    has_short_rows: false,
};

fn read<'row>(row: &Row<'row>, options: &ParseOptions) -> Result<Reading<'row>, ImportError> {
    let start = start(row)?;
    let exercise = row.exercise()?;
    let notes = row.notes(Column::SetNotes)?;
    let mut sets = Vec::new();
    let mut has_unstated_unit = false;
    for (place, number) in row.layout.set_numbers().into_iter().enumerate() {
        let reps = row.reps_of(number)?;
        let (weight, is_unstated) = row.weight_of(number, options)?;
        let is_blank = reps.is_none() && weight.is_none();
        if is_blank || (reps == Some(0) && is_left_out(row.text(Column::SetsDone), place)) {
            continue;
        }
        has_unstated_unit |= is_unstated;
        sets.push(ImportedSet {
            line: row.line,
            position: 0,
            exercise: exercise.clone(),
            kind: SetKind::Normal,
            weight,
            reps,
            distance_meters: None,
            duration_seconds: None,
            rpe: None,
            superset: None,
            notes: notes.to_owned(),
        });
    }
    if sets.is_empty() {
        return Ok(Reading::Skip(SkipReason::NothingDone));
    }
    Ok(Reading::Sets(Box::new(WorkoutRow {
        title: row.title()?,
        number: row.text(Column::WorkoutNumber),
        workout_duration_seconds: row.read(Column::WorkoutDuration, hours)?,
        has_unstated_unit,
        sets,
        ..WorkoutRow::of(start)
    })))
}

/// The day with the time of day, which is midnight where none is given.
fn start(row: &Row<'_>) -> Result<DateTime, ImportError> {
    let date = row.start(|cell| timestamp::regional_date(cell, DateOrder::Unknown).map(|date| date.at(0, 0, 0, 0)))?;
    if row.text(Column::Time).is_empty() {
        return Ok(date);
    }
    row.read(Column::Time, timestamp::clock).map(|time| date.date().to_datetime(time))
}

/// Whether the summary of the sets, `5/5/0/-` or `Skipped`, says that the one at `place` was never tried. A failed try is a 0.
fn is_left_out(summary: &str, place: usize) -> bool {
    summary.eq_ignore_ascii_case("skipped") || summary.split('/').nth(place).is_some_and(|set| set.trim() == "-")
}

/// A number of hours, in seconds.
fn hours(cell: &str) -> Result<Option<i64>, CellProblem> {
    let hours = number::decimal(cell, 0, DURATION_SECONDS_MAX / 3600)?;
    let seconds = hours.map(|hours| (hours * rust_decimal::Decimal::from(3600)).round());
    Ok(seconds.and_then(|seconds| i64::try_from(seconds).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_that_was_left_out_is_told_from_a_failed_one() {
        let left_out = |summary| (0..4).map(|place| is_left_out(summary, place)).collect::<Vec<_>>();
        assert_eq!(left_out("5/-/0/5"), [false, true, false, false]);
        assert_eq!(left_out("Skipped"), [true; 4]);
        assert_eq!(left_out("2×5"), [false; 4]);
    }

    #[test]
    fn hours_are_rounded_to_seconds() {
        assert_eq!(hours("0.0094444"), Ok(Some(34)));
        assert_eq!(hours("1.2789"), Ok(Some(4604)));
        assert_eq!(hours(" "), Ok(None));
        assert_eq!(hours("1h"), Err(CellProblem::NotANumber));
    }
}
