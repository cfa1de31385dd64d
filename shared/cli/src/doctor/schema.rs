//! The schema: whether it is the one this build makes.

use tidemark_migrations::{MigrateError, Report, latest_version};
use tokio_postgres::Client;

use super::finding::Finding;

/// Compares the schema with this build's.
pub(crate) async fn check(client: &Client) -> Vec<Finding> {
    vec![match tidemark_migrations::plan(client).await {
        Ok(report) => of_report(&report),
        Err(error) => of_error(&error),
    }]
}

fn of_report(report: &Report) -> Finding {
    let newest = latest_version();
    match (report.from, report.applied.len()) {
        (version, 0) => Finding::ok("schema", format!("version {version}, as this tidemark makes it")),
        (0, _) => Finding::failed("schema", "this database is not migrated", "run `tidemark migrate`"),
        (version, outstanding) => Finding::failed(
            "schema",
            format!("version {version}; this tidemark makes version {newest}, {outstanding} steps on"),
            "run `tidemark migrate` (with --dry-run it only says what it would do)",
        ),
    }
}

fn of_error(error: &MigrateError) -> Finding {
    let next = match error {
        MigrateError::Newer { .. } => "use a tidemark at least as new as the database",
        MigrateError::Changed { .. } => "use the tidemark build that made this schema",
        _ => "connect as the role that migrated the database",
    };
    Finding::failed("schema", error.to_string(), next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::State;

    #[test]
    fn an_older_schema_and_a_newer_one_fail_each_with_its_remedy() {
        let older = of_report(&Report { from: 3, to: latest_version(), applied: vec!["pipeline".to_owned()] });
        assert_eq!(older.state, State::Failed);
        assert!(older.next.is_some_and(|next| next.contains("tidemark migrate")));
        let newer = of_error(&MigrateError::Newer { found: 999, known: latest_version() });
        assert!(newer.what.contains("999") && newer.next.is_some_and(|next| next.contains("at least as new")));
    }
}
