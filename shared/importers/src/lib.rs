//! Workout exports of other applications, read into workouts.
//!
//! [`parse`] takes the bytes of one exported file and gives back every workout in it, or an error and nothing at all.
//! It does no I/O and knows no clock and no database, but for storing what was parsed, behind the feature `storing`.
//!
//! # What holds for every file
//!
//! - **Every row is accounted for**: rows of imported sets + skipped rows = data rows. A skipped row has a line and a reason.
//! - **All or nothing**: one bad cell refuses the whole file. The error names the line, the column and what to do, and
//!   never repeats the cell, which may be private.
//! - **The content decides**: a file is recognised by its header, never by its name. A column that is not known refuses
//!   the file, because what it holds would otherwise be lost without a word.
//! - **As written**: a blank weight is unknown, a weight of 0 is 0; weights keep the unit they were typed in; times are
//!   local times and never moved into a zone, unless the file states their offset.
//! - **Importing twice adds nothing**: a workout is identified by source, local start and slot
//!   ([`ImportedWorkout`]), a set by its position in the workout; neither depends on notes.
//!
//! # Map
//!
//! | file | what |
//! |---|---|
//! | `import.rs` | the public result, and [`parse`] |
//! | `text.rs`, `quoting.rs`, `table.rs` | bytes to rows: encoding, quotes, delimiter, physical lines |
//! | `format.rs`, `column.rs` | which export it is and which column holds what |
//! | `row.rs`, `number.rs`, `timestamp.rs`, `duration.rs`, `distance.rs` | cells to values |
//! | `strong.rs`, `hevy.rs`, `fitnotes.rs`, `stronglifts.rs`, `stronglifts_rows.rs`, `fitbod.rs`, `gymbook.rs` | one shape of exports each: the columns it needs and how a row is read |
//! | `data.rs`, `month_names.rs`, `words.rs` | what applications write in each language: the tables of `data/` |
//! | `two_units.rs` | which of two units a weight was typed in, where both are written |
//! | `unquoted_commas.rs` | rows of Strong whose text holds commas without quotes |
//! | `assembly.rs` | rows to workouts |
//! | `storing.rs` | parsed workouts to stored ones, with the identity that makes importing twice add nothing |
//! | `error.rs`, `skip.rs` | why a file was refused, why a row was left out |
//!
//! A new format is a file, one line in `format.rs` and its names in `data/headers.csv`; a new language is data.

mod assembly;
mod column;
mod data;
mod distance;
mod duration;
mod error;
mod fitbod;
mod fitnotes;
mod format;
mod gymbook;
mod hevy;
mod import;
mod month_names;
mod number;
mod quoting;
mod row;
mod skip;
#[cfg(feature = "storing")]
pub mod storing;
mod strong;
mod stronglifts;
mod stronglifts_rows;
mod table;
mod text;
mod timestamp;
mod two_units;
mod unquoted_commas;
mod words;

pub use assembly::WORKOUT_SETS_MAX;
pub use error::{CellProblem, ImportError};
pub use format::Format;
pub use import::{Import, ImportedSet, ImportedWorkout, ParseOptions, parse};
pub use skip::{SkipReason, Skipped};
pub use text::{CELL_BYTES_MAX, FILE_BYTES_MAX};
