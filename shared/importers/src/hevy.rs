//! Hevy: kilograms or pounds, kilometres or miles by the name of the column; months in the language of the application.

use jiff::civil::DateTime;
use tidemark_stats::{SetKind, Unit};

use crate::{
    CellProblem, Format, ImportError, ImportedSet, ParseOptions,
    assembly::{Reading, SetRow},
    column::{Column, ColumnNames, Stated},
    distance,
    format::Reader,
    number,
    row::Row,
    timestamp,
};

const fn column(column: Column, names: &'static [(&'static str, Stated)]) -> ColumnNames {
    ColumnNames { column, required: true, names }
}

pub(crate) const READER: Reader = Reader {
    format: Format::Hevy,
    columns: &[
        column(Column::Title, &[("title", Stated::Nothing)]),
        column(Column::Start, &[("start_time", Stated::Nothing)]),
        column(Column::End, &[("end_time", Stated::Nothing)]),
        column(Column::WorkoutNotes, &[("description", Stated::Nothing)]),
        column(Column::Exercise, &[("exercise_title", Stated::Nothing)]),
        column(Column::Superset, &[("superset_id", Stated::Nothing)]),
        column(Column::SetNotes, &[("exercise_notes", Stated::Nothing)]),
        column(Column::Ignored, &[("set_index", Stated::Nothing)]),
        column(Column::SetKind, &[("set_type", Stated::Nothing)]),
        column(Column::Weight, &[("weight_kg", Stated::Kilograms), ("weight_lbs", Stated::Pounds)]),
        column(Column::Reps, &[("reps", Stated::Nothing)]),
        column(Column::Distance, &[("distance_km", Stated::Kilometers), ("distance_miles", Stated::Miles)]),
        column(Column::Seconds, &[("duration_seconds", Stated::Nothing)]),
        column(Column::Rpe, &[("rpe", Stated::Nothing)]),
    ],
    read,
    fits: None,
};

/// Largest number of a superset that is accepted; Hevy counts them from 0 in each workout.
const SUPERSET_MAX: i64 = 1_000_000;

fn read<'row>(row: &Row<'row>, _options: &ParseOptions) -> Result<Reading<'row>, ImportError> {
    let unit = if row.layout.weight == Stated::Pounds { Unit::Pound } else { Unit::Kilogram };
    let distance_unit =
        if row.layout.distance == Stated::Miles { distance::Unit::Mile } else { distance::Unit::Kilometer };
    let start = row.start(timestamp::with_month_name)?;
    Ok(Reading::Set(Box::new(SetRow {
        start,
        title: row.text(Column::Title),
        workout_duration_seconds: duration_seconds(row, start)?,
        workout_notes: row.text(Column::WorkoutNotes),
        set: ImportedSet {
            line: row.line,
            position: 0,
            exercise: row.required_text(Column::Exercise)?.to_owned(),
            kind: row.read(Column::SetKind, set_kind)?,
            weight: row.weight(unit)?,
            reps: row.reps()?,
            distance_meters: row.distance(Some(distance_unit))?,
            duration_seconds: row.seconds()?,
            rpe: row.rpe()?,
            superset: row.read(Column::Superset, |cell| number::whole(cell, 0, SUPERSET_MAX))?,
            notes: row.text(Column::SetNotes).to_owned(),
        },
    })))
}

/// From start to end by the wall clock. An end before the start happens when the clock is set back during a workout; the
/// length is unknown then.
fn duration_seconds(row: &Row<'_>, start: DateTime) -> Result<Option<i64>, ImportError> {
    if row.text(Column::End).is_empty() {
        return Ok(None);
    }
    let end = row.read(Column::End, timestamp::with_month_name)?;
    let seconds = end.duration_since(start).as_secs();
    Ok((seconds >= 0).then_some(seconds))
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
