//! The work function: each rule of the engine by name, and the built-in handlers end to end.
#![allow(clippy::unwrap_used)]

mod alerts;
mod ends;
mod heartbeat;
mod probe;
mod purge;
#[path = "../contract/round_trips.rs"]
mod round_trips;
mod shift;
mod ticks;
mod webhook;
mod yard;
