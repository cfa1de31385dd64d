//! The first round trip of an invocation.

use jiff::Timestamp;
use tidemark_queue::lease::SHORT_CALL_LIMIT;
use tidemark_queue::step::{Statement, in_one_round_trip};
use tidemark_queue::{Connection, Error, Function, Invocation, Outcome};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::limits::Limits;
use crate::statements::WORK_BEGIN;

/// What the tick found.
pub(super) struct Begun {
    /// Why nothing is claimed, where that is so.
    pub(super) without_work: Option<Outcome>,
    /// There may be something to claim.
    pub(super) has_jobs: bool,
    /// Schedules are due, or to be planned.
    pub(super) schedules_due: bool,
    /// Jobs that were taken back from workers that are gone …
    pub(super) reaped: u64,
    /// … and how many of them are dead.
    pub(super) died: u64,
    pub(super) limits: Limits,
}

/// Notes the tick, takes expired leases back and looks for work, in one round trip.
///
/// # Errors
/// What the connection or the server says.
pub(super) async fn begin(
    connection: &mut Connection,
    invocation: &Invocation,
    planned_at: Option<Timestamp>,
) -> Result<Begun, Error> {
    // It never waits for work, so that more than this means a silent peer.
    let limit = invocation.remaining().map_or(SHORT_CALL_LIMIT, |remaining| remaining.min(SHORT_CALL_LIMIT));
    connection
        .run(SHORT_CALL_LIMIT, async |client: &mut Client| {
            let statement = Statement {
                text: WORK_BEGIN,
                parameters: &[(&invocation.worker_id, Type::UUID), (&planned_at, Type::TIMESTAMPTZ)],
            };
            let (_limit, rows) = in_one_round_trip(client, Function::Work, Some(limit), statement).await?;
            let row = rows.first().ok_or_else(|| Error::Invalid("the database answered without a row".to_owned()))?;
            begun(row, invocation)
        })
        .await
}

fn begun(row: &Row, invocation: &Invocation) -> Result<Begun, Error> {
    let outcome: &str = row.try_get(0)?;
    let count = |index: usize| -> Result<u64, Error> {
        let number: i32 = row.try_get(index)?;
        Ok(u64::try_from(number).unwrap_or(0))
    };
    let without_work = match outcome {
        "paused" => Some(Outcome::Paused),
        "late" => Some(Outcome::Late),
        _ => None,
    };
    Ok(Begun {
        without_work,
        has_jobs: outcome == "work",
        schedules_due: row.try_get(3)?,
        reaped: count(1)?,
        died: count(2)?,
        limits: Limits::new(count(4)?, count(5)?, invocation),
    })
}
