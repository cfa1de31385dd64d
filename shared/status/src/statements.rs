//! Every statement of this crate, one per file, so that a test can prepare each against the real schema.

pub(crate) const SCHEMA_IS_KNOWN: &str = include_str!("sql/schema_is_known.sql");
pub(crate) const DASHBOARD: &str = include_str!("sql/dashboard.sql");

/// Name and text of every statement of this crate.
pub const STATEMENTS: &[(&str, &str)] = &[("schema_is_known", SCHEMA_IS_KNOWN), ("dashboard", DASHBOARD)];

/// The functions that a worker calls, with their arguments, as `regprocedure` reads them.
#[must_use]
pub fn worker_functions() -> Vec<&'static str> {
    SCHEMA_IS_KNOWN.lines().filter_map(|line| line.trim().strip_prefix("('")?.split("')").next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_of_the_worker_are_those_of_the_statement() {
        let functions = worker_functions();
        assert_eq!(functions.len(), SCHEMA_IS_KNOWN.matches("('").count());
        assert!(functions.contains(&"tidemark.run_phase_v1(bigint, integer, uuid)"), "{functions:?}");
    }
}
