//! One step: a transaction whose limits come from the settings row, in as few round trips as its work allows.

use std::time::Duration;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::error::{BROKEN, CLOSED};
use crate::statements::BEGIN_STEP;
use crate::{Error, Function};

/// READ COMMITTED is named because a role or database may have another default, under which `SKIP LOCKED` raises 40001.
pub const BEGIN_READ_COMMITTED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// One consistent snapshot for all statements of the transaction.
pub const BEGIN_ONE_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE";

/// A statement with its parameters and their types, sent without preparing it first: nothing is left behind in the session,
/// which is what a transaction pooler needs.
#[derive(Clone, Copy)]
pub struct Statement<'a> {
    /// The text.
    pub text: &'a str,
    /// Parameters and their types, in order.
    pub parameters: &'a [(&'a (dyn ToSql + Sync), Type)],
}

/// Sets the limits of the open transaction to the function's budget, or to `limit` where that is smaller. Returns what holds.
///
/// # Errors
/// What the server says.
pub async fn begin_step(client: &Client, function: Function, limit: Option<Duration>) -> Result<Duration, Error> {
    let limit_ms = limit.map(|limit| i32::try_from(limit.as_millis()).unwrap_or(i32::MAX));
    let rows = client.query_typed(BEGIN_STEP, &[(&function.as_str(), Type::TEXT), (&limit_ms, Type::INT4)]).await?;
    let budget_ms: i32 = rows.first().ok_or_else(missing_row)?.try_get(0)?;
    Ok(Duration::from_millis(u64::try_from(budget_ms).unwrap_or(0)))
}

/// Runs one statement in a transaction of its own under the function's budget: BEGIN, limits, statement and COMMIT travel
/// together and take **one round trip**. Returns the limit that held and the statement's rows.
///
/// # Errors
/// The first refusal in order; the transaction is rolled back by the server then. [`Error::Unknown`] where the connection
/// broke after COMMIT had been sent, and where COMMIT itself was answered with an error.
pub async fn in_one_round_trip(
    client: &Client,
    function: Function,
    limit: Option<Duration>,
    statement: Statement<'_>,
) -> Result<(Duration, Vec<Row>), Error> {
    // Requests are sent in the order in which the futures are first polled, and `join4` polls in order.
    let (begun, budget, answered, committed) = futures_util::future::join4(
        client.batch_execute(BEGIN_READ_COMMITTED),
        begin_step(client, function, limit),
        client.query_typed(statement.text, statement.parameters),
        client.batch_execute("COMMIT"),
    )
    .await;
    begun.map_err(sent_with_commit)?;
    let budget = budget.map_err(sent_with_commit)?;
    let rows = answered.map_err(sent_with_commit)?;
    committed.map_err(answer_to_commit)?;
    Ok((budget, rows))
}

/// The error of a request that was sent together with the COMMIT behind it. An answer of the server is a refusal, whatever it
/// says: COMMIT comes after it and finds a failed transaction, or a session that has ended. Without an answer the outcome is open.
#[must_use]
pub fn sent_with_commit(error: impl Into<Error>) -> Error {
    match error.into() {
        Error::Unavailable { reason } if reason == CLOSED || reason == BROKEN => Error::Unknown,
        answered => answered,
    }
}

/// The error of a COMMIT. The outcome is open even where there is an answer: a session that an administrator ends (57P01), or a
/// pooler whose server went away, may say so after the transaction was committed.
#[must_use]
pub fn answer_to_commit(_error: tokio_postgres::Error) -> Error {
    Error::Unknown
}

pub(crate) fn missing_row() -> Error {
    Error::Invalid("the database answered without a row".to_owned())
}
