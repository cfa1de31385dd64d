//! Why a file was refused: where, and what the person can do about it.

use std::fmt;

use crate::{CELL_BYTES_MAX, FILE_BYTES_MAX, Format, WORKOUT_SETS_MAX};

/// The file was refused and nothing of it was imported.
///
/// The text says where and what to do. It never repeats a cell; only the header is shown, where it was not recognised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file is larger than any real export.
    #[error(
        "the file has {bytes} bytes and {FILE_BYTES_MAX} are allowed; export a shorter period and import the parts"
    )]
    TooLarge {
        /// Size of the file in bytes.
        bytes: usize,
    },
    /// There is no header line.
    #[error("the file is empty; export it again")]
    Empty,
    /// A file that is no text, or text of another kind.
    #[error("this is {seen} and no CSV file; {instead}")]
    NotCsv {
        /// What the first bytes say it is.
        seen: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// The bytes are neither UTF-8 nor UTF-16.
    #[error(
        "line {line}: the text is not UTF-8, and no UTF-16 either; perhaps it was saved as Windows-1252 or Latin-1: save it as CSV UTF-8, or export it again"
    )]
    Encoding {
        /// Physical line of the first bad byte.
        line: u64,
    },
    /// A NUL byte: no export holds one, a damaged or binary file does.
    #[error("line {line}: the text holds a NUL byte; the file is damaged or no CSV file, export it again")]
    NulByte {
        /// Physical line of the byte.
        line: u64,
    },
    /// A quoted cell never ends.
    #[error("line {line}: a quote opened here is never closed; the file was cut off or damaged, export it again")]
    UnclosedQuote {
        /// Physical line of the opening quote.
        line: u64,
    },
    /// Something other than a delimiter follows a closing quote.
    #[error("line {line}: text follows a closing quote; write a quote inside a cell twice, or export the file again")]
    StrayQuote {
        /// Physical line of the closing quote.
        line: u64,
    },
    /// A cell is longer than any real one.
    #[error(
        "line {line}: a cell is longer than {CELL_BYTES_MAX} bytes; shorten it, or check that the file is a CSV export"
    )]
    CellTooLong {
        /// Physical line where the cell starts.
        line: u64,
    },
    /// The header is that of no known export.
    #[error("the header \"{header}\" is not known; known formats are {}; export from one of these", Format::known())]
    UnknownFormat {
        /// The header as seen, shortened to 200 characters.
        header: String,
    },
    /// The header has most columns of a format and lacks some.
    #[error(
        "the header \"{header}\" is nearest to {format} and lacks {columns}; known formats are {}; export the file again as it is",
        Format::known()
    )]
    ColumnMissing {
        /// The nearest format.
        format: Format,
        /// The header as seen, shortened to 200 characters.
        header: String,
        /// The usual names of what is missing.
        columns: String,
    },
    /// The format is known and one of its columns is not.
    #[error(
        "column {column}: a {format} export with this column is not known; remove the column, or report the header"
    )]
    UnknownColumn {
        /// The recognised format.
        format: Format,
        /// The column as named in the header, shortened to 60 characters.
        column: String,
    },
    /// Something stands under no name.
    #[error("line {line}: the header gives column {place} no name and something is in it; name or remove the column")]
    Nameless {
        /// Physical line where the row starts.
        line: u64,
        /// Place of the column, counted from 1.
        place: usize,
    },
    /// Two columns of the header mean the same.
    #[error("column {column}: the {format} header has this column twice, perhaps in two units; remove one of them")]
    RepeatedColumn {
        /// The recognised format.
        format: Format,
        /// The second of the two columns as named in the header, shortened to 60 characters.
        column: String,
    },
    /// A row does not fit the header.
    #[error(
        "line {line}: the row has {found} columns and the header has {expected}; put text that holds a comma in quotes, or export the file again"
    )]
    ColumnCount {
        /// Physical line where the row starts.
        line: u64,
        /// Columns of the header.
        expected: usize,
        /// Columns of the row.
        found: usize,
    },
    /// Another header stands in the middle of the file.
    #[error(
        "line {line}: another header starts here, of other columns; the file joins different exports, split it and import the parts"
    )]
    OtherHeader {
        /// Physical line of that header.
        line: u64,
    },
    /// A workout that nobody could edit.
    #[error(
        "line {line}: the workout of this row has more than {WORKOUT_SETS_MAX} sets; correct the dates, or split it into several workouts"
    )]
    WorkoutTooLarge {
        /// Physical line of the first set that is too many.
        line: u64,
    },
    /// A cell cannot be read.
    #[error("line {line}, column {column}: {problem}")]
    Cell {
        /// Physical line where the row starts.
        line: u64,
        /// The column as named in the header.
        column: String,
        /// What is wrong and what to do.
        problem: CellProblem,
    },
}

/// What is wrong with a cell, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CellProblem {
    /// The cell must not be blank.
    Missing,
    /// No number, or one that no decimal can hold.
    NotANumber,
    /// A number with a fraction where only whole ones make sense.
    NotWhole,
    /// The number is below the smallest or above the largest accepted value.
    OutOfRange {
        /// Smallest accepted value.
        min: i64,
        /// Largest accepted value.
        max: i64,
    },
    /// No date of the format, or a day that does not exist.
    NotADate,
    /// A date of which nothing in the file tells whether day or month comes first.
    AmbiguousDate,
    /// Neither yes nor no in a known language.
    NotYesOrNo,
    /// The year is not one in which a workout can have been logged.
    YearOutOfRange,
    /// The month is in a language without an entry in the table.
    UnknownMonth,
    /// No duration as the application writes it.
    NotADuration,
    /// The kind of set is not known.
    UnknownSetKind,
    /// The unit is not known, or missing beside a number that needs one.
    UnknownUnit,
    /// The same stands in two units.
    TwoUnits,
    /// A comma before three digits, which may part thousands or decimals.
    AmbiguousComma,
    /// A text longer than a saved workout may hold.
    TooLong {
        /// Most characters accepted.
        characters_max: usize,
    },
}

impl fmt::Display for CellProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { min, max } => {
                write!(formatter, "the number must be between {min} and {max}; correct it in the file")
            }
            Self::TooLong { characters_max } => {
                write!(formatter, "the text has more than {characters_max} characters; shorten it in the file")
            }
            Self::TwoUnits => formatter.write_str("this stands in two units; leave one of them blank"),
            Self::AmbiguousComma => formatter
                .write_str("whether the comma parts thousands or decimals cannot be told; write the number with a point, like 82.5"),
            Self::Missing => formatter.write_str("the cell is blank; fill it in, or remove the row"),
            Self::NotANumber => {
                formatter.write_str("this is not a number; write it like 82.5, or leave the cell blank")
            }
            Self::NotWhole => formatter.write_str("the number must be whole; correct it in the file"),
            Self::NotADate => {
                formatter.write_str("this is not a date that exists; correct it, or export the file again")
            }
            Self::AmbiguousDate => formatter.write_str(
                "whether the day or the month comes first cannot be told from any date of the file; export a longer period, or write dates like 2025-01-31",
            ),
            Self::NotYesOrNo => formatter.write_str("this is neither yes nor no; correct it, or leave the cell blank"),
            Self::YearOutOfRange => {
                formatter.write_str("the year must be between 1900 and 2199; correct it in the file")
            }
            Self::UnknownMonth => formatter
                .write_str("the name of the month is not known; set the application to English and export again"),
            Self::NotADuration => {
                formatter.write_str("this is not a duration; write it like 1h 5m, or leave the cell blank")
            }
            Self::UnknownSetKind => formatter
                .write_str("this kind of set is not known; correct it, or report it with the name of the application"),
            Self::UnknownUnit => formatter.write_str("the unit is missing or not known; write kg or lb, or km or mi"),
        }
    }
}
