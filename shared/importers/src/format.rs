//! Which application exported the file, told by the header alone.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{
    ImportError, ParseOptions,
    assembly::Reading,
    column::{Column, Layout, Mismatch, usual_name},
    fitbod, fitnotes, gymbook, hevy,
    row::Row,
    strong, stronglifts, stronglifts_rows,
};

/// An export format. Serialised and shown as the name of its application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Strong: with commas; with semicolons and units in columns; quoted with units in names; and that of 2015 to 2018.
    Strong,
    /// Hevy, in kilograms or pounds, kilometres or miles.
    Hevy,
    /// FitNotes: with the unit in a column of its own, in the name of the weight column, or with a column for each unit.
    FitNotes,
    /// StrongLifts: one exercise in a row, its sets side by side.
    StrongLifts,
    /// Fitbod: times are instants, with their offset.
    Fitbod,
    /// GymBook: dates as the phone's region writes them, units beside the numbers.
    GymBook,
}

impl Format {
    /// The source part of an imported workout's identity: the name of the application in lower case.
    #[must_use]
    pub fn source(self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Hevy => "hevy",
            Self::FitNotes => "fitnotes",
            Self::StrongLifts => "stronglifts",
            Self::Fitbod => "fitbod",
            Self::GymBook => "gymbook",
        }
    }

    /// The format by its name in `data/headers.csv`.
    pub(crate) fn of(name: &str) -> Option<Self> {
        READERS.iter().map(|reader| reader.format).find(|format| format.to_string() == name)
    }

    /// The names of all known formats, for messages.
    pub(crate) fn known() -> String {
        let mut names: Vec<String> = READERS.iter().map(|reader| reader.format.to_string()).collect();
        names.dedup();
        names.join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Strong => "Strong",
            Self::Hevy => "Hevy",
            Self::FitNotes => "FitNotes",
            Self::StrongLifts => "StrongLifts",
            Self::Fitbod => "Fitbod",
            Self::GymBook => "GymBook",
        })
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.source())
    }
}

/// How files of one format are read.
pub(crate) struct Reader {
    pub(crate) format: Format,
    /// Columns without which a header is that of another format.
    pub(crate) required: &'static [Column],
    /// Reads one row that fits the header.
    pub(crate) read: for<'row> fn(&Row<'row>, &ParseOptions) -> Result<Reading<'row>, ImportError>,
    /// Whether a cell is what its column holds, for formats that write text with commas without quotes.
    pub(crate) fits: Option<fn(Column, &str) -> bool>,
    /// What rows of one workout have in common, beside its title.
    pub(crate) grouping: Grouping,
    /// Whether dates are written as the region of the phone has them, so that their order is learned from the file.
    pub(crate) has_regional_dates: bool,
    /// Whether rows end with their last filled cell.
    pub(crate) has_short_rows: bool,
}

/// What rows of one workout have in common, beside its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// The start of the workout.
    Start,
    /// The day: each row has the time of its set, and the first is the start.
    Day,
}

const READERS: &[&Reader] = &[
    &strong::READER,
    &hevy::READER,
    &fitnotes::READER,
    &stronglifts::READER,
    &stronglifts_rows::READER,
    &fitbod::READER,
    &gymbook::READER,
];

/// Delimiters an export may be written with.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// Longest header that is looked at, in bytes.
const HEADER_BYTES_MAX: usize = 16 * 1024;

/// A header that was recognised.
pub(crate) struct Recognised {
    pub(crate) reader: &'static Reader,
    pub(crate) layout: Layout,
    pub(crate) delimiter: u8,
}

/// Recognises the header of a file.
pub(crate) fn recognise(text: &str) -> Result<Recognised, ImportError> {
    let text = text.trim_start_matches(['\r', '\n']);
    if text.trim().is_empty() {
        return Err(ImportError::Empty);
    }
    let first = &text.as_bytes()[..text.len().min(HEADER_BYTES_MAX)];
    let mut closest: Option<(&Reader, Vec<Column>)> = None;
    for delimiter in DELIMITERS {
        let header = header_names(first, delimiter);
        let names: Vec<&str> = header.iter().map(String::as_str).collect();
        for &reader in READERS {
            match Layout::of(&names, reader.format, reader.required) {
                Ok(layout) => return Ok(Recognised { reader, layout, delimiter }),
                Err(Mismatch::OtherFormat(missing)) => {
                    let is_close = missing.len() * 2 < reader.required.len();
                    if is_close && closest.as_ref().is_none_or(|(_, other)| missing.len() < other.len()) {
                        closest = Some((reader, missing));
                    }
                }
                Err(Mismatch::Unknown(index)) => {
                    let column = shown(names[index], 60);
                    return Err(ImportError::UnknownColumn { format: reader.format, column });
                }
                Err(Mismatch::Repeated(index)) => {
                    let column = shown(names[index], 60);
                    return Err(ImportError::RepeatedColumn { format: reader.format, column });
                }
            }
        }
    }
    let header = shown(text.lines().next().unwrap_or_default(), 200);
    Err(match closest {
        Some((reader, missing)) => {
            let names = missing.iter().filter_map(|&column| usual_name(reader.format, column));
            ImportError::ColumnMissing { format: reader.format, header, columns: names.collect::<Vec<_>>().join(", ") }
        }
        None => ImportError::UnknownFormat { header },
    })
}

fn header_names(first: &[u8], delimiter: u8) -> Vec<String> {
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(first);
    let mut record = csv::ByteRecord::new();
    // Reading from memory cannot fail; a header that cannot be read is one that no format knows.
    if reader.read_byte_record(&mut record).is_err() {
        return Vec::new();
    }
    record.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// A part of the header as an error shows it: one line, no control characters, `max` characters at most.
fn shown(text: &str, max: usize) -> String {
    let mut characters = text.trim().chars().map(|character| if character.is_control() { ' ' } else { character });
    let mut shown: String = characters.by_ref().take(max).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}
