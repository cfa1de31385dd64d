//! Every statement of this crate, one per file, so that a test can prepare each against the real schema.

pub(crate) const BEGIN_STEP: &str = include_str!("sql/begin_step.sql");
pub(crate) const CLAIM: &str = include_str!("sql/claim.sql");
pub(crate) const COMPUTE_TAKE: &str = include_str!("sql/compute_take.sql");
pub(crate) const PUBLISH_TAKE: &str = include_str!("sql/publish_take.sql");
pub(crate) const RUN_FAIL: &str = include_str!("sql/run_fail.sql");
pub(crate) const RUN_PHASE: &str = include_str!("sql/run_phase.sql");
pub(crate) const SCHEDULE_FIRE: &str = include_str!("sql/schedule_fire.sql");
pub(crate) const SCHEDULE_PLAN: &str = include_str!("sql/schedule_plan.sql");
pub(crate) const SCHEDULE_REFUSE: &str = include_str!("sql/schedule_refuse.sql");
pub(crate) const SCHEDULES_DUE: &str = include_str!("sql/schedules_due.sql");
pub(crate) const SCHEMA_VERSION: &str = include_str!("sql/schema_version.sql");
pub(crate) const STATUS: &str = include_str!("sql/status.sql");
pub(crate) const TICK_END: &str = include_str!("sql/tick_end.sql");

/// Name and text of every statement of this crate.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("begin_step", BEGIN_STEP),
    ("claim", CLAIM),
    ("compute_take", COMPUTE_TAKE),
    ("publish_take", PUBLISH_TAKE),
    ("run_fail", RUN_FAIL),
    ("run_phase", RUN_PHASE),
    ("schedule_fire", SCHEDULE_FIRE),
    ("schedule_plan", SCHEDULE_PLAN),
    ("schedule_refuse", SCHEDULE_REFUSE),
    ("schedules_due", SCHEDULES_DUE),
    ("schema_version", SCHEMA_VERSION),
    ("status", STATUS),
    ("tick_end", TICK_END),
];
