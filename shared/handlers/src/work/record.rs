//! Recording how jobs ended.

use std::time::{Duration, Instant};

use tidemark_queue::jobs::{self, Ended, Ending};
use tidemark_queue::lease::SHORT_CALL_LIMIT;
use tidemark_queue::{Connection, Error, Invocation, Pace};
use tokio_postgres::Client;
use uuid::Uuid;

/// How long an end is tried to be recorded while the database is busy or away. What cannot be recorded is done again by
/// somebody else, so that a short failover is waited for.
const TRIED_FOR: Duration = Duration::from_secs(5);

/// Kept of the invocation's last moments, so that it returns before the platform ends it.
const LEFT_OVER: Duration = Duration::from_millis(300);

/// Records `endings` and that the handlers of `begin` begin now, in one round trip. Answers in the order given.
///
/// # Errors
/// When it could not be recorded. What was not ended comes back with its lease.
pub(super) async fn record(
    connection: &mut Connection,
    invocation: &Invocation,
    endings: &[Ending],
    begin: &[Uuid],
) -> Result<Vec<Ended>, Error> {
    let give_up_at = give_up_at(invocation);
    let mut pace = Pace::new();
    loop {
        let limit = SHORT_CALL_LIMIT.min(give_up_at.saturating_duration_since(Instant::now()));
        let answered = connection
            .run(limit, async |client: &mut Client| jobs::end(client, invocation.worker_id, endings, begin).await)
            .await;
        match answered {
            Err(error) if passes(&error) && Instant::now() < give_up_at => {
                tracing::warn!(error.code = error.code(), "the ends of jobs could not be recorded yet: {error}");
                pace.wait().await;
            }
            other => return other,
        }
    }
}

fn give_up_at(invocation: &Invocation) -> Instant {
    let latest = Instant::now() + TRIED_FOR;
    match invocation.deadline.and_then(|deadline| deadline.checked_sub(LEFT_OVER)) {
        Some(deadline) => latest.min(deadline),
        None => latest,
    }
}

/// Whether the same may succeed a moment later.
fn passes(error: &Error) -> bool {
    match error {
        Error::Contended { .. } | Error::Unavailable { .. } | Error::Unknown => true,
        Error::Database { code, .. } => code == "57014",
        _ => false,
    }
}
