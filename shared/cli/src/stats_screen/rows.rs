//! What the screen shows of the published rows. docs/STATISTICS.md defines every figure.

use jiff::civil::Date;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Overview {
    pub(super) published_at: Option<String>,
    pub(super) today: Date,
    pub(super) week_start: Date,
    pub(super) week_sets: i64,
    pub(super) week_reps: i64,
    pub(super) week_working_volume_kg: f64,
    pub(super) streak_weeks: i64,
    pub(super) longest_streak_weeks: i64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Summary {
    pub(super) workouts: i64,
    pub(super) training_days: i64,
    pub(super) exercises: i64,
    pub(super) sets: i64,
    pub(super) total_reps: i64,
    pub(super) total_volume_kg: f64,
    pub(super) working_volume_kg: f64,
    pub(super) effective_volume_kg: f64,
    pub(super) first_performed_on: Option<Date>,
    pub(super) last_performed_on: Option<Date>,
    pub(super) longest_streak_started_on: Option<Date>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Exercise {
    pub(super) exercise_id: String,
    pub(super) exercise_name: String,
    pub(super) sets: i64,
    pub(super) warmup_sets: i64,
    pub(super) reps: i64,
    pub(super) working_volume_kg: f64,
    pub(super) best_e1rm_kg: Option<f64>,
    pub(super) best_e1rm_formula: Option<String>,
    pub(super) best_e1rm_on: Option<Date>,
    pub(super) heaviest_kg: Option<f64>,
    pub(super) heaviest_reps: Option<i64>,
    pub(super) heaviest_on: Option<Date>,
    pub(super) best_set_kg: Option<f64>,
    pub(super) best_set_reps: Option<i64>,
    pub(super) best_set_on: Option<Date>,
    pub(super) most_reps: Option<i64>,
    pub(super) most_reps_on: Option<Date>,
    pub(super) least_assistance_kg: Option<f64>,
    pub(super) least_assistance_on: Option<Date>,
    pub(super) first_performed_on: Option<Date>,
    pub(super) last_performed_on: Option<Date>,
    pub(super) training_days: i64,
    pub(super) days_per_week: Option<f64>,
    pub(super) suspect_sets: i64,
}

#[derive(Debug, Deserialize)]
pub(super) struct RepMax {
    pub(super) exercise_id: String,
    pub(super) reps: i64,
    pub(super) weight_kg: f64,
    pub(super) performed_reps: i64,
    pub(super) performed_on: Date,
}

#[derive(Debug, Deserialize)]
pub(super) struct Week {
    pub(super) exercise_id: String,
    pub(super) week_start: Date,
    pub(super) sets: i64,
    pub(super) reps: i64,
    pub(super) working_volume_kg: f64,
    pub(super) best_e1rm_kg: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MuscleWeek {
    pub(super) muscle: String,
    pub(super) week_start: Date,
    pub(super) sets: f64,
    pub(super) working_volume_kg: f64,
}
