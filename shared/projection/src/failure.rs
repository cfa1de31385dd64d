//! What a step's error becomes: the code and message recorded with the run.

use std::time::Duration;

use tidemark_queue::lease::error_code;
use tidemark_queue::{Error, Function};

/// The stable code and a message without any row value.
pub(crate) fn describe(error: &Error, function: Function, budget: Duration) -> (String, String) {
    let over_budget = match error {
        Error::Database { code, .. } => code == error_code::OVER_BUDGET,
        other => other.is_timeout(),
    };
    if over_budget {
        let message = format!(
            "{function} exceeded its budget of {} ms; raise {function}_timeout_ms in stats_projection_worker_settings if this is \
             normal for the user",
            budget.as_millis()
        );
        return (error_code::OVER_BUDGET.to_owned(), message);
    }
    let message = match error.code() {
        error_code::PANIC => "the statistics code panicked; the log of this invocation says where".to_owned(),
        error_code::COMMIT_UNKNOWN => "the connection broke at COMMIT and the run had not moved".to_owned(),
        "23503" => format!("a published row refers to a source row that is gone: {error}"),
        "55000" => {
            "the generation is not above the one already applied; published statistics only go forward".to_owned()
        }
        _ => error.to_string(),
    };
    (error.code().to_owned(), message)
}
