//! Killed and frozen workers, a killed server, connections cut around a COMMIT: the same figures as undisturbed.
#![allow(clippy::unwrap_used)]

mod commit_cut;
mod jobs_killed;
mod rebuild_killed;
mod scene;
mod server_crashed;
mod session_ended;
mod worker_frozen;
mod worker_killed;
