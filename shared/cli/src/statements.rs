//! The statements of the operator's commands, one per file, so that a test can prepare each against the real schema.

pub(crate) const ACTION_RECORD: &str = include_str!("sql/action_record.sql");
pub(crate) const ACTIONS: &str = include_str!("sql/actions.sql");
pub(crate) const ALERTS: &str = include_str!("sql/alerts.sql");
pub(crate) const DOCTOR_ALERTS: &str = include_str!("sql/doctor_alerts.sql");
pub(crate) const DOCTOR_CLOCK: &str = include_str!("sql/doctor_clock.sql");
pub(crate) const DOCTOR_GRANTS: &str = include_str!("sql/doctor_grants.sql");
pub(crate) const DOCTOR_ROLES: &str = include_str!("sql/doctor_roles.sql");
pub(crate) const DOCTOR_SERVER: &str = include_str!("sql/doctor_server.sql");
pub(crate) const DOCTOR_VACUUM: &str = include_str!("sql/doctor_vacuum.sql");
pub(crate) const JOB_ENQUEUE: &str = include_str!("sql/job_enqueue.sql");
pub(crate) const JOB_SHOWN: &str = include_str!("sql/job_shown.sql");
pub(crate) const JOBS_DEAD: &str = include_str!("sql/jobs_dead.sql");
pub(crate) const JOBS_DEAD_BATCH: &str = include_str!("sql/jobs_dead_batch.sql");
pub(crate) const JOBS_DEAD_COUNTS: &str = include_str!("sql/jobs_dead_counts.sql");
pub(crate) const JOBS_DESCRIBED: &str = include_str!("sql/jobs_described.sql");
pub(crate) const JOBS_DONE: &str = include_str!("sql/jobs_done.sql");
pub(crate) const JOBS_NEWEST: &str = include_str!("sql/jobs_newest.sql");
pub(crate) const JOBS_OF_KEY: &str = include_str!("sql/jobs_of_key.sql");
pub(crate) const JOBS_OF_STATUS: &str = include_str!("sql/jobs_of_status.sql");
pub(crate) const JOBS_PENDING: &str = include_str!("sql/jobs_pending.sql");
pub(crate) const JOBS_READING: &str = include_str!("sql/jobs_reading.sql");
pub(crate) const JOBS_REQUEUE: &str = include_str!("sql/jobs_requeue.sql");
pub(crate) const JOBS_RUNNING: &str = include_str!("sql/jobs_running.sql");
pub(crate) const PUBLISHED: &str = include_str!("sql/published.sql");
pub(crate) const PUBLISHED_NAMES: &str = include_str!("sql/published_names.sql");
pub(crate) const REBUILD_CANCEL: &str = include_str!("sql/rebuild_cancel.sql");
pub(crate) const REBUILD_START: &str = include_str!("sql/rebuild_start.sql");
pub(crate) const REBUILD_STATUS: &str = include_str!("sql/rebuild_status.sql");
pub(crate) const REFRESH_REQUEST: &str = include_str!("sql/refresh_request.sql");
pub(crate) const REFRESH_REQUEST_BATCH: &str = include_str!("sql/refresh_request_batch.sql");
pub(crate) const RESUME_ALL_JOBS: &str = include_str!("sql/resume_all_jobs.sql");
pub(crate) const RESUME_JOBS: &str = include_str!("sql/resume_jobs.sql");
pub(crate) const RESUME_RUNS: &str = include_str!("sql/resume_runs.sql");
pub(crate) const SETTINGS: &str = include_str!("sql/settings.sql");
pub(crate) const SETTINGS_CHANGE: &str = include_str!("sql/settings_change.sql");
pub(crate) const UNKNOWN_USERS: &str = include_str!("sql/unknown_users.sql");
pub(crate) const USERS_FAILED: &str = include_str!("sql/users_failed.sql");
pub(crate) const USERS_KNOWN: &str = include_str!("sql/users_known.sql");

/// Name and text of every statement of these commands.
#[cfg(test)]
pub(crate) const STATEMENTS: &[(&str, &str)] = &[
    ("action_record", ACTION_RECORD),
    ("actions", ACTIONS),
    ("alerts", ALERTS),
    ("doctor_alerts", DOCTOR_ALERTS),
    ("doctor_clock", DOCTOR_CLOCK),
    ("doctor_grants", DOCTOR_GRANTS),
    ("doctor_roles", DOCTOR_ROLES),
    ("doctor_server", DOCTOR_SERVER),
    ("doctor_vacuum", DOCTOR_VACUUM),
    ("job_enqueue", JOB_ENQUEUE),
    ("job_shown", JOB_SHOWN),
    ("jobs_dead", JOBS_DEAD),
    ("jobs_dead_batch", JOBS_DEAD_BATCH),
    ("jobs_dead_counts", JOBS_DEAD_COUNTS),
    ("jobs_described", JOBS_DESCRIBED),
    ("jobs_done", JOBS_DONE),
    ("jobs_newest", JOBS_NEWEST),
    ("jobs_of_key", JOBS_OF_KEY),
    ("jobs_of_status", JOBS_OF_STATUS),
    ("jobs_pending", JOBS_PENDING),
    ("jobs_requeue", JOBS_REQUEUE),
    ("jobs_running", JOBS_RUNNING),
    ("published", PUBLISHED),
    ("published_names", PUBLISHED_NAMES),
    ("rebuild_cancel", REBUILD_CANCEL),
    ("rebuild_start", REBUILD_START),
    ("rebuild_status", REBUILD_STATUS),
    ("refresh_request", REFRESH_REQUEST),
    ("refresh_request_batch", REFRESH_REQUEST_BATCH),
    ("resume_all_jobs", RESUME_ALL_JOBS),
    ("resume_jobs", RESUME_JOBS),
    ("resume_runs", RESUME_RUNS),
    ("settings", SETTINGS),
    ("settings_change", SETTINGS_CHANGE),
    ("unknown_users", UNKNOWN_USERS),
    ("users_failed", USERS_FAILED),
    ("users_known", USERS_KNOWN),
];

#[cfg(test)]
mod tests {
    use tidemark_testkit::TestDatabase;

    use super::*;

    #[tokio::test]
    async fn every_statement_can_be_prepared_against_the_real_schema() {
        let database = TestDatabase::new().await;
        let client = database.admin().await;
        for (name, text) in STATEMENTS {
            client.prepare(text).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        }
    }
}
