//! Every statement of this crate, one per file, so that a test can prepare each against the real schema.

pub(crate) const ALERTS_TOLD: &str = include_str!("sql/alerts_told.sql");
pub(crate) const ALERTS_UNTOLD: &str = include_str!("sql/alerts_untold.sql");
pub(crate) const HISTORY_PURGE: &str = include_str!("sql/history_purge.sql");
pub(crate) const WORK_BEGIN: &str = include_str!("sql/work_begin.sql");

/// Name and text of every statement of this crate.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("alerts_told", ALERTS_TOLD),
    ("alerts_untold", ALERTS_UNTOLD),
    ("history_purge", HISTORY_PURGE),
    ("work_begin", WORK_BEGIN),
];
