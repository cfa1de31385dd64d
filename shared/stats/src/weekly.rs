//! Figures of one exercise in one week.

use jiff::civil::Date;
use serde::Serialize;
use uuid::Uuid;

use crate::calendar::iso_week;
use crate::mass::Kilograms;
use crate::one_rep_max::OneRepMax;
use crate::tally::Tally;
use crate::timeline::TimelineEntry;

/// One row of the weekly table, keyed by exercise and the first date of the person's week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExerciseWeek {
    /// The exercise.
    pub exercise_id: Uuid,
    /// First date of the week.
    pub week_start: Date,
    /// The ISO year and week to show, such as `2024-W05`; see [`iso_week`](crate::iso_week) for other starts than Monday.
    pub iso_week: String,
    /// Working sets performed, drops joined to their set.
    pub sets: u64,
    /// Repetitions of working rows.
    pub reps: u64,
    /// Weight written × reps of working rows.
    pub working_volume_kg: Kilograms,
    /// Weight written × reps of all rows.
    pub total_volume_kg: Kilograms,
    /// Effective load × reps × implements × sides of working rows.
    pub effective_volume_kg: Kilograms,
    /// The best estimated one-rep max of the week, to six decimals.
    pub best_e1rm_kg: Option<Kilograms>,
}

/// The week of one exercise that is being read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenWeek {
    pub(crate) week_rank: u32,
    pub(crate) week_start: Date,
    pub(crate) tally: Tally,
    pub(crate) best_estimate: Option<OneRepMax>,
}

impl OpenWeek {
    pub(crate) fn new(workout: &TimelineEntry) -> Self {
        Self { week_rank: workout.week_rank, week_start: workout.week, tally: Tally::default(), best_estimate: None }
    }

    pub(crate) fn row(&self, exercise_id: Uuid) -> ExerciseWeek {
        ExerciseWeek {
            exercise_id,
            week_start: self.week_start,
            iso_week: iso_week(self.week_start),
            sets: self.tally.sets,
            reps: self.tally.reps,
            working_volume_kg: self.tally.working_volume,
            total_volume_kg: self.tally.total_volume,
            effective_volume_kg: self.tally.effective_volume,
            best_e1rm_kg: self.best_estimate.map(OneRepMax::rounded),
        }
    }
}
