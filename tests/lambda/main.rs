//! The functions under `cargo lambda watch`, as a developer runs them.
#![allow(clippy::unwrap_used)]

mod ticking;
mod watch;
