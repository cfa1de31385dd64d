//! A lease: what a worker has to know to write on behalf of a run, and what it may do with it.

use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use crate::statements::{COMPUTE_TAKE, PUBLISH_TAKE, RUN_FAIL, RUN_PHASE};
use crate::step::{Statement, in_one_round_trip, missing_row};
use crate::{Connection, Error, Function, Invocation};

/// How long taking a run, recording a failure or re-reading a phase may last on the client's side. They never wait for work,
/// so that more than this means a silent peer.
pub const SHORT_CALL_LIMIT: Duration = Duration::from_secs(5);

/// Stable error codes for what has no SQLSTATE.
pub mod error_code {
    /// A step exceeded its budget; the same SQLSTATE that the server gives.
    pub const OVER_BUDGET: &str = "57014";
    /// The code that computes the figures panicked.
    pub const PANIC: &str = "panic";
    /// The commit's answer was lost and the run turned out not to have moved.
    pub const COMMIT_UNKNOWN: &str = "commit_unknown";
}

/// The lease of one run. Every write compares row, attempt and token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The run's row.
    pub run_id: i64,
    /// Whose statistics it is about.
    pub user_id: Uuid,
    /// Which attempt of its job this run is, from 1.
    pub attempt: i32,
    /// The generation that its publish will apply.
    pub generation: i64,
    /// The random token, granted once.
    pub token: Uuid,
}

/// What taking a run answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// A run, and the function's budget for one step.
    Run(Lease, Duration),
    /// Nothing to take, but something is on its way.
    Waiting,
    /// Nothing to take and nothing on its way.
    Idle,
    /// The settings row pauses this function.
    Paused,
    /// The tick was planned too long ago.
    Late,
    /// Somebody computes by a newer definition of the figures; this build gets no runs any more.
    Outdated,
}

/// What became of a failed run's job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// Another attempt follows after the backoff.
    Retry,
    /// Attempts are used up; an alert was raised.
    Exhausted,
    /// The lease was somebody else's already; nothing was changed.
    Lost,
}

/// The phase of a run, as re-read by its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Still waiting, or still being worked on.
    Live,
    /// Its result is staged.
    Computed,
    /// Its result is published.
    Published,
    /// Ended, or no longer this worker's.
    Over,
}

/// Takes the next run to compute, in one round trip, and tells the version of the formulas that this build computes by.
///
/// # Errors
/// What the connection or the server says.
pub async fn take_to_compute(
    connection: &mut Connection,
    invocation: &Invocation,
    definition_version: i32,
) -> Result<Taken, Error> {
    let parameters = [
        (&invocation.worker_id as _, Type::UUID),
        (&invocation.planned_at as _, Type::TIMESTAMPTZ),
        (&definition_version as _, Type::INT4),
    ];
    take(connection, invocation, Function::Compute, Statement { text: COMPUTE_TAKE, parameters: &parameters }).await
}

/// Takes the next run to publish, in one round trip.
///
/// # Errors
/// What the connection or the server says.
pub async fn take_to_publish(connection: &mut Connection, invocation: &Invocation) -> Result<Taken, Error> {
    let parameters = [(&invocation.worker_id as _, Type::UUID), (&invocation.planned_at as _, Type::TIMESTAMPTZ)];
    take(connection, invocation, Function::Publish, Statement { text: PUBLISH_TAKE, parameters: &parameters }).await
}

async fn take(
    connection: &mut Connection,
    invocation: &Invocation,
    function: Function,
    statement: Statement<'_>,
) -> Result<Taken, Error> {
    let limit = invocation.remaining().map_or(SHORT_CALL_LIMIT, |remaining| remaining.min(SHORT_CALL_LIMIT));
    connection
        .run(SHORT_CALL_LIMIT, async |client: &mut Client| {
            let (_limit, rows) = in_one_round_trip(client, function, Some(limit), statement).await?;
            taken(rows.first().ok_or_else(missing_row)?)
        })
        .await
}

fn taken(row: &Row) -> Result<Taken, Error> {
    let outcome: &str = row.try_get(0)?;
    Ok(match outcome {
        "taken" => {
            let budget_ms: i32 = row.try_get(6)?;
            let lease = Lease {
                run_id: row.try_get(1)?,
                user_id: row.try_get(2)?,
                attempt: row.try_get(3)?,
                generation: row.try_get(4)?,
                token: row.try_get(5)?,
            };
            Taken::Run(lease, Duration::from_millis(u64::try_from(budget_ms).unwrap_or(0)))
        }
        "waiting" => Taken::Waiting,
        "paused" => Taken::Paused,
        "late" => Taken::Late,
        "outdated" => Taken::Outdated,
        _ => Taken::Idle,
    })
}

impl Lease {
    /// Records that the run failed, with a stable code and a message without row values. A connection that breaks on the way
    /// is replaced once: whoever asked for this often comes with a broken one. The server stores no NUL: each becomes the
    /// replacement character, because a failure that cannot be recorded would be repeated for ever.
    ///
    /// # Errors
    /// When it could not be recorded; the lease's expiry will do so later.
    pub async fn fail(&self, connection: &mut Connection, code: &str, message: &str) -> Result<Failed, Error> {
        let (code, message) = (&code.replace('\0', "\u{fffd}"), &message.replace('\0', "\u{fffd}"));
        let first = self.fail_once(connection, code, message).await;
        match first {
            Err(error) if error.breaks_connection() || matches!(error, Error::Contended { .. }) => {
                self.fail_once(connection, code, message).await
            }
            other => other,
        }
    }

    async fn fail_once(&self, connection: &mut Connection, code: &str, message: &str) -> Result<Failed, Error> {
        connection
            .run(SHORT_CALL_LIMIT, async |client: &mut Client| {
                let rows = client
                    .query_typed(
                        RUN_FAIL,
                        &[
                            (&self.run_id, Type::INT8),
                            (&self.attempt, Type::INT4),
                            (&self.token, Type::UUID),
                            (&code, Type::TEXT),
                            (&message, Type::TEXT),
                        ],
                    )
                    .await?;
                let outcome: &str = rows.first().ok_or_else(missing_row)?.try_get(0)?;
                Ok(match outcome {
                    "retry" => Failed::Retry,
                    "exhausted" => Failed::Exhausted,
                    _ => Failed::Lost,
                })
            })
            .await
    }

    /// Re-reads the run by row, attempt and token: how an unknown commit is resolved.
    ///
    /// # Errors
    /// What the connection or the server says.
    pub async fn phase(&self, connection: &mut Connection) -> Result<Phase, Error> {
        connection
            .run(SHORT_CALL_LIMIT, async |client: &mut Client| {
                let rows = client
                    .query_typed(
                        RUN_PHASE,
                        &[(&self.run_id, Type::INT8), (&self.attempt, Type::INT4), (&self.token, Type::UUID)],
                    )
                    .await?;
                let phase: &str = rows.first().ok_or_else(missing_row)?.try_get(0)?;
                Ok(match phase {
                    "claimed" | "computing" | "publishing" => Phase::Live,
                    "computed" => Phase::Computed,
                    "published" => Phase::Published,
                    _ => Phase::Over,
                })
            })
            .await
    }
}
