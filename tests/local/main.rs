//! The command line as a newcomer uses it: the real binary, in an empty folder, with nothing configured.
#![allow(clippy::unwrap_used)]

mod folder;
mod fresh;
mod importing;
mod migrating;
mod not_fresh;
mod page;
mod refusals;
