//! The claim function: recover expired leases, then give runs to stale users, one claim at a time in the whole system.

use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::pace::Pace;
use crate::statements::CLAIM;
use crate::step::{Statement, in_one_round_trip, missing_row};
use crate::{Connection, Error, Function, Invocation, Outcome, Summary, tick};

/// Longest claim budget that the settings row allows, with a second for the way: more than this is a silent peer.
const CLIENT_LIMIT: Duration = Duration::from_secs(31);

/// What one pass did.
#[derive(Debug, Clone)]
struct Pass {
    outcome: Outcome,
    claimed: u64,
    recovered: u64,
    absorbed: u64,
    exhausted: u64,
    slots_full: bool,
    budget: Duration,
}

/// Runs one invocation: passes while there is something to claim, and lingers for a slot while all are taken and users wait.
/// With nothing to do it returns after one round trip.
pub async fn handle(connection: &mut Connection, invocation: &Invocation) -> Summary {
    let mut summary = Summary::new(Function::Claim.as_str());
    let mut pace = Pace::new();
    loop {
        let pass = match pass(connection, invocation).await {
            Ok(pass) => pass,
            Err(error) => {
                summary.note_error(&error);
                break;
            }
        };
        summary.succeeded += pass.claimed;
        summary.recovered += pass.recovered;
        summary.absorbed += pass.absorbed;
        summary.failed += pass.exhausted;
        if pass.outcome == Outcome::Worked {
            summary.outcome = Outcome::Worked;
            pace.reset();
        } else if summary.outcome == Outcome::Idle {
            summary.outcome = pass.outcome;
        }
        let ends = matches!(pass.outcome, Outcome::Paused | Outcome::Late | Outcome::Busy);
        if ends || !pass.slots_full || !invocation.may_linger() || !invocation.fits(pass.budget) {
            break;
        }
        pace.wait().await;
    }
    tick::end(connection, Function::Claim, invocation, &mut summary).await;
    summary
}

async fn pass(connection: &mut Connection, invocation: &Invocation) -> Result<Pass, Error> {
    connection
        .run(CLIENT_LIMIT, async |client: &mut Client| {
            let statement = Statement {
                text: CLAIM,
                parameters: &[(&invocation.worker_id, Type::UUID), (&invocation.planned_at, Type::TIMESTAMPTZ)],
            };
            let (budget, rows) = in_one_round_trip(client, Function::Claim, invocation.remaining(), statement).await?;
            let row = rows.first().ok_or_else(missing_row)?;
            let count = |index: usize| -> Result<u64, Error> {
                let number: i32 = row.try_get(index)?;
                Ok(u64::try_from(number).unwrap_or(0))
            };
            let outcome: &str = row.try_get(0)?;
            Ok(Pass {
                outcome: match outcome {
                    "worked" => Outcome::Worked,
                    "busy" => Outcome::Busy,
                    "paused" => Outcome::Paused,
                    "late" => Outcome::Late,
                    _ => Outcome::Idle,
                },
                claimed: count(1)?,
                recovered: count(2)?,
                absorbed: count(3)?,
                exhausted: count(4)?,
                slots_full: row.try_get(5)?,
                budget,
            })
        })
        .await
}
