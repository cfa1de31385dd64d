//! Tables on the terminal.

use tabled::builder::Builder;
use tabled::settings::object::{Columns, Rows};
use tabled::settings::{Alignment, Modify, Padding, Style};

/// What a column holds, and so to which side it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Words, set to the left.
    Words(&'static str),
    /// Figures, set to the right.
    Figures(&'static str),
}

impl Column {
    fn title(self) -> &'static str {
        match self {
            Self::Words(title) | Self::Figures(title) => title,
        }
    }
}

/// A table under a line of titles.
pub(crate) fn table(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut builder = Builder::default();
    builder.push_record(columns.iter().map(|column| column.title()));
    for row in rows {
        builder.push_record(row);
    }
    let mut table = builder.build();
    table.with(Style::blank()).with(Modify::new(Rows::new(..)).with(Padding::new(1, 2, 0, 0)));
    for (index, column) in columns.iter().enumerate() {
        if matches!(column, Column::Figures(_)) {
            table.with(Modify::new(Columns::one(index)).with(Alignment::right()));
        }
    }
    // What fills a line up to its end would only be copied along.
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
