//! The publish function: take a computed run and publish the difference, in one transaction and one round trip.

use std::time::Duration;

use tidemark_queue::lease::Phase;
use tidemark_queue::step::{Statement, in_one_round_trip};
use tidemark_queue::{Connection, Error, Function, Invocation, Lease, Summary};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::commit;
use crate::statements::PUBLISH;
use crate::work::Step;

/// Runs one invocation: publishes computed runs while there are any and while a whole budget fits before the deadline, and
/// lingers while some are on their way.
pub async fn handle(connection: &mut Connection, invocation: &Invocation) -> Summary {
    crate::work::handle(connection, invocation, Step::Publish).await
}

/// Publishes one run within `budget`, the wait for locks included. A deadlock or serialization failure is tried once more.
pub(crate) async fn one_run(connection: &mut Connection, lease: Lease, budget: Duration) -> Result<(), Error> {
    match publish(connection, lease, budget).await {
        Err(Error::Contended { code }) if code == "40001" || code == "40P01" => {
            publish(connection, lease, budget).await
        }
        other => other,
    }
}

async fn publish(connection: &mut Connection, lease: Lease, budget: Duration) -> Result<(), Error> {
    let outcome = connection
        .run(budget + crate::work::GRACE, async |client: &mut Client| {
            let statement = Statement {
                text: PUBLISH,
                parameters: &[(&lease.run_id, Type::INT8), (&lease.attempt, Type::INT4), (&lease.token, Type::UUID)],
            };
            let (_limit, rows) = in_one_round_trip(client, Function::Publish, Some(budget), statement).await?;
            let outcome: &str = rows.first().ok_or(Error::Stale)?.try_get(0)?;
            if outcome == "published" { Ok(()) } else { Err(Error::Stale) }
        })
        .await;
    commit::settle(connection, lease, outcome, &[Phase::Published]).await
}
