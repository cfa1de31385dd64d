//! A function for the tests of this crate: does what the variable `PROBE` says and tells what it was given.

use std::process::ExitCode;
use std::time::Duration;

use tidemark_queue::{Connection, Error, Invocation, Outcome, Summary};

/// Longest query of the probe.
const QUERY_LIMIT: Duration = Duration::from_secs(2);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    tidemark_runtime::init_logging();
    tidemark_runtime::serve("probe", tidemark_runtime::LINGER, probe).await
}

/// `succeeded` is the server's process number after a query, `recovered` 1 if the planned instant is known, `absorbed`
/// the remaining time in milliseconds, where known.
async fn probe(connection: &mut Connection, invocation: &Invocation) -> Summary {
    let mut summary = Summary::new("probe");
    summary.recovered = u64::from(invocation.planned_at.is_some());
    summary.absorbed = invocation.remaining().map_or(0, |left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
    match std::env::var("PROBE").unwrap_or_default().as_str() {
        "panic" => {
            let row = std::env::var("PROBE_ROW").unwrap_or_default();
            panic!("the row is {row}");
        }
        "hang" => {
            tracing::info!("hanging");
            std::future::pending::<()>().await;
        }
        "wait" => {
            tracing::info!("waiting");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        "query" => query(connection, &mut summary).await,
        _ => (),
    }
    summary
}

async fn query(connection: &mut Connection, summary: &mut Summary) {
    let outcome = connection
        .run(QUERY_LIMIT, async |client| {
            let parameter = std::env::var("PROBE_ROW").unwrap_or_default();
            let statement = "select pg_catalog.pg_backend_pid() where $1::text is not null";
            let row = client.query_one(statement, &[&parameter]).await.map_err(Error::from)?;
            row.try_get::<_, i32>(0).map_err(Error::from)
        })
        .await;
    match outcome {
        Ok(process) => {
            summary.outcome = Outcome::Worked;
            summary.succeeded = u64::from(process.unsigned_abs());
        }
        Err(error) => {
            summary.outcome = Outcome::Unavailable;
            summary.error_code = Some(error.code().to_owned());
        }
    }
}
