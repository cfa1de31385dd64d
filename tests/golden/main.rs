//! Real exports through the whole pipeline, figure by figure, and the reported faults of other trackers as cases.
//!
//! - `exports.rs`: the four exports give the figures of `golden.json`, read from the published tables.
//! - `imports.rs`: imports by number, twice, and of a size that hurts.
//! - `calendar.rs`, `loads.rs`, `changes.rs`: cases through saves, edits, deletes and plain SQL.
//! - `muscles.rs`: figures by muscle. `documented.rs`: docs/STATISTICS.md names every published column.
//! - `random.rs`: random histories against a full computation and plain SQL.
//! - `coverage.rs`: where each case of `cases.json` is tested; no case is missing.
#![allow(clippy::unwrap_used)]

mod calendar;
mod changes;
mod coverage;
mod documented;
mod exports;
mod imports;
mod lifter;
mod loads;
mod muscles;
mod random;
