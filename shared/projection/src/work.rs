//! The loop that compute and publish share: take, work, record, again.

use std::time::Duration;

use tidemark_queue::lease::{self, Failed, Taken};
use tidemark_queue::{Connection, Error, Function, Invocation, Lease, Outcome, Pace, Summary, tick};

use crate::failure;

/// How long after a budget the client still waits for the server to say that the budget is over.
pub(crate) const GRACE: Duration = Duration::from_millis(250);

/// What a step does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// Computes by formulas of this version.
    Compute {
        /// See [`tidemark_stats::DEFINITION_VERSION`].
        definition_version: i32,
    },
    /// Publishes.
    Publish,
}

impl Step {
    fn function(self) -> Function {
        match self {
            Self::Compute { .. } => Function::Compute,
            Self::Publish => Function::Publish,
        }
    }

    async fn take(self, connection: &mut Connection, invocation: &Invocation) -> Result<Taken, Error> {
        match self {
            Self::Compute { definition_version } => {
                lease::take_to_compute(connection, invocation, definition_version).await
            }
            Self::Publish => lease::take_to_publish(connection, invocation).await,
        }
    }

    async fn work(self, connection: &mut Connection, lease: Lease, budget: Duration) -> Result<(), Error> {
        match self {
            Self::Compute { definition_version } => {
                crate::compute::one_run(connection, lease, budget, definition_version).await
            }
            Self::Publish => crate::publish::one_run(connection, lease, budget).await,
        }
    }
}

/// Runs one invocation. A step begins only while its whole budget fits before the deadline; the first one of an
/// invocation begins with what there is, so that a short deadline does less instead of nothing.
pub(crate) async fn handle(connection: &mut Connection, invocation: &Invocation, step: Step) -> Summary {
    let function = step.function();
    let mut summary = Summary::new(function.as_str());
    let mut pace = Pace::new();
    let mut last_budget = Duration::ZERO;
    while invocation.fits(last_budget) {
        match step.take(connection, invocation).await {
            Ok(Taken::Run(lease, budget)) => {
                last_budget = budget;
                let limit = invocation.remaining().map_or(budget, |remaining| remaining.min(budget));
                let outcome = step.work(connection, lease, limit).await;
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
            Ok(Taken::Outdated) => {
                summary.end_without_work(Outcome::Outdated);
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
