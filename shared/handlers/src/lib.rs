//! Runs the jobs of the general queue. Knows the queue and alerts, and neither Lambda nor statistics.
//!
//! * [`Handler`]: what a job of one type does; [`End`]: how it may end; [`Context`]: what it is given;
//! * [`Registry`]: which handler takes which type; [`handlers`]: the built-in ones and their configuration;
//! * [`work`]: one invocation, which claims jobs, runs handlers side by side under a heartbeat and records how they end.
//!
//! `docs/HANDLERS.md` shows how to add a handler.

mod context;
mod database;
mod diagnostics;
mod end;
mod handler;
pub mod handlers;
mod registry;
mod statements;
pub mod work;

pub use context::Context;
pub use database::Database;
pub use end::{End, Failure};
pub use handler::Handler;
pub use registry::Registry;
pub use statements::STATEMENTS;

/// The page that shows how to add a handler; its examples are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/HANDLERS.md")]
struct HandlersPage;
