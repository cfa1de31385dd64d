//! Two sessions interleaved.
#![allow(clippy::unwrap_used)]
