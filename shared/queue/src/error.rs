//! Errors by what the caller does next, never by where they came from.

use tokio_postgres::error::{DbError, SqlState};

use crate::SchemaMismatch;

/// Reason where the connection was closed before an answer came.
pub(crate) const CLOSED: &str = "closed";
/// Reason where the connection broke in another way, without an answer.
pub(crate) const BROKEN: &str = "connection";
/// Reason where the client gave up waiting.
pub(crate) const TIMED_OUT: &str = "timeout";

/// What went wrong, sorted by what to do about it.
///
/// The text of a database error can hold row values, so only its SQLSTATE and the name of the violated constraint are
/// kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The lease is lost: somebody else may own the work. Drop it and change nothing.
    #[error("the lease is lost")]
    Stale,
    /// The database is busy or full (lock or connection not to be had). End the tick quietly; the next one tries again.
    #[error("the database is busy ({code})")]
    Contended {
        /// SQLSTATE, five characters.
        code: String,
    },
    /// The connection broke while a commit was under way: it may or may not have happened. Re-read by token.
    #[error("the outcome of the commit is unknown")]
    Unknown,
    /// The server could not be reached, or the connection is no longer usable. Drop it and connect anew.
    #[error("the database cannot be reached ({reason})")]
    Unavailable {
        /// A short stable word: `refused`, `timeout`, `closed`, an SQLSTATE, …
        reason: String,
    },
    /// The server refused the statement.
    #[error("the database refused the statement ({code}{})", constraint.as_deref().map(|name| format!(", constraint {name}")).unwrap_or_default())]
    Database {
        /// SQLSTATE, five characters.
        code: String,
        /// Name of the violated constraint, where there is one.
        constraint: Option<String>,
    },
    /// The schema and this build do not speak to each other. End the invocation; somebody has to migrate or deploy.
    #[error(transparent)]
    SchemaMismatch(#[from] SchemaMismatch),
    /// A value given by the caller or read from the database is not acceptable; says which, never its content.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    /// The stable code stored with a failed run: the SQLSTATE where there is one, else a short name.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Stale => "lease_lost",
            Self::Unknown => "commit_unknown",
            Self::Contended { code } | Self::Database { code, .. } => code,
            Self::Unavailable { reason } => reason,
            Self::SchemaMismatch(_) => "schema_mismatch",
            Self::Invalid(_) => "invalid",
        }
    }

    /// Whether the connection must be thrown away after this error.
    #[must_use]
    pub fn breaks_connection(&self) -> bool {
        match self {
            Self::Unknown | Self::Unavailable { .. } => true,
            Self::Database { code, .. } => code == "25P02",
            Self::Stale | Self::Contended { .. } | Self::SchemaMismatch(_) | Self::Invalid(_) => false,
        }
    }

    /// The error of a connect. SQLSTATE 55000 means there that the database lets nobody in for the time being, as while it is
    /// restored or renamed; as the answer to a statement it is a refusal.
    #[must_use]
    pub fn of_connect(error: tokio_postgres::Error) -> Self {
        match Self::from(error) {
            Self::Database { code, .. } if code == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE.code() => {
                Self::Unavailable { reason: code }
            }
            other => other,
        }
    }

    /// Whether the client gave up waiting: what it had sent may have been done all the same.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Unavailable { reason } if reason == TIMED_OUT)
    }

    fn from_database(error: &DbError) -> Self {
        let state = error.code();
        let code = state.code().to_owned();
        let read_only_or_gone = *state == SqlState::READ_ONLY_SQL_TRANSACTION
            || *state == SqlState::ADMIN_SHUTDOWN
            || *state == SqlState::CRASH_SHUTDOWN
            || *state == SqlState::CANNOT_CONNECT_NOW
            || *state == SqlState::DATABASE_DROPPED
            || code.starts_with("08")
            || code == "25P03";
        if read_only_or_gone {
            return Self::Unavailable { reason: code };
        }
        let contended = *state == SqlState::TOO_MANY_CONNECTIONS
            || *state == SqlState::LOCK_NOT_AVAILABLE
            || *state == SqlState::T_R_SERIALIZATION_FAILURE
            || *state == SqlState::T_R_DEADLOCK_DETECTED;
        if contended {
            return Self::Contended { code };
        }
        Self::Database { code, constraint: error.constraint().map(str::to_owned) }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(database) = error.as_db_error() {
            return Self::from_database(database);
        }
        // Without a server error the cause is the connection itself; its text may hold addresses, never row values,
        // but a stable word is what an operator can search for.
        let reason = if error.is_closed() { CLOSED } else { BROKEN };
        Self::Unavailable { reason: reason.to_owned() }
    }
}
