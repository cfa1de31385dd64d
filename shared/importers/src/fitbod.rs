//! Fitbod: a row for each set, metric by the names of the columns. Times have their offset, so that each workout is an instant.

use tidemark_stats::SetKind;

use crate::{
    CellProblem, Format, ImportError, ImportedSet, ParseOptions,
    assembly::{Reading, WorkoutRow},
    column::Column,
    format::{Grouping, Reader},
    row::Row,
    timestamp,
    unquoted_commas::fits_unit_or_number,
    words::{Meaning, meaning},
};

pub(crate) const READER: Reader = Reader {
    format: Format::Fitbod,
    required: &[Column::Start, Column::Exercise, Column::Reps, Column::Weight, Column::Warmup],
    read,
    fits: Some(fits),
    grouping: Grouping::Start,
    has_regional_dates: false,
    has_short_rows: false,
};

fn read<'row>(row: &Row<'row>, options: &ParseOptions) -> Result<Reading<'row>, ImportError> {
    row.required_text(Column::Start)?;
    let (start, is_utc) = row.read(Column::Start, timestamp::with_offset)?;
    let (weight, has_unstated_unit) = row.weight(options)?;
    Ok(Reading::Sets(Box::new(WorkoutRow {
        is_utc,
        has_unstated_unit,
        sets: vec![ImportedSet {
            line: row.line,
            position: 0,
            exercise: row.exercise()?,
            kind: row.read(Column::Warmup, set_kind)?,
            weight,
            reps: row.reps()?,
            distance_meters: row.distance(None)?,
            duration_seconds: row.seconds()?,
            rpe: None,
            superset: None,
            notes: row.notes(Column::SetNotes)?.to_owned(),
        }],
        ..WorkoutRow::of(start)
    })))
}

fn set_kind(cell: &str) -> Result<SetKind, CellProblem> {
    match meaning(cell, &[Meaning::Yes, Meaning::No]) {
        Some(Meaning::Yes) => Ok(SetKind::Warmup),
        Some(_) => Ok(SetKind::Normal),
        None if cell.is_empty() => Ok(SetKind::Normal),
        None => Err(CellProblem::UnknownSetKind),
    }
}

/// Whether the cell is what the column holds, to find out where a comma without quotes belongs.
fn fits(column: Column, cell: &str) -> bool {
    match column {
        Column::Start => timestamp::with_offset(cell).is_ok(),
        Column::Warmup => set_kind(cell).is_ok(),
        _ => fits_unit_or_number(column, cell),
    }
}
