//! What the database's refusal of an operator's statement means, and what to do about it.

use tokio_postgres::error::SqlState;

use crate::failure::Failure;

/// Turns an error of the server into one that says what to do next; others are passed on.
pub(crate) fn explain(error: tokio_postgres::Error) -> anyhow::Error {
    let Some(code) = error.code() else {
        return Failure::new(
            "the connection to the database broke",
            "nothing may have been changed; run the command again",
        )
        .into();
    };
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        return Failure::new(
            "this role may not do that (42501)",
            "connect as the role that migrated the database, with --database-url or DATABASE_URL",
        )
        .into();
    }
    let missing = [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_FUNCTION, SqlState::INVALID_SCHEMA_NAME];
    if missing.contains(code) {
        return Failure::new("this database is not migrated", "run `tidemark migrate`").into();
    }
    error.into()
}

/// The same for the errors of a worker's connection.
pub(crate) fn explain_queue(error: tidemark_queue::Error) -> anyhow::Error {
    use tidemark_queue::Error;
    match &error {
        Error::Database { code, .. } if code == "42501" => Failure::new(
            "this role may not read the status document (42501)",
            "connect as the worker role, service_role or the role that migrated the database",
        )
        .into(),
        Error::Database { code, .. } if matches!(code.as_str(), "42P01" | "42883" | "3F000") => {
            Failure::new("this database is not migrated", "run `tidemark migrate`").into()
        }
        Error::Unavailable { .. } | Error::Contended { .. } | Error::Unknown => Failure::new(
            error.to_string(),
            "check that the server runs and that the URL's host, port, user and database are right",
        )
        .into(),
        _ => error.into(),
    }
}
