//! Strong: the classic export with commas, with or without notes; with semicolons and columns for units; quoted, with units in
//! the names; and that of 2015 to 2018, whose columns are called by their units.

use tidemark_stats::{SetKind, Unit};

use crate::{
    CellProblem, Format, ImportError, ImportedSet, ParseOptions, SkipReason,
    assembly::{Reading, WorkoutRow},
    column::{Column, Stated},
    distance, duration,
    format::{Grouping, Reader},
    number,
    row::Row,
    timestamp,
    unquoted_commas::fits_unit_or_number,
    words::{Meaning, means},
};

pub(crate) const READER: Reader = Reader {
    format: Format::Strong,
    required: &[Column::Start, Column::Title, Column::Exercise, Column::SetOrder, Column::Weight, Column::Reps],
    read,
    fits: Some(fits),
    grouping: Grouping::Start,
    has_regional_dates: false,
    has_short_rows: false,
};

fn read<'row>(row: &Row<'row>, options: &ParseOptions) -> Result<Reading<'row>, ImportError> {
    let kind = match set_order(row.text(Column::SetOrder)) {
        Ok(SetOrder::Set(kind)) => kind,
        Ok(SetOrder::NoSet(reason)) => return Ok(Reading::Skip(reason)),
        Err(problem) => return Err(row.error(Column::SetOrder, problem)),
    };
    let start = row.start(timestamp::local)?;
    let (weight, has_unstated_unit) = row.weight(options)?;
    Ok(Reading::Sets(Box::new(WorkoutRow {
        title: row.title()?,
        has_unstated_unit,
        workout_duration_seconds: row.read(Column::WorkoutDuration, workout_duration(row))?,
        workout_notes: row.notes(Column::WorkoutNotes)?,
        sets: vec![ImportedSet {
            line: row.line,
            position: 0,
            exercise: row.exercise()?,
            kind,
            weight,
            reps: row.reps()?,
            distance_meters: row.distance(unstated_distance(row, options))?,
            duration_seconds: row.seconds()?,
            rpe: row.rpe()?,
            superset: None,
            notes: row.notes(Column::SetNotes)?.to_owned(),
        }],
        ..WorkoutRow::of(start)
    })))
}

/// How the column writes the length of a workout: in words, or in the seconds that its name states.
fn workout_duration(row: &Row<'_>) -> fn(&str) -> Result<Option<i64>, CellProblem> {
    let index = row.layout.index(Column::WorkoutDuration);
    match index.map(|index| row.layout.fields[index].stated) {
        Some(Stated::Seconds) => duration::in_seconds,
        _ => duration::in_words,
    }
}

/// Where the file has no place for a unit of distance, it follows the same setting of the application as weights do.
fn unstated_distance(row: &Row<'_>, options: &ParseOptions) -> Option<distance::Unit> {
    if row.layout.index(Column::DistanceUnit).is_some() {
        return None;
    }
    let stated = row.layout.index(Column::Weight).map(|index| row.layout.fields[index].stated);
    Some(match (stated, options.unit_or_default()) {
        (Some(Stated::Pounds), _) | (Some(Stated::Nothing), Unit::Pound) => distance::Unit::Mile,
        _ => distance::Unit::Kilometer,
    })
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
        _ if means(cell, Meaning::RestRow) => return Ok(SetOrder::NoSet(SkipReason::RestTimer)),
        _ if means(cell, Meaning::NoteRow) => return Ok(SetOrder::NoSet(SkipReason::Note)),
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
        Column::Start => timestamp::local(cell).is_ok(),
        Column::WorkoutDuration => duration::in_words(cell).is_ok() || duration::in_seconds(cell).is_ok(),
        Column::SetOrder => set_order(cell).is_ok(),
        _ => fits_unit_or_number(column, cell),
    }
}
