//! The rules of the statistics, each as a test that states it.
#![allow(clippy::unwrap_used)]

mod calendar;
mod invalid_history;
mod loads;
mod log;
mod mass;
mod one_rep_max;
mod properties;
mod records;
mod sets;
mod source;
mod streak;
mod table_columns;
