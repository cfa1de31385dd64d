//! Tables on the terminal.

use tabled::Table;
use tabled::builder::Builder;
use tabled::grid::records::{ExactRecords as _, PeekableRecords as _};
use tabled::settings::formatting::TrimStrategy;
use tabled::settings::object::{Columns, Rows};
use tabled::settings::{Alignment, Modify, Padding, Style, Width};

/// What a column holds, and so to which side it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column<'a> {
    /// Words, set to the left.
    Words(&'a str),
    /// Figures, set to the right.
    Figures(&'a str),
}

impl<'a> Column<'a> {
    fn title(self) -> &'a str {
        match self {
            Self::Words(title) | Self::Figures(title) => title,
        }
    }
}

/// Columns of the narrowest terminal that tables of people's words are made for.
pub(crate) const WIDTH: usize = 80;

/// A table under a line of titles.
pub(crate) fn table(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    finished(&built(columns, rows, Padding::new(1, 2, 0, 0)))
}

/// A table that fits [`WIDTH`]: its first column, which is the one of words, is broken into lines.
pub(crate) fn narrow_table(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = built(columns, rows, Padding::new(1, 2, 0, 0));
    // The padding is all that is between columns.
    table.with(Style::empty());
    let too_wide = table.total_width().saturating_sub(WIDTH);
    if too_wide > 0 {
        let records = table.get_records();
        let first = (0..records.count_rows()).map(|row| records.get_width((row, 0).into())).max().unwrap_or(0);
        let width = first.saturating_sub(too_wide).max(1);
        let words = Modify::new(Columns::first());
        table.with(words.with(Width::wrap(width).keep_words(true)).with(TrimStrategy::Horizontal));
    }
    finished(&table)
}

fn built(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>, padding: Padding) -> Table {
    let mut builder = Builder::default();
    builder.push_record(columns.iter().map(|column| column.title()));
    for row in rows {
        builder.push_record(row);
    }
    let mut table = builder.build();
    table.with(Style::blank()).with(Modify::new(Rows::new(..)).with(padding));
    for (index, column) in columns.iter().enumerate() {
        if matches!(column, Column::Figures(_)) {
            table.with(Modify::new(Columns::one(index)).with(Alignment::right()));
        }
    }
    table
}

/// What fills a line up to its end would only be copied along.
fn finished(table: &Table) -> String {
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
