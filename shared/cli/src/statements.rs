//! The statements of the operator's commands, one per file, so that a test can prepare each against the real schema.

pub(crate) const PUBLISHED: &str = include_str!("sql/published.sql");
pub(crate) const REFRESH_REQUEST: &str = include_str!("sql/refresh_request.sql");
pub(crate) const REFRESH_REQUEST_BATCH: &str = include_str!("sql/refresh_request_batch.sql");
pub(crate) const RESUME_ALL_JOBS: &str = include_str!("sql/resume_all_jobs.sql");
pub(crate) const RESUME_JOBS: &str = include_str!("sql/resume_jobs.sql");
pub(crate) const RESUME_RUNS: &str = include_str!("sql/resume_runs.sql");
pub(crate) const SETTINGS: &str = include_str!("sql/settings.sql");
pub(crate) const SETTINGS_CHANGE: &str = include_str!("sql/settings_change.sql");
pub(crate) const UNKNOWN_USERS: &str = include_str!("sql/unknown_users.sql");

/// Name and text of every statement of these commands.
#[cfg(test)]
pub(crate) const STATEMENTS: &[(&str, &str)] = &[
    ("published", PUBLISHED),
    ("refresh_request", REFRESH_REQUEST),
    ("refresh_request_batch", REFRESH_REQUEST_BATCH),
    ("resume_all_jobs", RESUME_ALL_JOBS),
    ("resume_jobs", RESUME_JOBS),
    ("resume_runs", RESUME_RUNS),
    ("settings", SETTINGS),
    ("settings_change", SETTINGS_CHANGE),
    ("unknown_users", UNKNOWN_USERS),
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
