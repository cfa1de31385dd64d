//! How a handler ends, and what is recorded of it.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tidemark_queue::Error;
use tidemark_queue::jobs::Outcome;

use crate::diagnostics::Diagnostics;

/// How a handler ends.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// It is done; this is the job's result.
    Done(Value),
    /// It is done with what there was, while something that it could do without has failed; [`Context::diagnose`] has said
    /// what.
    ///
    /// [`Context::diagnose`]: crate::Context::diagnose
    Degraded(Value),
    /// It failed and may succeed later: it runs again after a backoff, until its attempts are used up.
    Failed(Failure),
    /// It failed and would fail the same way again: the job is dead at once.
    Permanent(Failure),
    /// It has to wait so long, and that is no failure: the attempt is given back. For receivers that ask to be left alone.
    Snooze(Duration),
}

/// What failed. It is stored with the job and shown to operators: a word and a sentence, without secrets or personal data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    code: String,
    message: String,
}

impl Failure {
    /// `code` is a short word that stays the same (`receiver_gone`), or an SQLSTATE.
    #[must_use]
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }

    /// The short word.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }
}

/// A database error holds no row values.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl End {
    /// Failed with this code and message; it runs again.
    #[must_use]
    pub fn failed(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Failed(Failure::new(code, message))
    }

    /// Failed for good with this code and message.
    #[must_use]
    pub fn permanent(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Permanent(Failure::new(code, message))
    }

    /// What is recorded. Diagnostics stand in the result under `diagnostics`.
    pub(crate) fn into_outcome(self, diagnostics: &Diagnostics) -> Outcome {
        match self {
            Self::Done(result) => Outcome::Done(with_diagnostics(result, diagnostics, false)),
            Self::Degraded(result) => Outcome::Done(with_diagnostics(result, diagnostics, true)),
            Self::Failed(Failure { code, message }) => Outcome::Failed { code, message },
            Self::Permanent(Failure { code, message }) => Outcome::FailedPermanently { code, message },
            Self::Snooze(duration) => Outcome::Snoozed(duration),
        }
    }
}

fn with_diagnostics(result: Value, diagnostics: &Diagnostics, degraded: bool) -> Option<Value> {
    let listed = diagnostics.to_json();
    if !degraded && listed.is_none() {
        return Some(result).filter(|result| !result.is_null());
    }
    let mut fields = match result {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        // Only an object has room for diagnostics.
        other => Map::from_iter([("value".to_owned(), other)]),
    };
    fields.insert("degraded".to_owned(), json!(degraded));
    fields.insert("diagnostics".to_owned(), listed.unwrap_or_else(|| json!([])));
    Some(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result_of(end: End, diagnostics: &Diagnostics) -> Option<Value> {
        match end.into_outcome(diagnostics) {
            Outcome::Done(result) => result,
            _ => panic!("it is done"),
        }
    }

    #[test]
    fn a_result_without_diagnostics_stays_as_it_is() {
        let none = Diagnostics::default();
        for result in [json!({"a": 1}), json!([1]), json!("text")] {
            assert_eq!(result_of(End::Done(result.clone()), &none), Some(result));
        }
        assert_eq!(result_of(End::Done(Value::Null), &none), None);
    }

    #[test]
    fn diagnostics_stand_in_the_result_beside_what_is_there() {
        let diagnostics = Diagnostics::default();
        diagnostics.add("slack", &"status 404");
        let listed = json!([{"channel": "slack", "error": "status 404"}]);
        assert_eq!(
            result_of(End::Degraded(json!({"sent": 1})), &diagnostics),
            Some(json!({"sent": 1, "degraded": true, "diagnostics": listed}))
        );
        assert_eq!(
            result_of(End::Done(json!(7)), &diagnostics),
            Some(json!({"value": 7, "degraded": false, "diagnostics": listed}))
        );
        assert_eq!(
            result_of(End::Degraded(Value::Null), &Diagnostics::default()),
            Some(json!({"degraded": true, "diagnostics": []}))
        );
    }
}
