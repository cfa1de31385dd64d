//! Leases, transitions, budgets and the status document. Knows neither Lambda nor exercise statistics.
//!
//! The protocol is told in `docs/LEASES.md`; its transitions are SQL functions in `migrations/`. This crate calls them, each
//! in one round trip, and sorts what can go wrong by what the caller does next ([`Error`]).
//!
//! * [`claim`]: the claim function;
//! * [`jobs`]: the general job queue;
//! * [`lease`]: taking a run, recording its failure, re-reading its phase;
//! * [`schedule`]: recurring jobs;
//! * [`step`]: a transaction under the budgets of the settings row;
//! * [`Connection`], [`Invocation`], [`Summary`]: what every handler gets and gives.

pub mod claim;
mod connection;
mod error;
mod function;
mod invocation;
pub mod jobs;
pub mod lease;
mod pace;
pub mod schedule;
mod schema;
mod statements;
pub mod status;
pub mod step;
pub mod tick;

pub use connection::{Connect, ConnectFuture, Connection, Session};
pub use error::Error;
pub use function::Function;
pub use invocation::{DEADLINE_MARGIN, EVENT_AGE_MAX, Invocation, LATE_AFTER, Outcome, Summary};
pub use lease::Lease;
pub use pace::Pace;
pub use schema::SchemaMismatch;
pub use statements::STATEMENTS;
