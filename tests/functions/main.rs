//! The real function binaries under a simulated Lambda.
#![allow(clippy::unwrap_used)]

mod environments;
mod migrating;
mod status;
mod ticking;
mod working;
