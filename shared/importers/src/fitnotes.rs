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
};

pub(crate) const READER: Reader = Reader {
    format: Format::FitNotes,
    required: &[Column::Start, Column::Exercise, Column::Category, Column::Weight, Column::Reps],
    read,
    fits: None,
    grouping: Grouping::Start,
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
