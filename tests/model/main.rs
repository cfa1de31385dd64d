//! Random histories against the invariants.
#![allow(clippy::unwrap_used)]
