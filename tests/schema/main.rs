//! The schema as a snapshot; every statement prepared.
#![allow(clippy::unwrap_used)]
