//! Totals over everything a person did.

use jiff::civil::Date;
use serde::Serialize;

use crate::calendar::month;
use crate::mass::Kilograms;
use crate::streak::Streaks;
use crate::tally::Tally;
use crate::timeline::Timeline;

/// Totals of one person. A workout without sets is still a workout: it counts in `workouts`, `training_days`, the
/// dates and the streaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Workouts logged.
    pub workouts: u64,
    /// Distinct local dates with a workout.
    pub training_days: u64,
    /// Exercises with at least one set row, merged ones under their target.
    pub exercises: u64,
    /// Working sets performed, drops joined to their set.
    pub sets: u64,
    /// Rows that are no warm-ups.
    pub working_set_rows: u64,
    /// Repetitions of working rows.
    pub reps: u64,
    /// Repetitions of all rows.
    pub total_reps: u64,
    /// Weight written × reps of all rows.
    pub total_volume_kg: Kilograms,
    /// Weight written × reps of working rows.
    pub working_volume_kg: Kilograms,
    /// Effective load × reps × implements × sides of working rows.
    pub effective_volume_kg: Kilograms,
    /// Local date of the first workout.
    pub first_performed_on: Option<Date>,
    /// Local date of the last workout.
    pub last_performed_on: Option<Date>,
    /// First date of the last week with a workout.
    pub last_training_week: Option<Date>,
    /// Consecutive training weeks that end with that week; see [`current_streak`](crate::current_streak).
    pub last_streak_weeks: u32,
    /// The most consecutive training weeks ever.
    pub longest_streak_weeks: u32,
    /// First date of the earliest of the longest streaks.
    pub longest_streak_started_on: Option<Date>,
    /// Totals of the months with a workout, in order.
    pub monthly: Vec<MonthlyTotals>,
}

/// Totals of one month of local dates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MonthlyTotals {
    /// The month, such as `2025-01`.
    pub month: String,
    /// Workouts logged.
    pub workouts: u64,
    /// Distinct local dates with a workout.
    pub training_days: u64,
    /// Working sets performed, drops joined to their set.
    pub sets: u64,
    /// Repetitions of working rows.
    pub reps: u64,
    /// Weight written × reps of all rows.
    pub total_volume_kg: Kilograms,
    /// Weight written × reps of working rows.
    pub working_volume_kg: Kilograms,
    /// Effective load × reps × implements × sides of working rows.
    pub effective_volume_kg: Kilograms,
}

/// Tallies by month while sets go by in the order of exercises.
#[derive(Debug)]
pub(crate) struct MonthTallies {
    tallies: Vec<Tally>,
}

impl MonthTallies {
    pub(crate) fn new(timeline: &Timeline) -> Self {
        let months = timeline.entries.last().map_or(0, |last| last.month as usize + 1);
        Self { tallies: vec![Tally::default(); months] }
    }

    pub(crate) fn add(&mut self, month: u32, row: Tally) {
        self.tallies[month as usize] += row;
    }

    pub(crate) fn summary(self, timeline: &Timeline, exercises: usize) -> Summary {
        let mut totals = Tally::default();
        for &tally in &self.tallies {
            totals += tally;
        }
        let (monthly, streaks) = self.calendar(timeline);
        Summary {
            workouts: timeline.entries.len() as u64,
            training_days: monthly.iter().map(|month| month.training_days).sum(),
            exercises: exercises as u64,
            sets: totals.sets,
            working_set_rows: totals.working_set_rows,
            reps: totals.reps,
            total_reps: totals.total_reps,
            total_volume_kg: totals.total_volume,
            working_volume_kg: totals.working_volume,
            effective_volume_kg: totals.effective_volume,
            first_performed_on: timeline.entries.first().map(|workout| workout.date),
            last_performed_on: timeline.entries.last().map(|workout| workout.date),
            last_training_week: streaks.last_week,
            last_streak_weeks: streaks.last_weeks,
            longest_streak_weeks: streaks.longest_weeks,
            longest_streak_started_on: streaks.longest_started_on,
            monthly,
        }
    }

    fn calendar(&self, timeline: &Timeline) -> (Vec<MonthlyTotals>, Streaks) {
        let mut monthly = Vec::<MonthlyTotals>::with_capacity(self.tallies.len());
        let mut streaks = Streaks::default();
        let mut day = None;
        for workout in &timeline.entries {
            streaks.add(workout.week);
            if monthly.len() == workout.month as usize {
                monthly.push(MonthlyTotals::new(workout.date, &self.tallies[monthly.len()]));
            }
            let totals = &mut monthly[workout.month as usize];
            totals.workouts += 1;
            totals.training_days += u64::from(day.replace(workout.date) != Some(workout.date));
        }
        (monthly, streaks)
    }
}

impl MonthlyTotals {
    fn new(date: Date, tally: &Tally) -> Self {
        Self {
            month: month(date),
            workouts: 0,
            training_days: 0,
            sets: tally.sets,
            reps: tally.reps,
            total_volume_kg: tally.total_volume,
            working_volume_kg: tally.working_volume,
            effective_volume_kg: tally.effective_volume,
        }
    }
}
