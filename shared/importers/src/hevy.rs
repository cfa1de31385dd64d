//! Hevy: kilograms or pounds, kilometres or miles by the name of the column; months in the language of the application.

use jiff::civil::DateTime;
use tidemark_stats::SetKind;

use crate::{
    CellProblem, Format, ImportError, ImportedSet, ParseOptions,
    assembly::{Reading, WorkoutRow},
    column::Column,
    format::{Grouping, Reader},
    number,
    row::{DURATION_SECONDS_MAX, Row},
    timestamp,
};

pub(crate) const READER: Reader = Reader {
    format: Format::Hevy,
    required: &[Column::Title, Column::Start, Column::Exercise, Column::SetKind, Column::Weight, Column::Reps],
    read,
    fits: None,
    grouping: Grouping::Start,
    has_regional_dates: false,
    has_short_rows: false,
};

/// Largest number of a superset that is accepted; Hevy counts them from 0 in each workout.
const SUPERSET_MAX: i64 = 1_000_000;

fn read<'row>(row: &Row<'row>, options: &ParseOptions) -> Result<Reading<'row>, ImportError> {
    let start = row.start(timestamp::local)?;
    let (weight, has_unstated_unit) = row.weight(options)?;
    Ok(Reading::Sets(Box::new(WorkoutRow {
        title: row.title()?,
        has_unstated_unit,
        workout_duration_seconds: duration_seconds(row, start)?,
        workout_notes: row.notes(Column::WorkoutNotes)?,
        sets: vec![ImportedSet {
            line: row.line,
            position: 0,
            exercise: row.exercise()?,
            kind: row.read(Column::SetKind, set_kind)?,
            weight,
            reps: row.reps()?,
            distance_meters: row.distance(None)?,
            duration_seconds: row.seconds()?,
            rpe: row.rpe()?,
            superset: row.read(Column::Superset, |cell| number::whole(cell, 0, SUPERSET_MAX))?,
            notes: row.notes(Column::SetNotes)?.to_owned(),
        }],
        ..WorkoutRow::of(start)
    })))
}

/// From start to end by the wall clock. An end before the start happens when the clock is set back during a workout; the
/// length is unknown then.
fn duration_seconds(row: &Row<'_>, start: DateTime) -> Result<Option<i64>, ImportError> {
    if row.text(Column::End).is_empty() {
        return Ok(None);
    }
    let end = row.read(Column::End, timestamp::local)?;
    let seconds = end.duration_since(start).as_secs();
    // What a saved workout may last; two dates that are further apart are a slip of one of them.
    Ok((0..=DURATION_SECONDS_MAX).contains(&seconds).then_some(seconds))
}

fn set_kind(cell: &str) -> Result<SetKind, CellProblem> {
    match cell {
        "normal" => Ok(SetKind::Normal),
        "warmup" => Ok(SetKind::Warmup),
        "failure" => Ok(SetKind::Failure),
        "dropset" => Ok(SetKind::Drop),
        "" => Err(CellProblem::Missing),
        _ => Err(CellProblem::UnknownSetKind),
    }
}
