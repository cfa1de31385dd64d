//! Why a server could not be found, made or started, each with what to do next.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No server is installed and none could be fetched.
    #[error("no PostgreSQL server (15 or newer) was found{}. Install one with: {instruction}", because(reasons))]
    NoBinaries {
        /// The command that installs one on this platform.
        instruction: String,
        /// What was tried and why it did not do.
        reasons: Vec<String>,
    },
    /// `PG_BIN_DIR` names a folder without a usable server.
    #[error("PG_BIN_DIR={} holds no usable server: {reason}", directory.display())]
    BinariesRefused {
        /// The folder it names.
        directory: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The data folder was made by another major version than any server that is here.
    #[error(
        "{} was made by PostgreSQL {major}, and no server of that version is here. Install it, name its folder in PG_BIN_DIR, or start afresh and lose the data",
        data_directory.display()
    )]
    OtherMajor {
        /// The data folder.
        data_directory: PathBuf,
        /// The major version that made it.
        major: u32,
    },
    /// Another live process keeps the server of this folder.
    #[error(
        "the server in {} is kept by another process{}; use that one or stop it first",
        root.display(),
        process.map(|number| format!(" ({number})")).unwrap_or_default()
    )]
    InUse {
        /// The folder asked for.
        root: PathBuf,
        /// Process number of the holder, where it is known.
        process: Option<u32>,
    },
    /// The process runs as root, which PostgreSQL refuses, and no other account was found.
    #[error(
        "PostgreSQL does not run as root, and neither SUDO_UID, `postgres` nor `nobody` names an account to drop to"
    )]
    NoAccount,
    /// The folder holds data of another account.
    #[error("{} belongs to account {owner}; run as that account or as root, or use another folder", directory.display())]
    ForeignOwner {
        /// The folder.
        directory: PathBuf,
        /// Numeric id of its owner.
        owner: u32,
    },
    /// No folder was found that the server's account can reach and own.
    #[error("account {account} can use none of {}", list(tried))]
    NoPlace {
        /// Numeric id of the server's account.
        account: u32,
        /// The folders that were tried.
        tried: Vec<PathBuf>,
    },
    /// `initdb` failed.
    #[error("initdb could not make a cluster: {output}")]
    Initialise {
        /// The end of what it said.
        output: String,
    },
    /// The server ended while it was starting.
    #[error("the server ended while starting: {log}")]
    Start {
        /// The end of its log.
        log: String,
    },
    /// Something did not happen in time.
    #[error("{what} did not happen within {seconds} s")]
    TooLate {
        /// What was waited for.
        what: &'static str,
        /// For how long.
        seconds: u64,
    },
    /// A file or process operation failed.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Wraps what the system said with what was being done to which path.
    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Io { action, path, source }
    }
}

fn because(reasons: &[String]) -> String {
    if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) }
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
