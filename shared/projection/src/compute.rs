//! The compute function: take a claimed run, read one snapshot of its user's source, compute, stage the result.

use std::time::{Duration, Instant};

use futures_util::future::{join, join4};
use tidemark_queue::lease::{Phase, error_code};
use tidemark_queue::step::{BEGIN_ONE_SNAPSHOT, answer_to_commit, begin_step, sent_with_commit};
use tidemark_queue::{Connection, Error, Function, Invocation, Lease, Summary};
use tidemark_stats::DEFINITION_VERSION;
use tokio_postgres::Client;
use tokio_postgres::types::{Json, Type};

use crate::commit;
use crate::document::Document;
use crate::source::{self, Source};
use crate::statements::{COMPUTE_HOLD, COMPUTE_STAGE};
use crate::work::Step;

/// Runs one invocation: computes claimed runs while there are any and while a whole budget fits before the deadline, and
/// lingers while some are on their way.
pub async fn handle(connection: &mut Connection, invocation: &Invocation) -> Summary {
    handle_as(connection, invocation, DEFINITION_VERSION).await
}

/// The same as a build whose formulas have `definition_version`: how two releases beside each other are tried out.
#[doc(hidden)]
pub async fn handle_as(connection: &mut Connection, invocation: &Invocation, definition_version: i32) -> Summary {
    crate::work::handle(connection, invocation, Step::Compute { definition_version }).await
}

/// Computes one run within `budget`.
pub(crate) async fn one_run(
    connection: &mut Connection,
    lease: Lease,
    budget: Duration,
    definition_version: i32,
) -> Result<(), Error> {
    let began = Instant::now();
    // The server ends a statement at the budget; the grace lets its answer arrive before the client gives up as well.
    let outcome = connection
        .run(budget + crate::work::GRACE, async |client: &mut Client| {
            let staged = stage(client, lease, budget, began, definition_version).await;
            if staged.as_ref().is_err_and(|error| !error.breaks_connection()) {
                client.batch_execute("ROLLBACK").await?;
            }
            staged
        })
        .await;
    commit::settle(connection, lease, outcome, &[Phase::Computed, Phase::Published]).await
}

/// Holds the run's lock, reads, computes, stages and commits: two round trips.
async fn stage(
    client: &Client,
    lease: Lease,
    budget: Duration,
    began: Instant,
    definition_version: i32,
) -> Result<(), Error> {
    let fence = [(&lease.run_id as _, Type::INT8), (&lease.attempt as _, Type::INT4), (&lease.token as _, Type::UUID)];
    let (begun, limits, held, source) = join4(
        client.batch_execute(BEGIN_ONE_SNAPSHOT),
        begin_step(client, Function::Compute, Some(budget)),
        client.query_typed(COMPUTE_HOLD, &fence),
        source::read(client, lease.user_id, definition_version),
    )
    .await;
    begun?;
    limits?;
    if !held?.first().is_some_and(|row| row.get(0)) {
        return Err(Error::Stale);
    }
    let document = compute(source?).await?;
    let compute_ms = i32::try_from(began.elapsed().as_millis()).unwrap_or(i32::MAX);
    if began.elapsed() >= budget {
        return Err(Error::Database { code: error_code::OVER_BUDGET.to_owned(), constraint: None });
    }
    let document = Json(document);
    let stage_parameters = [
        (&lease.run_id as _, Type::INT8),
        (&lease.attempt as _, Type::INT4),
        (&lease.token as _, Type::UUID),
        (&compute_ms as _, Type::INT4),
        (&definition_version as _, Type::INT4),
        (&document as _, Type::JSONB),
    ];
    // COMMIT travels along: a stage that finds its lease lost has written nothing, and after a refused one the server rolls back.
    let (staged, committed) =
        join(client.query_typed(COMPUTE_STAGE, &stage_parameters), client.batch_execute("COMMIT")).await;
    let staged = staged.map_err(sent_with_commit)?;
    committed.map_err(answer_to_commit)?;
    if staged.first().is_some_and(|row| row.get(0)) { Ok(()) } else { Err(Error::Stale) }
}

/// Computes on a thread of its own, so that the connection's task and the clock go on.
async fn compute(source: Source) -> Result<Document, Error> {
    let computed = tokio::task::spawn_blocking(move || {
        let Source { history, dirty } = source;
        let projections = tidemark_stats::compute(&history)?;
        Ok::<_, tidemark_stats::InvalidHistory>(Document::new(projections, &dirty, &history.exercises))
    })
    .await;
    match computed {
        Ok(Ok(document)) => Ok(document),
        Ok(Err(invalid)) => Err(Error::Invalid(invalid.to_string())),
        Err(_panicked) => Err(Error::Database { code: error_code::PANIC.to_owned(), constraint: None }),
    }
}
