//! The rep-max table: the heaviest load lifted at least n times.

use jiff::civil::Date;
use serde::Serialize;
use uuid::Uuid;

use crate::mass::Kilograms;
use crate::record::{Best, Sighting};

/// The table goes from 1 to this number of repetitions.
pub const REP_MAX_TABLE_REPS: usize = 12;

/// One row of the rep-max table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepMax {
    /// The exercise.
    pub exercise_id: Uuid,
    /// Repetitions, 1 to 12.
    pub reps: i32,
    /// The heaviest effective load lifted at least `reps` times.
    pub weight_kg: Kilograms,
    /// The repetitions of that set.
    pub performed_reps: i32,
    /// The workout's id.
    pub workout_id: Uuid,
    /// The set's position in the workout.
    pub position: i32,
    /// The workout's local date.
    pub performed_on: Date,
}

/// The table of one exercise while its sets go by.
#[derive(Debug, Default)]
pub(crate) struct RepMaxTable {
    /// The place n − 1 holds the heaviest set of at least n repetitions.
    bests: [Best<Kilograms>; REP_MAX_TABLE_REPS],
}

impl RepMaxTable {
    pub(crate) fn observe(&mut self, load: Kilograms, reps: i32, sighting: Sighting) {
        let reached = usize::try_from(reps).unwrap_or(0).min(REP_MAX_TABLE_REPS);
        for best in &mut self.bests[..reached] {
            best.observe(load, sighting);
        }
    }

    pub(crate) fn rows(&self, exercise_id: Uuid) -> impl Iterator<Item = RepMax> {
        (1..).zip(&self.bests).filter_map(move |(reps, best)| {
            let (weight_kg, sighting) = best.best?;
            Some(RepMax {
                exercise_id,
                reps,
                weight_kg,
                performed_reps: sighting.reps?,
                workout_id: sighting.workout_id,
                position: sighting.position,
                performed_on: sighting.on,
            })
        })
    }
}
