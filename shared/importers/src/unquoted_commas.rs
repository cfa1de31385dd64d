//! Rows whose text holds commas without quotes.
//!
//! Such a row has more cells than the header. Where only one way to join neighbours into the text columns leaves every
//! other column with what it holds, that way is what was meant. Anything else is refused.
//!
//! A cell that could stand in another column, such as a number, is never joined to a text. Otherwise the weight `82,5`
//! would be mended by moving every figure of the row one column on.

use csv::StringRecord;

use crate::{
    column::Column,
    distance, number,
    words::{Meaning, meaning},
};

/// Most commas that are looked for in one row; a row with more is damaged, and the ways to join grow fast.
const EXTRA_COMMAS_MAX: usize = 8;

/// Whether the cell is a unit, where the column holds units, and a number or blank where it holds anything else.
pub(crate) fn fits_unit_or_number(column: Column, cell: &str) -> bool {
    match column {
        Column::WeightUnit => cell.is_empty() || meaning(cell, &[Meaning::Kilogram, Meaning::Pound]).is_some(),
        Column::DistanceUnit => cell.is_empty() || distance::Unit::of(cell).is_some(),
        _ => number::decimal(cell, i64::MIN, i64::MAX).is_ok(),
    }
}

/// The row with as many cells as there are columns, if only one such row makes sense.
pub(crate) fn mend(record: &StringRecord, columns: &[Column], fits: fn(Column, &str) -> bool) -> Option<StringRecord> {
    let cells: Vec<&str> = record.iter().collect();
    let extra = cells.len().checked_sub(columns.len())?;
    // A cell with a line end was quoted, so its commas were too; joining it would hide that rows ran together.
    if extra == 0 || extra > EXTRA_COMMAS_MAX || cells.iter().any(|cell| cell.contains(['\r', '\n'])) {
        return None;
    }
    let mut search = Search { cells: &cells, columns, fits, widths: Vec::new(), found: Vec::new() };
    search.place(0, extra);
    let widths = only(&search.found).or_else(|| {
        let natural: Vec<_> = search.found.into_iter().filter(|widths| parts_as_prose(&cells, widths)).collect();
        only(&natural)
    })?;
    Some(joined(&cells, &widths))
}

/// Tries every way to give the extra cells to the text columns.
struct Search<'row> {
    cells: &'row [&'row str],
    columns: &'row [Column],
    fits: fn(Column, &str) -> bool,
    /// How many cells each column so far takes.
    widths: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn place(&mut self, at: usize, extra: usize) {
        let Some(&column) = self.columns.get(self.widths.len()) else {
            if extra == 0 {
                self.found.push(self.widths.clone());
            }
            return;
        };
        if !column.is_text() && !(self.fits)(column, self.cells[at].trim()) {
            return;
        }
        let more_max = if column.is_text() { extra } else { 0 };
        for more in 0..=more_max {
            if more > 0 && !self.cells[at..=at + more].iter().all(|cell| self.is_only_text(cell)) {
                break;
            }
            self.widths.push(1 + more);
            self.place(at + 1 + more, extra - more);
            self.widths.pop();
        }
    }

    fn is_only_text(&self, cell: &str) -> bool {
        self.columns.iter().all(|&column| column.is_text() || !(self.fits)(column, cell.trim()))
    }
}

/// Whether a space follows every comma inside a text and none follows a comma between columns, as in `Curl, heavy`.
fn parts_as_prose(cells: &[&str], widths: &[usize]) -> bool {
    let mut at = 0;
    widths.iter().all(|width| {
        let (first, inside) = (cells[at], &cells[at + 1..at + width]);
        at += width;
        !first.starts_with(' ') && inside.iter().all(|cell| cell.starts_with(' '))
    })
}

fn only(found: &[Vec<usize>]) -> Option<Vec<usize>> {
    match found {
        [widths] => Some(widths.clone()),
        _ => None,
    }
}

fn joined(cells: &[&str], widths: &[usize]) -> StringRecord {
    let mut at = 0;
    let mut record = StringRecord::new();
    for width in widths {
        record.push_field(&cells[at..at + width].join(","));
        at += width;
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[Column::Title, Column::Reps, Column::SetNotes, Column::WorkoutNotes];

    fn mended(row: &[&str]) -> Option<Vec<String>> {
        let fits = |_: Column, cell: &str| cell.bytes().all(|byte| byte.is_ascii_digit());
        mend(&StringRecord::from(row.to_vec()), COLUMNS, fits).map(|row| row.iter().map(str::to_owned).collect())
    }

    #[test]
    fn cells_are_joined_where_the_other_columns_allow_one_way_only() {
        let row = mended(&["Push", "Pull", "8", "", ""]);
        assert_eq!(row, Some(["Push,Pull", "8", "", ""].map(str::to_owned).to_vec()));
    }

    #[test]
    fn among_several_ways_the_one_that_reads_as_prose_is_taken() {
        let row = mended(&["Push", "8", "slow", " then fast", "tired"]);
        assert_eq!(row, Some(["Push", "8", "slow, then fast", "tired"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_row_that_stays_ambiguous_is_not_mended() {
        assert_eq!(mended(&["Push", "8", "slow", "fast", "tired"]), None);
        assert_eq!(mended(&["Push", "Pull", "eight", "", ""]), None);
        assert_eq!(mended(&["Push", "8"]), None);
        assert_eq!(mended(&["Push", "8", "5", "slow", ""]), None);
        assert_eq!(mended(&["Push", "8", "5", "", ""]), None);
        assert_eq!(mended(&["Push\n", "Pull", "8", "", ""]), None);
        assert_eq!(mended(&["1"; 13]), None);
    }
}
