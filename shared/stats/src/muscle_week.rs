//! Figures of one muscle in one week.

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::Serialize;

use crate::calendar::iso_week;
use crate::mass::Kilograms;
use crate::muscle::{MUSCLES, Muscle, WorkedMuscles};
use crate::tally::Tally;
use crate::timeline::Timeline;

/// One row of the muscle table, keyed by muscle and the first date of the person's week. There is one for each week with a set
/// row of an exercise that works the muscle.
///
/// A set counts 1 for a primary and ½ for a secondary muscle, and so do volumes. Halves of masses are exact, but for pounds
/// typed with nine decimals, whose half is rounded to 17 decimals of a kilogram (half to even).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MuscleWeek {
    /// The muscle.
    pub muscle: Muscle,
    /// First date of the week.
    pub week_start: Date,
    /// The ISO year and week to show; see [`iso_week`](crate::iso_week).
    pub iso_week: String,
    /// Primary sets and half of the secondary ones.
    pub sets: Decimal,
    /// Working sets of exercises whose primary muscle it is, drops joined to their set.
    pub primary_sets: u64,
    /// Working sets of exercises whose secondary muscle it is.
    pub secondary_sets: u64,
    /// Weight written × reps of working rows.
    pub working_volume_kg: Kilograms,
    /// Weight written × reps of all rows.
    pub total_volume_kg: Kilograms,
    /// Effective load × reps × implements × sides of working rows.
    pub effective_volume_kg: Kilograms,
}

/// Sets and volumes of the exercises that work a muscle in one role.
#[derive(Debug, Clone, Copy, Default)]
struct RoleTally {
    sets: u64,
    working_volume: Kilograms,
    total_volume: Kilograms,
    effective_volume: Kilograms,
}

impl RoleTally {
    fn add(&mut self, tally: &Tally) {
        self.sets += tally.sets;
        self.working_volume += tally.working_volume;
        self.total_volume += tally.total_volume;
        self.effective_volume += tally.effective_volume;
    }
}

/// One muscle in one week, while exercises go by.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    is_worked: bool,
    primary: RoleTally,
    secondary: RoleTally,
}

/// Muscles by week, while exercises go by. Every training week has a place for every muscle.
#[derive(Debug)]
pub(crate) struct MuscleTallies {
    weeks: Vec<[Cell; MUSCLES]>,
}

impl MuscleTallies {
    pub(crate) fn new(timeline: &Timeline) -> Self {
        let weeks = timeline.entries.last().map_or(0, |last| last.week_rank as usize + 1);
        Self { weeks: vec![[Cell::default(); MUSCLES]; weeks] }
    }

    /// Adds one week of an exercise.
    pub(crate) fn add(&mut self, week_rank: u32, worked: &WorkedMuscles, tally: &Tally) {
        let week = &mut self.weeks[week_rank as usize];
        for &muscle in &worked.primary {
            week[muscle as usize].is_worked = true;
            week[muscle as usize].primary.add(tally);
        }
        for &muscle in &worked.secondary {
            week[muscle as usize].is_worked = true;
            week[muscle as usize].secondary.add(tally);
        }
    }

    /// The rows by muscle and week.
    pub(crate) fn rows(&self, timeline: &Timeline) -> Vec<MuscleWeek> {
        let starts = timeline.week_starts();
        let mut rows = Vec::new();
        for muscle in Muscle::ALL {
            for (week, &week_start) in self.weeks.iter().zip(&starts) {
                let cell = &week[muscle as usize];
                if cell.is_worked {
                    rows.push(cell.row(muscle, week_start));
                }
            }
        }
        rows
    }
}

impl Cell {
    fn row(&self, muscle: Muscle, week_start: Date) -> MuscleWeek {
        let (primary, secondary) = (&self.primary, &self.secondary);
        MuscleWeek {
            muscle,
            week_start,
            iso_week: iso_week(week_start),
            sets: Decimal::new(5 * (2 * primary.sets + secondary.sets).cast_signed(), 1).normalize(),
            primary_sets: primary.sets,
            secondary_sets: secondary.sets,
            working_volume_kg: primary.working_volume + secondary.working_volume.half(),
            total_volume_kg: primary.total_volume + secondary.total_volume.half(),
            effective_volume_kg: primary.effective_volume + secondary.effective_volume.half(),
        }
    }
}
