//! FitNotes: dates without times, no titles and no kinds of sets.

use tidemark_stats::SetKind;

use crate::{
    Format, ImportError, ImportedSet, ParseOptions,
    assembly::{Reading, WorkoutRow},
    column::Column,
    duration,
    format::{Grouping, Reader},
    row::Row,
    timestamp,
    unquoted_commas::fits_unit_or_number,
};

pub(crate) const READER: Reader = Reader {
    format: Format::FitNotes,
    required: &[Column::Start, Column::Exercise, Column::Category, Column::Weight, Column::Reps],
    read,
    fits: Some(fits),
    grouping: Grouping::Start,
    has_regional_dates: false,
    has_short_rows: false,
};

fn read<'row>(row: &Row<'row>, options: &ParseOptions) -> Result<Reading<'row>, ImportError> {
    let start = row.start(|cell| timestamp::numeric_date(cell).map(|date| date.at(0, 0, 0, 0)))?;
    let seconds = row.read(Column::Seconds, duration::with_colons)?;
    let (weight, has_unstated_unit) = row.weight(options)?;
    Ok(Reading::Sets(Box::new(WorkoutRow {
        has_unstated_unit,
        sets: vec![ImportedSet {
            line: row.line,
            position: 0,
            exercise: row.exercise()?,
            kind: SetKind::Normal,
            weight,
            reps: row.reps()?,
            distance_meters: row.distance(None)?,
            // 0 is unknown like blank, as in every other format.
            duration_seconds: seconds.filter(|&seconds| seconds != 0),
            rpe: None,
            superset: None,
            notes: row.notes(Column::SetNotes)?.to_owned(),
        }],
        ..WorkoutRow::of(start)
    })))
}

/// Whether the cell is what the column holds. FitNotes writes names such as `Overhead Press (Each Side, Dumbbells)` without
/// quotes.
fn fits(column: Column, cell: &str) -> bool {
    match column {
        Column::Start => timestamp::numeric_date(cell).is_ok(),
        Column::Seconds => duration::with_colons(cell).is_ok(),
        // The letters of what the exercise is measured by.
        Column::Ignored => cell.bytes().all(|byte| matches!(byte, b'w' | b'r' | b'd' | b't')),
        _ => fits_unit_or_number(column, cell),
    }
}
