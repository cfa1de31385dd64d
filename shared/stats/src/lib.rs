//! Exercise statistics of one person: sets in, figures out.
//!
//! Everything here is a pure function of a [`History`]: no clock, no input or output, no binary floating point. Masses
//! are whole multiples of 10⁻¹⁷ kg, which holds every typed kilogram and pound exactly; estimates are compared as
//! fractions and rounded (half to even) only where they are written out.
//!
//! [`compute`] gives the rows of the published tables. The order of the input rows does not matter: sets are read in
//! the order (local date, local time, workout id, position), and the rows come out in the order of their keys.
//!
//! What depends on today is left to the reader: [`current_streak`] derives it from stored dates, so that midnight
//! needs no write.

mod calendar;
mod catalogue;
mod exercise_stats;
mod history;
mod load;
mod mass;
mod muscle;
mod muscle_week;
mod names;
mod one_rep_max;
mod plates;
mod projections;
mod record;
mod rep_max;
mod set_chain;
mod set_facts;
mod streak;
mod summary;
mod suspect;
mod tally;
mod timeline;
mod weekly;

pub use calendar::{iso_week, week_of};
pub use exercise_stats::ExerciseStats;
pub use history::{Bodyweight, Exercise, History, InvalidHistory, LoadKind, Profile, Set, SetKind, Workout};
pub use mass::{InvalidWeight, Kilograms, TypedWeight, Unit};
pub use muscle::{Muscle, WorkedMuscles, muscles_of};
pub use muscle_week::MuscleWeek;
pub use names::UnknownName;
pub use one_rep_max::{ESTIMATE_REPS_MAX, Formula, OneRepMax, one_rep_max};
pub use plates::nearest_step;
pub use projections::{Projections, compute};
pub use record::{Record, RecordKind, RecordValue};
pub use rep_max::{REP_MAX_TABLE_REPS, RepMax};
pub use streak::current_streak;
pub use summary::{MonthlyTotals, Summary};
pub use suspect::{SUSPECT_REPS_ABOVE, SUSPECT_WEIGHT_KILOGRAMS_ABOVE, SUSPECT_WORKOUT_SECONDS_ABOVE};
pub use weekly::ExerciseWeek;

/// Version of the formulas. Raising it makes the stored figures of every person stale.
pub const DEFINITION_VERSION: i32 = 1;
