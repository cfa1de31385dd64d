//! The one crate that knows the Lambda runtime: configuration, TLS, connection, deadline, logs.
//!
//! A function's `main` calls [`init_logging`] and [`serve`] and nothing else. [`serve`] answers the events of any
//! trigger with a `Summary`, keeps one database connection per execution environment, and ends on SIGTERM after the
//! invocation under way.
//!
//! # Configuration
//! | variable | meaning |
//! |---|---|
//! | `DATABASE_URL` | `postgres://user:password@host:port/database?…`, required |
//! | `RUST_LOG` | log level, by module if wanted; `info` when unset |
//!
//! # Encryption
//! A server on the network is always asked for TLS, and its certificate is always checked: chain, dates and host name
//! (`verify-full`), whatever `sslmode` says; `sslmode=disable` and `allow` are refused there. Only a unix socket or a
//! loopback address may be plain, and is encrypted and checked as well when `sslmode` is `require` or stronger.
//! `sslrootcert=FILE` replaces the built-in certificate authorities.

mod calls;
mod connect_error;
mod connector;
mod credential;
mod environment;
mod event;
mod figures;
mod in_flight;
mod logging;
mod panic;
mod serve;
mod start_error;
mod target;
mod tls;

pub use calls::{Refusal, serve_calls};
pub use connector::PostgresConnector;
pub use credential::{CredentialSource, FixedTarget, TargetFuture};
pub use figures::with_figures;
pub use logging::init_logging;
pub use serve::{LINGER, connection, serve};
pub use start_error::StartError;
pub use target::Target;
pub use tokio_postgres::Client;
