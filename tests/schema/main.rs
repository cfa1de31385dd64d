//! The schema as a snapshot; every statement prepared; what no migration may do; how migrations are applied.
#![allow(clippy::unwrap_used)]

mod lint;
mod migrating;
mod snapshot;
mod statements;
