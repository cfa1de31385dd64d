//! Figures of one exercise over the whole history.

use std::cmp::Reverse;

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::Serialize;
use uuid::Uuid;

use crate::history::Exercise;
use crate::mass::Kilograms;
use crate::one_rep_max::{Formula, OneRepMax};
use crate::record::{Best, Record, RecordKind, RecordValue, Sighting};
use crate::set_facts::Feat;
use crate::tally::Tally;
use crate::timeline::TimelineEntry;

/// One row of the exercise table. Masses are decimal strings, dates ISO, and what is unknown is null.
///
/// A record needs a figure above zero. The best figure is the strictly greatest and its set the earliest that reached
/// it; only for the heaviest set, of several with the same load, the one with the most repetitions is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExerciseStats {
    /// The exercise.
    pub exercise_id: Uuid,
    /// Its name.
    pub exercise_name: String,
    /// Working sets performed: a drop is joined to its set, an attempt is none.
    pub sets: u64,
    /// Rows that are no warm-ups.
    pub working_set_rows: u64,
    /// Warm-up rows.
    pub warmup_sets: u64,
    /// Working rows with 0 repetitions that were neither held nor moved.
    pub attempts: u64,
    /// Rows with a value that is hard to believe.
    pub suspect_sets: u64,
    /// Repetitions of working rows, of both sides where they are written for one.
    pub reps: u64,
    /// Repetitions of all rows.
    pub total_reps: u64,
    /// Seconds that working rows were held or done.
    pub working_duration_seconds: u64,
    /// Weight written × reps of working rows, whatever the exercise.
    pub working_volume_kg: Kilograms,
    /// Weight written × reps of all rows, whatever the exercise.
    pub total_volume_kg: Kilograms,
    /// Effective load × reps × implements × sides of working rows.
    pub effective_volume_kg: Kilograms,
    /// The best estimated one-rep max, to six decimals.
    pub best_e1rm_kg: Option<Kilograms>,
    /// The formula of the estimate.
    pub best_e1rm_formula: Option<Formula>,
    /// Its workout.
    pub best_e1rm_workout_id: Option<Uuid>,
    /// Its position in the workout.
    pub best_e1rm_position: Option<i32>,
    /// Its local date.
    pub best_e1rm_on: Option<Date>,
    /// The heaviest effective load.
    pub heaviest_kg: Option<Kilograms>,
    /// The most repetitions with it; null for a set that was held or moved.
    pub heaviest_reps: Option<i32>,
    /// Its workout.
    pub heaviest_workout_id: Option<Uuid>,
    /// Its position in the workout.
    pub heaviest_position: Option<i32>,
    /// Its local date.
    pub heaviest_on: Option<Date>,
    /// The most effective load × reps × implements × sides in one set.
    pub best_set_volume_kg: Option<Kilograms>,
    /// The effective load of that set.
    pub best_set_kg: Option<Kilograms>,
    /// The repetitions of that set.
    pub best_set_reps: Option<i32>,
    /// Its workout.
    pub best_set_workout_id: Option<Uuid>,
    /// Its position in the workout.
    pub best_set_position: Option<i32>,
    /// Its local date.
    pub best_set_on: Option<Date>,
    /// The most repetitions in one set, whatever the load.
    pub most_reps: Option<i32>,
    /// Its workout.
    pub most_reps_workout_id: Option<Uuid>,
    /// Its position in the workout.
    pub most_reps_position: Option<i32>,
    /// Its local date.
    pub most_reps_on: Option<Date>,
    /// The least assistance, of assisted exercises only.
    pub least_assistance_kg: Option<Kilograms>,
    /// Its workout.
    pub least_assistance_workout_id: Option<Uuid>,
    /// Its position in the workout.
    pub least_assistance_position: Option<i32>,
    /// Its local date.
    pub least_assistance_on: Option<Date>,
    /// Local date of the first working row that was no attempt.
    pub first_performed_on: Option<Date>,
    /// Local date of the last working row that was no attempt.
    pub last_performed_on: Option<Date>,
    /// Distinct local dates with a working row that was no attempt.
    pub training_days: u64,
    /// Distinct weeks of the person with one of those dates.
    pub training_weeks: u64,
    /// How often: training days by the weeks from the first to the last of them, both included; to six decimals, half to even.
    pub days_per_week: Option<Decimal>,
    /// Every set that beat the best before it, in order; the first sighting of a figure is the base and not listed.
    pub records: Vec<Record>,
}

/// The bests of one exercise while its sets go by.
#[derive(Debug, Default)]
pub(crate) struct Bests {
    estimate: Best<OneRepMax>,
    weight: Best<Kilograms>,
    /// By load, then by repetitions.
    heaviest: Best<(Kilograms, Option<i32>)>,
    set_volume: Best<Kilograms>,
    reps: Best<i32>,
    assistance: Best<Reverse<Kilograms>>,
    records: Vec<Record>,
}

impl Bests {
    /// Takes what the next set puts up, in chronological order.
    pub(crate) fn observe(&mut self, feat: &Feat, sighting: Sighting) {
        if let Some(estimate) = feat.estimate
            && self.estimate.observe(estimate, sighting)
        {
            self.record(RecordKind::EstimatedOneRepMax, RecordValue::Mass(estimate.rounded()), sighting);
        }
        if let Some(load) = feat.load {
            self.heaviest.observe((load, feat.reps), sighting);
            if self.weight.observe(load, sighting) {
                self.record(RecordKind::Weight, RecordValue::Mass(load), sighting);
            }
        }
        if let Some(volume) = feat.volume
            && self.set_volume.observe(volume, sighting)
        {
            self.record(RecordKind::SetVolume, RecordValue::Mass(volume), sighting);
        }
        if let Some(reps) = feat.reps
            && self.reps.observe(reps, sighting)
        {
            self.record(RecordKind::Reps, RecordValue::Reps(reps), sighting);
        }
        if let Some(assistance) = feat.assistance
            && self.assistance.observe(Reverse(assistance), sighting)
        {
            self.record(RecordKind::Assistance, RecordValue::Mass(assistance), sighting);
        }
    }

    fn record(&mut self, kind: RecordKind, value: RecordValue, sighting: Sighting) {
        let Sighting { workout_id, position, on, reps, .. } = sighting;
        self.records.push(Record { kind, value, reps, workout_id, position, on });
    }

    /// The row of the exercise table.
    pub(crate) fn row(
        self,
        exercise: &Exercise,
        formula: Formula,
        tally: &Tally,
        days: &PerformedDays,
    ) -> ExerciseStats {
        let estimate = self.estimate.best.map(|(_, sighting)| sighting);
        let heaviest = self.heaviest.best.map(|(_, sighting)| sighting);
        let best_set = self.set_volume.best.map(|(_, sighting)| sighting);
        let most_reps = self.reps.best.map(|(_, sighting)| sighting);
        let assistance = self.assistance.best.map(|(_, sighting)| sighting);
        ExerciseStats {
            exercise_id: exercise.id,
            exercise_name: exercise.name.clone(),
            sets: tally.sets,
            working_set_rows: tally.working_set_rows,
            warmup_sets: tally.warmup_sets,
            attempts: tally.attempts,
            suspect_sets: tally.suspect_sets,
            reps: tally.reps,
            total_reps: tally.total_reps,
            working_duration_seconds: tally.working_duration_seconds,
            working_volume_kg: tally.working_volume,
            total_volume_kg: tally.total_volume,
            effective_volume_kg: tally.effective_volume,
            best_e1rm_kg: self.estimate.best.map(|(estimate, _)| estimate.rounded()),
            best_e1rm_formula: estimate.map(|_| formula),
            best_e1rm_workout_id: estimate.map(|sighting| sighting.workout_id),
            best_e1rm_position: estimate.map(|sighting| sighting.position),
            best_e1rm_on: estimate.map(|sighting| sighting.on),
            heaviest_kg: heaviest.and_then(|sighting| sighting.load),
            heaviest_reps: heaviest.and_then(|sighting| sighting.reps),
            heaviest_workout_id: heaviest.map(|sighting| sighting.workout_id),
            heaviest_position: heaviest.map(|sighting| sighting.position),
            heaviest_on: heaviest.map(|sighting| sighting.on),
            best_set_volume_kg: self.set_volume.best.map(|(volume, _)| volume),
            best_set_kg: best_set.and_then(|sighting| sighting.load),
            best_set_reps: best_set.and_then(|sighting| sighting.reps),
            best_set_workout_id: best_set.map(|sighting| sighting.workout_id),
            best_set_position: best_set.map(|sighting| sighting.position),
            best_set_on: best_set.map(|sighting| sighting.on),
            most_reps: most_reps.and_then(|sighting| sighting.reps),
            most_reps_workout_id: most_reps.map(|sighting| sighting.workout_id),
            most_reps_position: most_reps.map(|sighting| sighting.position),
            most_reps_on: most_reps.map(|sighting| sighting.on),
            least_assistance_kg: self.assistance.best.map(|(Reverse(assistance), _)| assistance),
            least_assistance_workout_id: assistance.map(|sighting| sighting.workout_id),
            least_assistance_position: assistance.map(|sighting| sighting.position),
            least_assistance_on: assistance.map(|sighting| sighting.on),
            first_performed_on: days.first,
            last_performed_on: days.last,
            training_days: days.count,
            training_weeks: days.weeks,
            days_per_week: days.per_week(),
            records: self.records,
        }
    }
}

/// Decimals to which a frequency is rounded.
const FREQUENCY_DECIMALS: u32 = 6;
/// Days in a week.
const WEEK_DAYS: i32 = 7;

/// The distinct dates on which an exercise was performed, fed in order.
#[derive(Debug, Default)]
pub(crate) struct PerformedDays {
    first: Option<Date>,
    last: Option<Date>,
    count: u64,
    first_week: Option<Date>,
    last_week: Option<Date>,
    weeks: u64,
}

impl PerformedDays {
    pub(crate) fn add(&mut self, workout: &TimelineEntry) {
        self.first.get_or_insert(workout.date);
        if self.last.replace(workout.date) != Some(workout.date) {
            self.count += 1;
        }
        self.first_week.get_or_insert(workout.week);
        if self.last_week.replace(workout.week) != Some(workout.week) {
            self.weeks += 1;
        }
    }

    fn per_week(&self) -> Option<Decimal> {
        let weeks = 1 + (self.last_week? - self.first_week?).get_days() / WEEK_DAYS;
        Some((Decimal::from(self.count) / Decimal::from(weeks)).round_dp(FREQUENCY_DECIMALS).normalize())
    }
}
