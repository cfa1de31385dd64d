//! Records: the best so far, and every time it was beaten.

use jiff::civil::Date;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::mass::Kilograms;
use crate::names::written_names;

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// The highest estimated one-rep max.
    #[serde(rename = "e1rm")]
    EstimatedOneRepMax,
    /// The heaviest effective load.
    Weight,
    /// The most effective load × reps × implements × sides in one set.
    SetVolume,
    /// The most repetitions in one set.
    Reps,
    /// The least assistance.
    Assistance,
}

written_names!(RecordKind, "e1rm, weight, set_volume, reps or assistance",
    EstimatedOneRepMax => "e1rm", Weight => "weight", SetVolume => "set_volume", Reps => "reps", Assistance => "assistance");

/// The figure of a record; serialised as a decimal string whatever its kind, so that the column has one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordValue {
    /// Kilograms.
    Mass(Kilograms),
    /// Repetitions.
    Reps(i32),
}

impl Serialize for RecordValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Mass(mass) => serializer.collect_str(mass),
            Self::Reps(reps) => serializer.collect_str(reps),
        }
    }
}

/// A set that beat everything before it. The first sighting of a figure is the base and no record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    /// What was beaten.
    pub kind: RecordKind,
    /// The new best.
    pub value: RecordValue,
    /// Repetitions of the set; null where none were written.
    pub reps: Option<i32>,
    /// The workout's id.
    pub workout_id: Uuid,
    /// The set's position in the workout.
    pub position: i32,
    /// The workout's local date.
    pub on: Date,
}

/// Which set a figure comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sighting {
    pub(crate) workout_id: Uuid,
    pub(crate) position: i32,
    pub(crate) on: Date,
    /// Positive repetitions of the set, where written.
    pub(crate) reps: Option<i32>,
    /// Its effective load, where known and positive.
    pub(crate) load: Option<Kilograms>,
}

/// The best figure so far and the first set that reached it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Best<V> {
    pub(crate) best: Option<(V, Sighting)>,
}

impl<V> Default for Best<V> {
    fn default() -> Self {
        Self { best: None }
    }
}

impl<V: Ord> Best<V> {
    /// Takes the next set's figure, in chronological order, and tells whether it is a record: strictly greater than a
    /// base that was there before.
    pub(crate) fn observe(&mut self, value: V, sighting: Sighting) -> bool {
        let is_record = match &self.best {
            Some((best, _)) if value <= *best => return false,
            earlier => earlier.is_some(),
        };
        self.best = Some((value, sighting));
        is_record
    }
}
