//! Strong: the classic export with commas, with or without notes.

use tidemark_stats::{SetKind, Unit};

use crate::{
    CellProblem, Format, ImportError, ImportedSet, ParseOptions, SkipReason,
    assembly::{Reading, SetRow},
    column::{Column, ColumnNames, Stated},
    distance, duration,
    format::Reader,
    number,
    row::Row,
    timestamp,
    words::{NOTE_ROWS, REST_ROWS, is_one_of},
};

const fn named(column: Column, names: &'static [(&'static str, Stated)]) -> ColumnNames {
    ColumnNames { column, required: true, names }
}

const fn optional(column: Column, names: &'static [(&'static str, Stated)]) -> ColumnNames {
    ColumnNames { column, required: false, names }
}

pub(crate) const READER: Reader = Reader {
    format: Format::Strong,
    columns: &[
        named(Column::Start, &[("Date", Stated::Nothing)]),
        named(Column::Title, &[("Workout Name", Stated::Nothing)]),
        named(Column::WorkoutDuration, &[("Duration", Stated::Nothing)]),
        named(Column::Exercise, &[("Exercise Name", Stated::Nothing)]),
        named(Column::SetOrder, &[("Set Order", Stated::Nothing)]),
        named(Column::Weight, &[("Weight", Stated::Nothing)]),
        named(Column::Reps, &[("Reps", Stated::Nothing)]),
        optional(Column::Distance, &[("Distance", Stated::Nothing)]),
        optional(Column::Seconds, &[("Seconds", Stated::Nothing)]),
        optional(Column::SetNotes, &[("Notes", Stated::Nothing)]),
        optional(Column::WorkoutNotes, &[("Workout Notes", Stated::Nothing)]),
        optional(Column::Rpe, &[("RPE", Stated::Nothing)]),
    ],
    read,
    fits: Some(fits),
};

fn read<'row>(row: &Row<'row>, options: &ParseOptions) -> Result<Reading<'row>, ImportError> {
    let kind = match set_order(row.text(Column::SetOrder)) {
        Ok(SetOrder::Set(kind)) => kind,
        Ok(SetOrder::NoSet(reason)) => return Ok(Reading::Skip(reason)),
        Err(problem) => return Err(row.error(Column::SetOrder, problem)),
    };
    let unit = options.unit_or_default();
    // The classic file states no unit of distance either. It follows the same setting of the application as weights do.
    let distance_unit = match unit {
        Unit::Kilogram => distance::Unit::Kilometer,
        Unit::Pound => distance::Unit::Mile,
    };
    Ok(Reading::Set(Box::new(SetRow {
        start: row.start(timestamp::numeric)?,
        title: row.text(Column::Title),
        workout_duration_seconds: row.read(Column::WorkoutDuration, duration::in_words)?,
        workout_notes: row.text(Column::WorkoutNotes),
        set: ImportedSet {
            line: row.line,
            position: 0,
            exercise: row.required_text(Column::Exercise)?.to_owned(),
            kind,
            weight: row.weight(unit)?,
            reps: row.reps()?,
            distance_meters: row.distance(Some(distance_unit))?,
            duration_seconds: row.seconds()?,
            rpe: row.rpe()?,
            superset: None,
            notes: row.text(Column::SetNotes).to_owned(),
        },
    })))
}

enum SetOrder {
    Set(SetKind),
    NoSet(SkipReason),
}

/// Strong numbers working sets and writes a letter for the others.
fn set_order(cell: &str) -> Result<SetOrder, CellProblem> {
    let kind = match cell {
        "" => return Err(CellProblem::Missing),
        "W" => SetKind::Warmup,
        "D" => SetKind::Drop,
        "F" => SetKind::Failure,
        _ if is_one_of(cell, REST_ROWS) => return Ok(SetOrder::NoSet(SkipReason::RestTimer)),
        _ if is_one_of(cell, NOTE_ROWS) => return Ok(SetOrder::NoSet(SkipReason::Note)),
        _ => match number::whole(cell, 0, 1_000_000) {
            Ok(Some(_)) => SetKind::Normal,
            _ => return Err(CellProblem::UnknownSetKind),
        },
    };
    Ok(SetOrder::Set(kind))
}

/// Whether the cell is what the column holds, to find out where a comma without quotes belongs.
fn fits(column: Column, cell: &str) -> bool {
    match column {
        Column::Start => timestamp::numeric(cell).is_ok(),
        Column::WorkoutDuration => duration::in_words(cell).is_ok(),
        Column::SetOrder => set_order(cell).is_ok(),
        _ => number::decimal(cell, i64::MIN, i64::MAX).is_ok(),
    }
}
