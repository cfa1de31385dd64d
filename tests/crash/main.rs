//! Killed workers and a killed server.
#![allow(clippy::unwrap_used)]
