//! The command line as a newcomer uses it: the real binary, in an empty folder, with nothing configured.
#![allow(clippy::unwrap_used)]

mod alerts;
mod folder;
mod fresh;
mod importing;
mod jobs;
mod migrating;
mod not_fresh;
mod page;
mod refusals;
mod stats;
mod working;
