//! What an import is, and the one way to get it.

use jiff::civil::DateTime;
use rust_decimal::Decimal;
use tidemark_stats::{SetKind, TypedWeight, Unit};

use crate::{
    Format, ImportError, SkipReason, Skipped,
    assembly::{Assembly, Reading},
    column::{Column, Layout},
    data::folded,
    format::{Recognised, recognise},
    quoting,
    row::Row,
    table::Table,
    text,
    timestamp::DateOrder,
    unquoted_commas,
};

/// What the file itself does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ParseOptions {
    /// Unit of weights for files that state none, as Strong's classic export; kilograms if not given. It also decides
    /// whether such a file's distances are kilometres or miles.
    pub unit: Option<Unit>,
}

impl ParseOptions {
    pub(crate) fn unit_or_default(&self) -> Unit {
        self.unit.unwrap_or(Unit::Kilogram)
    }
}

/// Everything in one exported file. The rows of its sets and its skipped rows together are its data rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// Which application exported the file.
    pub format: Format,
    /// Data rows, that is records after the header. Empty lines are no rows.
    pub rows: u64,
    /// Rows that are no sets, in the order of the file.
    pub skipped: Vec<Skipped>,
    /// The unit in which weights were taken that state none, where no option said it; none if there are no such weights.
    pub assumed_unit: Option<Unit>,
    /// Workouts in order of first appearance in the file.
    pub workouts: Vec<ImportedWorkout>,
}

/// One workout of the file.
///
/// `source`, `local_start` and `slot` identify it: the same workout exported again has the same three, whatever became of
/// its notes.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedWorkout {
    /// The application: `strong`, `hevy`, `fitnotes`, `stronglifts`, `fitbod` or `gymbook`.
    pub source: &'static str,
    /// Start as written in the file, a local time; midnight where the file knows dates only. The time in UTC where
    /// [`Self::is_utc`].
    pub local_start: DateTime,
    /// Whether the file states instants, so that the local time follows from the zone in which it is stored.
    pub is_utc: bool,
    /// 0 for the first title with this start in the file, 1 for the second, and so on.
    pub slot: u32,
    /// Length in seconds, if the file states it and the end is not before the start.
    pub duration_seconds: Option<i64>,
    /// The name of the workout; empty if it has none.
    pub title: String,
    /// The first notes on the workout that are not blank; empty if there are none.
    pub notes: String,
    /// Its sets in the order of the file; at least one.
    pub sets: Vec<ImportedSet>,
}

/// One set of a workout.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedSet {
    /// Physical line of the file where the row starts; one row of StrongLifts holds several sets.
    pub line: u64,
    /// Place within the workout, from 0; part of the identity of the set.
    pub position: u32,
    /// Name of the exercise as written; never empty.
    pub exercise: String,
    /// Warm-up, normal, failure or drop.
    pub kind: SetKind,
    /// Weight as typed; none where the cell is blank, which is not 0.
    pub weight: Option<TypedWeight>,
    /// Repetitions; none where the cell is blank. 0 is an attempt.
    pub reps: Option<i32>,
    /// Distance in metres; none where the cell is blank or 0.
    pub distance_meters: Option<Decimal>,
    /// Length of a timed set in seconds; none where the cell is blank or 0.
    pub duration_seconds: Option<i64>,
    /// Rating of perceived exertion, 0 to 10.
    pub rpe: Option<Decimal>,
    /// Number of the superset within the workout.
    pub superset: Option<i32>,
    /// Notes on the set or its exercise; empty if there are none.
    pub notes: String,
}

/// Whether the row is a header again, as where exports were joined, and if so whether it is that of the file.
fn repeated_header(record: &csv::StringRecord, layout: &Layout) -> Option<bool> {
    let is_name =
        |cell: &str, index: usize| layout.fields.get(index).is_some_and(|field| folded(&field.name) == folded(cell));
    let start = layout.index(Column::Start)?;
    let cell = record.get(start).filter(|cell| !cell.trim_start().starts_with(|first: char| first.is_ascii_digit()))?;
    if !is_name(cell, start) {
        return None;
    }
    Some(record.len() == layout.fields.len() && record.iter().enumerate().all(|(index, cell)| is_name(cell, index)))
}

/// Reads an exported file.
///
/// # Errors
///
/// [`ImportError`] if the file is of no known format or anything in it cannot be read; nothing of it is imported then.
pub fn parse(bytes: &[u8], options: &ParseOptions) -> Result<Import, ImportError> {
    let text = text::decode(bytes)?;
    let text = text.as_ref();
    let Recognised { reader, layout, delimiter } = recognise(text)?;
    quoting::check(text, delimiter)?;

    let order = if reader.has_regional_dates { date_order(text, delimiter, &layout)? } else { DateOrder::Unknown };
    let mut table = Table::open(text, delimiter);
    let mut assembly = Assembly::new(reader);
    let mut record = csv::StringRecord::new();
    let expected = layout.fields.len();
    let columns: Vec<Column> = layout.fields.iter().map(|field| field.column).collect();
    while let Some(line) = table.next_row(&mut record)? {
        if (Row { line, layout: &layout, order, cells: &record }).is_blank() {
            assembly.skip(line, SkipReason::BlankRow);
            continue;
        }
        match repeated_header(&record, &layout) {
            Some(true) => {
                assembly.skip(line, SkipReason::RepeatedHeader);
                assembly.begin_part();
                continue;
            }
            Some(false) => return Err(ImportError::OtherHeader { line }),
            None => {}
        }
        while reader.has_short_rows && record.len() < expected {
            record.push_field("");
        }
        if record.len() != expected {
            let mended = reader.fits.and_then(|fits| unquoted_commas::mend(&record, &columns, fits));
            let found = record.len();
            record = mended.ok_or(ImportError::ColumnCount { line, expected, found })?;
        }
        let under_no_name =
            |(_, (column, cell)): &(usize, (&Column, &str))| **column == Column::Nameless && !cell.trim().is_empty();
        if let Some((index, _)) = columns.iter().zip(&record).enumerate().find(under_no_name) {
            return Err(ImportError::Nameless { line, place: index + 1 });
        }
        match (reader.read)(&Row { line, layout: &layout, order, cells: &record }, options)? {
            Reading::Skip(reason) => assembly.skip(line, reason),
            Reading::Sets(row) => assembly.add(line, *row)?,
        }
    }
    Ok(assembly.finish(options))
}

/// Whether days stand before months in the dates of the whole file.
fn date_order(text: &str, delimiter: u8, layout: &Layout) -> Result<DateOrder, ImportError> {
    let mut order = DateOrder::Unknown;
    let Some(start) = layout.index(Column::Start) else { return Ok(order) };
    let mut table = Table::open(text, delimiter);
    let mut record = csv::StringRecord::new();
    while order == DateOrder::Unknown && table.next_row(&mut record)?.is_some() {
        order = order.learn(record.get(start).unwrap_or_default());
    }
    Ok(order)
}
