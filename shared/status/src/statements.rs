//! Every statement of this crate, one per file, so that a test can prepare each against the real schema.

pub(crate) const SCHEMA_IS_KNOWN: &str = include_str!("sql/schema_is_known.sql");

/// Name and text of every statement of this crate.
pub const STATEMENTS: &[(&str, &str)] = &[("schema_is_known", SCHEMA_IS_KNOWN)];
