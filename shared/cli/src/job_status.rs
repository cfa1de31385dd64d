//! The status of a job as an option.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tidemark_queue::jobs::Status;

/// Reads a status by its word; `--help` says what each means.
pub(crate) fn typed() -> impl TypedValueParser<Value = Status> {
    PossibleValuesParser::new(Status::ALL.map(|status| PossibleValue::new(status.word()).help(meaning(status))))
        .try_map(|word| Status::ALL.into_iter().find(|status| status.word() == word).ok_or("there is no such status"))
}

fn meaning(status: Status) -> &'static str {
    match status {
        Status::Pending => "Waits for a worker, or for its time",
        Status::Running => "A worker has it",
        Status::Done => "Ended well",
        Status::Dead => "Used up its attempts, failed for good, or was cancelled",
    }
}
