//! What goes in: one person's workouts, sets, exercises, bodyweights and settings.

use jiff::civil::{Date, Time, Weekday};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::mass::TypedWeight;
use crate::names::written_names;
use crate::one_rep_max::{ESTIMATE_REPS_MAX, Formula};

/// What kind of set a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetKind {
    /// Left out of records, estimates and working figures.
    Warmup,
    /// A working set.
    Normal,
    /// A working set taken to failure.
    Failure,
    /// A working row that continues the set before it with less weight; joined to it where sets are counted.
    Drop,
}

written_names!(SetKind, "warmup, normal, failure or drop", Warmup => "warmup", Normal => "normal", Failure => "failure", Drop => "drop");

impl SetKind {
    /// Whether the row counts towards working figures: every kind but the warm-up.
    pub const fn is_working(self) -> bool {
        !matches!(self, Self::Warmup)
    }
}

/// How the load of an exercise comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadKind {
    /// The weight written is the load.
    External,
    /// A share of the bodyweight and what is written as added.
    Bodyweight,
    /// The bodyweight less the assistance that is written.
    Assisted,
    /// No load at all (stretching, running): no estimate, no weight record.
    Unloaded,
}

written_names!(LoadKind, "external, bodyweight, assisted or unloaded", External => "external", Bodyweight => "bodyweight", Assisted => "assisted", Unloaded => "unloaded");

/// An exercise and the attributes on which figures depend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exercise {
    /// Its id.
    pub id: Uuid,
    /// The name shown.
    pub name: String,
    /// How its load comes about.
    pub load: LoadKind,
    /// The part of the bodyweight that a bodyweight exercise moves, 0 to 1; read to nine decimals (half to even).
    pub bodyweight_share: Decimal,
    /// 2 where the weight is written per implement (volume counts twice, sets once), else 1.
    pub implements: u8,
    /// Repetitions are written for one side and done with both: they and the volume count twice, sets once.
    pub per_side: bool,
    /// The exercise under which this one's sets count; this one then has no rows of its own.
    pub merged_into: Option<Uuid>,
}

/// A workout, filed under the local date in the person's zone at that time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workout {
    /// Its id.
    pub id: Uuid,
    /// Local date of the start.
    pub local_date: Date,
    /// Local time of the start.
    pub local_time: Time,
    /// How long it took, in seconds.
    pub duration_seconds: Option<i64>,
}

/// One set of a workout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    /// Index into [`History::workouts`].
    pub workout: u32,
    /// Index into [`History::exercises`].
    pub exercise: u32,
    /// The set's place in its workout, used once in a workout.
    pub position: i32,
    /// What kind of set it is.
    pub kind: SetKind,
    /// The weight written, if any. Added weight for a bodyweight exercise, assistance (of either sign) for an assisted.
    pub weight: Option<TypedWeight>,
    /// Repetitions, if written; 0 without duration and distance is a failed attempt.
    pub reps: Option<i32>,
    /// How long it was held, in seconds.
    pub duration_seconds: Option<i64>,
    /// How far it went, in metres.
    pub distance_meters: Option<Decimal>,
}

/// One line of the bodyweight log; it holds from its date until the next one. Of several on one date the heaviest
/// counts; a weight of zero or less is no bodyweight and is passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bodyweight {
    /// The date from which it holds.
    pub on: Date,
    /// The bodyweight.
    pub weight: TypedWeight,
}

/// The person's settings on which figures depend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The first day of the person's week.
    pub week_start: Weekday,
    /// The formula of the estimated one-rep max.
    pub formula: Formula,
    /// No estimate is made above this number of repetitions; more than [`ESTIMATE_REPS_MAX`] is read as that.
    pub estimate_max_reps: u8,
}

impl Default for Profile {
    fn default() -> Self {
        Self { week_start: Weekday::Monday, formula: Formula::Brzycki, estimate_max_reps: ESTIMATE_REPS_MAX }
    }
}

/// Everything that one person's figures derive from. The order of the rows does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// Settings.
    pub profile: Profile,
    /// Every exercise that a set or a merge names.
    pub exercises: Vec<Exercise>,
    /// Every workout, also those without sets.
    pub workouts: Vec<Workout>,
    /// Every set.
    pub sets: Vec<Set>,
    /// The bodyweight log.
    pub bodyweights: Vec<Bodyweight>,
}

/// A history from which no figures can be made. The text names ids and places, never values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHistory {
    /// More rows of one kind than a 32-bit index can name.
    #[error("the history has more rows than can be indexed")]
    TooManyRows,
    /// A set's workout index is out of range.
    #[error("set row {set} names a workout that is not in the history")]
    SetWithoutWorkout {
        /// Index into [`History::sets`].
        set: usize,
    },
    /// A set's exercise index is out of range.
    #[error("set row {set} names an exercise that is not in the history")]
    SetWithoutExercise {
        /// Index into [`History::sets`].
        set: usize,
    },
    /// A set with fewer than zero repetitions.
    #[error("workout {workout} has negative reps at position {position}")]
    NegativeReps {
        /// The workout's id.
        workout: Uuid,
        /// The set's position.
        position: i32,
    },
    /// The same exercise id twice.
    #[error("exercise {exercise} is listed twice")]
    DuplicateExercise {
        /// The exercise's id.
        exercise: Uuid,
    },
    /// A merge into an exercise that is not there.
    #[error("exercise {exercise} is merged into {target}, which is not in the history")]
    UnknownMergeTarget {
        /// The merged exercise's id.
        exercise: Uuid,
        /// The id it names.
        target: Uuid,
    },
    /// Merges that lead back to where they began.
    #[error("the merges of exercise {exercise} go in a circle")]
    MergeCycle {
        /// The id of an exercise whose merges never end.
        exercise: Uuid,
    },
    /// A share of the bodyweight outside 0 to 1.
    #[error("exercise {exercise} has a bodyweight share outside 0 to 1")]
    BodyweightShare {
        /// The exercise's id.
        exercise: Uuid,
    },
    /// A number of implements that is neither 1 nor 2.
    #[error("exercise {exercise} has a number of implements other than 1 or 2")]
    Implements {
        /// The exercise's id.
        exercise: Uuid,
    },
    /// The sum of all volumes cannot be held exactly.
    #[error("the sum of all volumes is above 1e21 kg")]
    VolumeTooLarge,
}
