//! Ending claimed jobs.

use std::time::Duration;

use serde_json::Value;
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::conflict::step;
use super::error_text::error_text;
use super::fence::Fence;
use super::json;
use super::new_job::{DELAY_MAX, PAYLOAD_BYTES};
use crate::Error;
use crate::statements::JOBS_END;
use crate::step::missing_row;

/// How the handler of a job ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Finished, with a result of at most 1 MiB as text. One that cannot be stored makes the job dead as `invalid_result`.
    Done(Option<Value>),
    /// Failed: again after a backoff; dead when the attempts are used up.
    Failed {
        /// A stable short name.
        code: String,
        /// What happened, without row values; stored as [`error_text`] makes it.
        message: String,
    },
    /// Would fail the same way again: dead at once.
    FailedPermanently {
        /// A stable short name.
        code: String,
        /// What happened, without row values.
        message: String,
    },
    /// Not now: again after this time, at most a year; the attempt is given back.
    Snoozed(Duration),
    /// Not begun: again at once; the attempt is given back.
    Released,
}

/// One job to be ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// Its claim.
    pub fence: Fence,
    /// How it ended.
    pub outcome: Outcome,
}

/// What became of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Finished.
    Done,
    /// Finished without success, for good.
    Dead,
    /// Waits for its next attempt.
    Pending,
    /// The claim did not hold any more: nothing was changed for this job.
    Lost,
}

/// Ends jobs of `worker_id`, each on its own, in one round trip; `begin` names jobs of the same worker whose handlers begin now.
/// Answers in the order given.
///
/// Where the database refuses what came with them (a text or a result that it cannot store), each is ended alone, and what is
/// refused again with a constant text, so that its attempt is charged and it does not come back for ever.
///
/// # Errors
/// What the server says. After [`Error::Unknown`] the call may be repeated: what had been ended is answered `Lost` then.
pub async fn end(client: &Client, worker_id: Uuid, endings: &[Ending], begin: &[Uuid]) -> Result<Vec<Ended>, Error> {
    if endings.is_empty() && begin.is_empty() {
        return Ok(Vec::new());
    }
    match send(client, worker_id, &columns(endings), begin).await {
        Err(error) if is_refusal(&error) && !endings.is_empty() => {
            let mut ended = Vec::with_capacity(endings.len());
            for (place, ending) in endings.iter().enumerate() {
                let begin = if place == 0 { begin } else { &[] };
                ended.push(end_alone(client, worker_id, ending, begin).await?);
            }
            Ok(ended)
        }
        answer => answer,
    }
}

/// Ends a job as done.
///
/// # Errors
/// As [`end`].
pub async fn complete(client: &Client, fence: &Fence, result: Option<Value>) -> Result<Ended, Error> {
    end_one(client, fence, Outcome::Done(result)).await
}

/// Records that an attempt failed.
///
/// # Errors
/// As [`end`].
pub async fn fail(client: &Client, fence: &Fence, code: &str, message: &str) -> Result<Ended, Error> {
    end_one(client, fence, Outcome::Failed { code: code.to_owned(), message: message.to_owned() }).await
}

/// Ends a job as dead: it would fail the same way again.
///
/// # Errors
/// As [`end`].
pub async fn fail_permanent(client: &Client, fence: &Fence, code: &str, message: &str) -> Result<Ended, Error> {
    end_one(client, fence, Outcome::FailedPermanently { code: code.to_owned(), message: message.to_owned() }).await
}

/// Lets a job come again after `delay`, with its attempt given back.
///
/// # Errors
/// As [`end`].
pub async fn snooze(client: &Client, fence: &Fence, delay: Duration) -> Result<Ended, Error> {
    end_one(client, fence, Outcome::Snoozed(delay)).await
}

/// Gives a job back that was not begun.
///
/// # Errors
/// As [`end`].
pub async fn release(client: &Client, fence: &Fence) -> Result<Ended, Error> {
    end_one(client, fence, Outcome::Released).await
}

async fn end_one(client: &Client, fence: &Fence, outcome: Outcome) -> Result<Ended, Error> {
    let ended = end(client, fence.worker_id, &[Ending { fence: *fence, outcome }], &[]).await?;
    ended.first().copied().ok_or_else(missing_row)
}

async fn end_alone(client: &Client, worker_id: Uuid, ending: &Ending, begin: &[Uuid]) -> Result<Ended, Error> {
    let first = send(client, worker_id, &columns(std::slice::from_ref(ending)), begin).await;
    let ended = match (first, storable(&ending.outcome)) {
        (Err(error), Some(outcome)) if is_refusal(&error) => {
            send(client, worker_id, &columns(&[Ending { fence: ending.fence, outcome }]), begin).await?
        }
        (answer, _) => answer?,
    };
    ended.first().copied().ok_or_else(missing_row)
}

/// Whether the server refused what was sent, so that the same would be refused again: not where time, memory, disk or connections
/// ran out, nor where the transaction had failed already.
fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Database { code, .. } if !["57", "53", "25", "58"].iter().any(|class| code.starts_with(class)))
}

/// The same end with constant texts; `None` where nothing was sent that could be refused.
fn storable(outcome: &Outcome) -> Option<Outcome> {
    let (code, message) = ("error_not_stored".to_owned(), "the text of the error could not be stored".to_owned());
    match outcome {
        Outcome::Done(Some(_)) => Some(invalid_result("could not be stored")),
        Outcome::Failed { .. } => Some(Outcome::Failed { code, message }),
        Outcome::FailedPermanently { .. } => Some(Outcome::FailedPermanently { code, message }),
        Outcome::Done(None) | Outcome::Snoozed(_) | Outcome::Released => None,
    }
}

fn invalid_result(problem: &str) -> Outcome {
    Outcome::FailedPermanently { code: "invalid_result".to_owned(), message: format!("the result {problem}") }
}

/// The endings as the function takes them.
#[derive(Default)]
struct Columns<'a> {
    lease_ids: Vec<i64>,
    job_ids: Vec<Uuid>,
    attempts: Vec<i32>,
    outcomes: Vec<&'static str>,
    results: Vec<Option<&'a Value>>,
    codes: Vec<Option<String>>,
    errors: Vec<Option<String>>,
    delays: Vec<Option<f64>>,
}

fn columns(endings: &[Ending]) -> Columns<'_> {
    let mut columns = Columns::default();
    for Ending { fence, outcome } in endings {
        columns.lease_ids.push(fence.lease_id);
        columns.job_ids.push(fence.job_id);
        columns.attempts.push(fence.attempt);
        columns.push_outcome(outcome);
    }
    columns
}

impl<'a> Columns<'a> {
    fn push_outcome(&mut self, outcome: &'a Outcome) {
        let unstorable = match outcome {
            Outcome::Done(Some(result)) => json::measure(result, PAYLOAD_BYTES).err(),
            _ => None,
        };
        if let Some(problem) = unstorable {
            return self.push_failure("dead", "invalid_result", &format!("the result {problem}"));
        }
        match outcome {
            Outcome::Done(result) => self.push("done", result.as_ref(), None, None, None),
            Outcome::Failed { code, message } => self.push_failure("fail", code, message),
            Outcome::FailedPermanently { code, message } => self.push_failure("dead", code, message),
            Outcome::Snoozed(delay) => {
                self.push("snooze", None, None, None, Some(delay.min(&DELAY_MAX).as_secs_f64()));
            }
            Outcome::Released => self.push("release", None, None, None, None),
        }
    }

    fn push_failure(&mut self, outcome: &'static str, code: &str, message: &str) {
        self.push(outcome, None, Some(error_text(code)), Some(error_text(message)), None);
    }

    fn push(
        &mut self,
        outcome: &'static str,
        result: Option<&'a Value>,
        code: Option<String>,
        error: Option<String>,
        delay: Option<f64>,
    ) {
        self.outcomes.push(outcome);
        self.results.push(result);
        self.codes.push(code);
        self.errors.push(error);
        self.delays.push(delay);
    }
}

async fn send(client: &Client, worker_id: Uuid, columns: &Columns<'_>, begin: &[Uuid]) -> Result<Vec<Ended>, Error> {
    let begin = (!begin.is_empty()).then_some(begin);
    // One lease named once stands for all: the server ends a whole one with less work.
    let one_lease = columns.lease_ids.windows(2).all(|pair| pair[0] == pair[1]);
    let lease_ids = &columns.lease_ids[..columns.lease_ids.len().min(if one_lease { 1 } else { usize::MAX })];
    let rows = step(
        client,
        JOBS_END,
        &[
            (&worker_id, Type::UUID),
            (&lease_ids, Type::INT8_ARRAY),
            (&columns.job_ids, Type::UUID_ARRAY),
            (&columns.attempts, Type::INT4_ARRAY),
            (&columns.outcomes, Type::TEXT_ARRAY),
            (&columns.results, Type::JSONB_ARRAY),
            (&columns.codes, Type::TEXT_ARRAY),
            (&columns.errors, Type::TEXT_ARRAY),
            (&columns.delays, Type::FLOAT8_ARRAY),
            (&begin, Type::UUID_ARRAY),
        ],
    )
    .await?;
    let mut ended = Vec::with_capacity(rows.len());
    for row in &rows {
        let word: &str = row.try_get(0)?;
        ended.push(match word {
            "done" => Ended::Done,
            "dead" => Ended::Dead,
            "pending" => Ended::Pending,
            _ => Ended::Lost,
        });
    }
    if ended.len() == columns.job_ids.len() { Ok(ended) } else { Err(missing_row()) }
}
