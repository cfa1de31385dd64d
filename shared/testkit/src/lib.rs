//! What tests stand on: real servers, databases of their own, and whatever breaks them. Never a normal dependency.
//!
//! - [`TestDatabase`]: a migrated database per test, copied from a template on a throwaway server that all test processes
//!   share and that goes some seconds after the last of them.
//! - [`Server`]: a durable server of a test's own, to crash and restart.
//! - [`ChaosProxy`]: breaks connections at chosen places, around a COMMIT above all.
//! - [`HttpSink`]: takes requests and answers by a script, slowly, at length, broken or with a bad certificate if wanted.
//! - [`CapturedLog`]: what the test's own process logs.
//! - [`Simulator`]: runs a real function binary as Lambda would, with freezes, kills and deadlines.

mod captured_log;
mod chaos_proxy;
mod connector;
mod database;
mod http_sink;
pub mod invariants;
mod server;
mod simulator;
mod sink_certificate;

pub use captured_log::CapturedLog;
pub use chaos_proxy::{AtCommit, ChaosProxy, Fault, Toward};
pub use connector::SocketConnector;
pub use database::TestDatabase;
pub use http_sink::{HttpSink, SinkAnswer, SinkRequest};
pub use server::Server;
pub use simulator::{InvocationError, Simulator, built_binary};
pub use sink_certificate::SinkCertificate;
