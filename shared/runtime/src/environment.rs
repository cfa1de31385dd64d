//! What one execution environment keeps between invocations.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant, SystemTime};

use futures_util::FutureExt;
use tidemark_queue::{Connection, Error, Invocation, Outcome, Summary};
use tokio::sync::Mutex;
use tracing::Instrument;

/// A connection that rested longer than this is tried before it is used: the environment may have been frozen, and
/// after a thaw a dead socket looks alive until the first query fails. Ticks come every second, so that a busy
/// environment never pays for it.
const TRIED_AFTER: Duration = Duration::from_millis(1_500);

/// How long that trial may take; a silent peer would otherwise hold the invocation.
const TRIAL_LIMIT: Duration = Duration::from_millis(500);

/// One execution environment: one connection, one invocation at a time.
pub(crate) struct Environment {
    function: &'static str,
    held: Mutex<Held>,
}

struct Held {
    connection: Connection,
    /// End of the last invocation by both clocks: the monotonic one can stand still while the environment is frozen,
    /// the other can be set.
    rested_since: (Instant, SystemTime),
}

impl Environment {
    pub(crate) fn new(function: &'static str, connection: Connection) -> Self {
        let rested_since = (Instant::now(), SystemTime::now());
        Self { function, held: Mutex::new(Held { connection, rested_since }) }
    }

    /// Calls `handler` and logs its summary; `None` if it panicked. A late tick is answered as such without calling it.
    pub(crate) async fn invoke<H>(&self, request_id: &str, invocation: &Invocation, handler: &H) -> Option<Summary>
    where
        H: AsyncFn(&mut Connection, &Invocation) -> Summary,
    {
        let span = tracing::info_span!(
            "invocation",
            "function.name" = self.function,
            "request.id" = request_id,
            "worker.id" = %invocation.worker_id,
        );
        async {
            if invocation.is_late() {
                let mut summary = Summary::new(self.function);
                summary.outcome = Outcome::Late;
                log(&summary);
                return Some(summary);
            }
            let mut held = self.held.lock().await;
            held.discard_if_dead().await;
            let outcome = AssertUnwindSafe(handler(&mut held.connection, invocation)).catch_unwind().await;
            held.rested_since = (Instant::now(), SystemTime::now());
            match outcome {
                Ok(summary) => {
                    log(&summary);
                    Some(summary)
                }
                Err(_panic) => {
                    // The panic hook has logged where. What is under way on the wire belongs to nobody now.
                    held.connection.discard();
                    None
                }
            }
        }
        .instrument(span)
        .await
    }
}

impl Held {
    async fn discard_if_dead(&mut self) {
        let (instant, time) = self.rested_since;
        let rested = time.elapsed().map_or(Duration::MAX, |rested| rested.max(instant.elapsed()));
        if rested < TRIED_AFTER || !self.connection.is_open() {
            return;
        }
        let trial = self.connection.run(TRIAL_LIMIT, async |client| {
            client.simple_query("").await.map_err(Error::from)?;
            Ok(())
        });
        if let Err(error) = trial.await {
            tracing::debug!("error.code" = error.code(), "the connection died while at rest");
            self.connection.discard();
        }
    }
}

/// Logs how an invocation ended. Ticks without work are the rule, three a second, so they show at debug level only.
fn log(summary: &Summary) {
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                outcome = summary.outcome.as_str(),
                "runs.succeeded" = summary.succeeded,
                "runs.failed" = summary.failed,
                "runs.lost" = summary.lost,
                "leases.recovered" = summary.recovered,
                "jobs.absorbed" = summary.absorbed,
                elapsed_ms = summary.elapsed_ms,
                "error.code" = summary.error_code.as_deref(),
                "invocation ended"
            )
        };
    }
    match summary.outcome {
        Outcome::Worked => line!(info),
        Outcome::Idle | Outcome::Busy | Outcome::Paused => line!(debug),
        Outcome::Late | Outcome::Outdated | Outcome::Unavailable | Outcome::Failed => line!(warn),
    }
}
