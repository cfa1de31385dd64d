//! Every statement of this crate, one per file, so that a test can prepare each against the real schema.

pub(crate) const COMPUTE_HOLD: &str = include_str!("sql/compute_hold.sql");
pub(crate) const COMPUTE_STAGE: &str = include_str!("sql/compute_stage.sql");
pub(crate) const PUBLISH: &str = include_str!("sql/publish.sql");
pub(crate) const SOURCE_BODYWEIGHTS: &str = include_str!("sql/source_bodyweights.sql");
pub(crate) const SOURCE_DIRTY: &str = include_str!("sql/source_dirty.sql");
pub(crate) const SOURCE_EXERCISES: &str = include_str!("sql/source_exercises.sql");
pub(crate) const SOURCE_PROFILE: &str = include_str!("sql/source_profile.sql");
pub(crate) const SOURCE_SETS: &str = include_str!("sql/source_sets.sql");
pub(crate) const SOURCE_WORKOUTS: &str = include_str!("sql/source_workouts.sql");

/// Name and text of every statement of this crate.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("compute_hold", COMPUTE_HOLD),
    ("compute_stage", COMPUTE_STAGE),
    ("publish", PUBLISH),
    ("source_bodyweights", SOURCE_BODYWEIGHTS),
    ("source_dirty", SOURCE_DIRTY),
    ("source_exercises", SOURCE_EXERCISES),
    ("source_profile", SOURCE_PROFILE),
    ("source_sets", SOURCE_SETS),
    ("source_workouts", SOURCE_WORKOUTS),
];
