//! The loop that compute and publish share: take, work, record, again.

use std::time::Duration;

use tidemark_queue::lease::{self, Failed, Taken};
use tidemark_queue::{Connection, Error, Function, Invocation, Lease, Outcome, Pace, Summary, tick};

use crate::failure;

/// How long after a budget the client still waits for the server to say that the budget is over.
pub(crate) const GRACE: Duration = Duration::from_millis(250);

/// Runs one invocation of `function`. A step begins only while its whole budget fits before the deadline; the first one of an
/// invocation begins with what there is, so that a short deadline does less instead of nothing.
pub(crate) async fn handle<W>(
    connection: &mut Connection,
    invocation: &Invocation,
    function: Function,
    work: W,
) -> Summary
where
    W: AsyncFn(&mut Connection, Lease, Duration) -> Result<(), Error>,
{
    let mut summary = Summary::new(function.as_str());
    let mut pace = Pace::new();
    let mut last_budget = Duration::ZERO;
    while invocation.fits(last_budget) {
        match lease::take(connection, invocation, function).await {
            Ok(Taken::Run(lease, budget)) => {
                last_budget = budget;
                let limit = invocation.remaining().map_or(budget, |remaining| remaining.min(budget));
                let outcome = work(connection, lease, limit).await;
                record(connection, function, lease, limit, outcome, &mut summary).await;
                pace.reset();
            }
            Ok(Taken::Waiting) if invocation.may_linger() => pace.wait().await,
            Ok(Taken::Waiting | Taken::Idle) => break,
            Ok(Taken::Paused) => {
                summary.end_without_work(Outcome::Paused);
                break;
            }
            Ok(Taken::Late) => {
                summary.end_without_work(Outcome::Late);
                break;
            }
            Err(error) => {
                summary.note_error(&error);
                break;
            }
        }
    }
    tick::end(connection, function, invocation, &mut summary).await;
    summary
}

/// Takes the outcome of one run into the summary and, where it failed, into the database.
async fn record(
    connection: &mut Connection,
    function: Function,
    lease: Lease,
    limit: Duration,
    outcome: Result<(), Error>,
    summary: &mut Summary,
) {
    let error = match outcome {
        Ok(()) => {
            summary.succeeded += 1;
            summary.outcome = Outcome::Worked;
            return;
        }
        Err(error) => error,
    };
    if matches!(error, Error::Stale) {
        tracing::warn!(run.id = lease.run_id, run.attempt = lease.attempt, "the lease was lost; nothing was changed");
        summary.lost += 1;
        return;
    }
    let (code, message) = failure::describe(&error, function, limit);
    let failed = lease.fail(connection, &code, &message).await;
    tracing::error!(
        run.id = lease.run_id,
        run.attempt = lease.attempt,
        user.id = %lease.user_id,
        error.code = code,
        recorded = ?failed.as_ref().map_err(Error::code),
        "{function} failed: {message}"
    );
    match failed {
        Ok(Failed::Lost) => summary.lost += 1,
        Ok(Failed::Retry | Failed::Exhausted) | Err(_) => summary.failed += 1,
    }
    summary.error_code = Some(code);
    summary.outcome = Outcome::Failed;
}
