//! Errors as the person at the terminal sees them: what happened and the next thing to try.

use std::process::ExitCode;

use tokio_postgres::error::{DbError, SqlState};

use crate::output::for_terminals;

/// A failure that says what to try next.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(crate) struct Failure {
    /// What happened.
    pub(crate) what: String,
    /// The next thing to try.
    pub(crate) next: String,
    /// The exit status.
    pub(crate) code: u8,
}

impl Failure {
    /// The command failed (exit status 1).
    pub(crate) fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into(), code: 1 }
    }

    /// The command was used wrongly (exit status 2).
    pub(crate) fn usage(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into(), code: 2 }
    }
}

/// Prints the error with its causes and the next thing to try; returns the exit status.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let Failure { what, next, code } = told(error);
    eprintln!("error: {}", for_terminals(&what));
    eprintln!("next: {}", for_terminals(&next));
    ExitCode::from(code)
}

/// The error with its causes in one sentence, and the first next step that one of them names.
pub(crate) fn told(error: &anyhow::Error) -> Failure {
    let mut lines = Vec::new();
    let mut next = None;
    let mut code = 1;
    for cause in error.chain() {
        // The cause below an error of the client is the server's own text, which may hold row values.
        if cause.is::<DbError>() {
            continue;
        }
        let line = describe(cause);
        if lines.last() != Some(&line) {
            lines.push(line);
        }
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            next.get_or_insert_with(|| failure.next.clone());
            code = failure.code;
        }
    }
    let next = next.unwrap_or_else(|| "run the same command with -v to see its log".to_owned());
    Failure { what: lines.join(": "), next, code }
}

fn describe(cause: &(dyn std::error::Error + 'static)) -> String {
    match cause.downcast_ref::<tokio_postgres::Error>().and_then(tokio_postgres::Error::as_db_error) {
        Some(database) => of_database(database),
        None => cause.to_string(),
    }
}

/// What the server refused. Its own sentence is shown only where Tidemark wrote it; others may hold row values.
fn of_database(error: &DbError) -> String {
    let code = error.code();
    let own = *code == SqlState::INVALID_PARAMETER_VALUE || *code == SqlState::RAISE_EXCEPTION;
    let constraint = error.constraint().map(|name| format!(", constraint {name}")).unwrap_or_default();
    if own {
        let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        return format!("{}{hint}", error.message());
    }
    format!("the database refused the statement ({}{constraint})", code.code())
}
