//! What the database's refusal of an operator's statement means, and what to do about it.

use crate::failure::Failure;

/// What to try where the server does not answer.
pub(crate) const CHECK_THE_SERVER: &str =
    "check that the server runs and that the URL's host, port, user and database are right";

/// Turns an error of the server into one that says what to do next; others are passed on.
pub(crate) fn explain(error: tokio_postgres::Error) -> anyhow::Error {
    let Some(code) = error.code() else {
        return Failure::new(
            "the connection to the database broke",
            "nothing may have been changed; run the command again",
        )
        .into();
    };
    refused(code.code()).map_or_else(|| error.into(), Failure::into)
}

/// The same for an operator's call through the queue crate.
pub(crate) fn explain_call(error: tidemark_queue::Error) -> anyhow::Error {
    refused(error.code()).map_or_else(|| explain_queue(error), Failure::into)
}

/// What an operator meets who is connected, but not to what or as whom it takes.
fn refused(code: &str) -> Option<Failure> {
    Some(match code {
        "42501" => Failure::new(
            "this role may not do that (42501)",
            "connect as the role that migrated the database, with --database-url or DATABASE_URL",
        ),
        "42P01" | "42883" | "3F000" => Failure::new("this database is not migrated", "run `tidemark migrate`"),
        _ => return None,
    })
}

/// What a server means that lets nobody in, and what to do about it; `None` for any other SQLSTATE.
pub(crate) fn not_let_in(code: &str) -> Option<(&'static str, &'static str)> {
    Some(match code {
        "28P01" => {
            ("the server refused the password (28P01)", "check user and password in --database-url or DATABASE_URL")
        }
        "28000" => (
            "the server does not let this role in (28000)",
            "check that the URL's user exists and may log in, and that pg_hba.conf admits it from this machine",
        ),
        "3D000" => (
            "the server has no database of that name (3D000)",
            "check the name at the end of the URL, or make the database with createdb and run `tidemark migrate`",
        ),
        _ => return None,
    })
}

/// Why there is no connection, with what to do about it.
pub(crate) fn explain_connect(error: &tidemark_queue::Error) -> Failure {
    not_let_in(error.code()).map_or_else(
        || Failure::new(format!("no connection to the database: {error}"), CHECK_THE_SERVER),
        |(what, next)| Failure::new(what, next),
    )
}

/// The same for the errors of a worker's connection.
pub(crate) fn explain_queue(error: tidemark_queue::Error) -> anyhow::Error {
    use tidemark_queue::{Error, SchemaMismatch};
    match &error {
        Error::Database { code, .. } if code == "42501" => Failure::new(
            "this role may not read the status document (42501)",
            "connect as the worker role, service_role or the role that migrated the database",
        )
        .into(),
        Error::SchemaMismatch(SchemaMismatch::Missing) => {
            Failure::new("this database is not migrated", "run `tidemark migrate`").into()
        }
        Error::SchemaMismatch(SchemaMismatch::SchemaOlder { found, needed }) => Failure::new(
            format!("the schema is older than this tidemark: it has version {found}, and {needed} is needed"),
            "run `tidemark migrate`",
        )
        .into(),
        Error::SchemaMismatch(_) => {
            Failure::new(error.to_string(), "use a tidemark at least as new as the schema").into()
        }
        Error::Unavailable { .. } | Error::Contended { .. } | Error::Unknown => {
            Failure::new(error.to_string(), CHECK_THE_SERVER).into()
        }
        _ => match not_let_in(error.code()) {
            Some((what, next)) => Failure::new(what, next).into(),
            None => error.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use tidemark_queue::Error;

    use super::*;
    use crate::failure::told;

    #[test]
    fn who_is_not_let_in_learns_what_to_check() {
        for (code, words) in [("28P01", "password"), ("28000", "may log in"), ("3D000", "end of the URL")] {
            let refused = || Error::Database { code: code.to_owned(), constraint: None };
            for failure in [explain_connect(&refused()), told(&explain_queue(refused()))] {
                assert!(failure.what.contains(code) && !failure.what.contains("statement"), "{}", failure.what);
                assert!(failure.next.contains(words), "{}", failure.next);
            }
        }
    }
}
