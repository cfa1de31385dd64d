//! Leases, transitions, budgets, settings and the status document. Knows neither Lambda nor exercise statistics.

mod connection;
mod error;
mod invocation;

pub use connection::{Connect, ConnectFuture, Connection};
pub use error::Error;
pub use invocation::{DEADLINE_MARGIN, Invocation, Outcome, Summary};
