//! Rows that are no sets and are left out, each with its line and reason.

use std::fmt;

use serde::{Serialize, Serializer};

/// A data row that was left out of the import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Physical line of the file where the row starts; the header of a plain file is line 1.
    pub line: u64,
    /// Why it was left out.
    pub reason: SkipReason,
}

/// Why a row was left out. Shown and serialised as a short sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// Strong writes a row for each pause between sets.
    RestTimer,
    /// Strong writes a row for a note that belongs to no set.
    Note,
    /// Every cell of the row is empty, as spreadsheets leave behind.
    BlankRow,
    /// The header stands again, as where two exports were joined.
    RepeatedHeader,
    /// The set stands in an earlier of several joined exports.
    Repeated,
    /// GymBook writes a row for each planned set that was left out.
    LeftOut,
    /// StrongLifts writes a row for an exercise of which no set was done.
    NothingDone,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::RestTimer => "The row is a rest timer, not a set.",
            Self::Note => "The row is a note, not a set.",
            Self::BlankRow => "The row is blank.",
            Self::RepeatedHeader => "The row is the header once more.",
            Self::Repeated => "The set stands in an earlier part of the file.",
            Self::LeftOut => "The set was planned and left out.",
            Self::NothingDone => "No set of the exercise was done.",
        })
    }
}

impl Serialize for SkipReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
