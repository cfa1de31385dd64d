//! What a check found out.

use serde::Serialize;

use crate::failure::told;

/// How a check came out, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// As it should be.
    Ok,
    /// It works, and somebody should know.
    Warning,
    /// Figures stay behind or jobs wait until somebody acts.
    Failed,
}

impl State {
    /// The word on the screen.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// One line of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) check: &'static str,
    /// How it came out.
    pub(crate) state: State,
    /// What was seen.
    pub(crate) what: String,
    /// The remedy; none where there is nothing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl Finding {
    /// As it should be.
    pub(crate) fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, state: State::Ok, what: what.into(), next: None }
    }

    /// Worth a look.
    pub(crate) fn warning(check: &'static str, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { check, state: State::Warning, what: what.into(), next: Some(next.into()) }
    }

    /// In need of somebody.
    pub(crate) fn failed(check: &'static str, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { check, state: State::Failed, what: what.into(), next: Some(next.into()) }
    }

    /// A check that could not be made.
    pub(crate) fn not_made(check: &'static str, error: &anyhow::Error) -> Self {
        let failure = told(error);
        Self::failed(check, failure.what, failure.next)
    }
}
