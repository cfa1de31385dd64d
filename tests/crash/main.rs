//! Killed and frozen workers, a killed server, connections cut around a COMMIT: the same figures as undisturbed.
#![allow(clippy::unwrap_used)]

mod scene;
mod worker_killed;
