//! Every statement of this crate, one per file, so that a test can prepare each against the real schema.

pub(crate) const BEGIN_STEP: &str = include_str!("sql/begin_step.sql");
pub(crate) const CLAIM: &str = include_str!("sql/claim.sql");
pub(crate) const COMPUTE_TAKE: &str = include_str!("sql/compute_take.sql");
pub(crate) const JOBS_CLAIM: &str = include_str!("sql/jobs_claim.sql");
pub(crate) const JOBS_END: &str = include_str!("sql/jobs_end.sql");
pub(crate) const JOBS_ENQUEUE: &str = include_str!("sql/jobs_enqueue.sql");
pub(crate) const JOBS_OPS: &str = include_str!("sql/jobs_ops.sql");
pub(crate) const JOBS_REAP: &str = include_str!("sql/jobs_reap.sql");
pub(crate) const JOBS_RENEW: &str = include_str!("sql/jobs_renew.sql");
pub(crate) const JOBS_REQUEUE: &str = include_str!("sql/jobs_requeue.sql");
pub(crate) const JOBS_START: &str = include_str!("sql/jobs_start.sql");
pub(crate) const JOB_CANCEL: &str = include_str!("sql/job_cancel.sql");
pub(crate) const JOB_ENQUEUE: &str = include_str!("sql/job_enqueue.sql");
pub(crate) const JOB_FIND: &str = include_str!("sql/job_find.sql");
pub(crate) const JOB_GET: &str = include_str!("sql/job_get.sql");
pub(crate) const JOB_PROGRESS: &str = include_str!("sql/job_progress.sql");
pub(crate) const PUBLISH_TAKE: &str = include_str!("sql/publish_take.sql");
pub(crate) const RUN_FAIL: &str = include_str!("sql/run_fail.sql");
pub(crate) const RUN_PHASE: &str = include_str!("sql/run_phase.sql");
pub(crate) const SCHEDULES_DUE: &str = include_str!("sql/schedules_due.sql");
pub(crate) const SCHEDULE_FIRE: &str = include_str!("sql/schedule_fire.sql");
pub(crate) const SCHEDULE_PLAN: &str = include_str!("sql/schedule_plan.sql");
pub(crate) const SCHEDULE_REFUSE: &str = include_str!("sql/schedule_refuse.sql");
pub(crate) const SCHEMA_VERSION: &str = include_str!("sql/schema_version.sql");
pub(crate) const STATUS: &str = include_str!("sql/status.sql");
pub(crate) const TICK_END: &str = include_str!("sql/tick_end.sql");

/// Name and text of every statement of this crate.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("begin_step", BEGIN_STEP),
    ("claim", CLAIM),
    ("compute_take", COMPUTE_TAKE),
    ("job_cancel", JOB_CANCEL),
    ("job_enqueue", JOB_ENQUEUE),
    ("job_find", JOB_FIND),
    ("job_get", JOB_GET),
    ("job_progress", JOB_PROGRESS),
    ("jobs_claim", JOBS_CLAIM),
    ("jobs_end", JOBS_END),
    ("jobs_enqueue", JOBS_ENQUEUE),
    ("jobs_ops", JOBS_OPS),
    ("jobs_reap", JOBS_REAP),
    ("jobs_renew", JOBS_RENEW),
    ("jobs_requeue", JOBS_REQUEUE),
    ("jobs_start", JOBS_START),
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
