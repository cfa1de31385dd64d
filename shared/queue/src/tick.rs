//! Ending an invocation: how it went, for the status document.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::lease::SHORT_CALL_LIMIT;
use crate::statements::TICK_END;
use crate::{Connection, Function, Invocation, Outcome, Summary};

/// Completes the summary, which the caller logs, and, where something was done, notes the end in the database. Idle, paused and late invocations
/// have been noted by their one round trip already.
pub async fn end(connection: &mut Connection, function: Function, invocation: &Invocation, summary: &mut Summary) {
    let noteworthy = matches!(summary.outcome, Outcome::Worked | Outcome::Failed);
    if noteworthy && connection.is_open() {
        let noted = connection
            .run(SHORT_CALL_LIMIT, async |client: &mut Client| {
                let parameters = [(&function.as_str() as _, Type::TEXT), (&summary.outcome.as_str() as _, Type::TEXT)];
                client.query_typed(TICK_END, &parameters).await?;
                Ok(())
            })
            .await;
        if let Err(error) = noted {
            tracing::warn!(tick.function = %function, error.code = error.code(), "the end of the tick was not noted");
        }
    }
    summary.elapsed_ms = u64::try_from(invocation.started.elapsed().as_millis()).unwrap_or(u64::MAX);
}
