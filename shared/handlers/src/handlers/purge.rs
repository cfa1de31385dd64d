//! Deletes finished work past the retention, in small batches.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tidemark_queue::Error;
use tidemark_queue::step::Statement;
use tokio_postgres::types::Type;

use crate::statements::HISTORY_PURGE;
use crate::{Context, Database, End, Handler};

/// The type of its jobs.
pub const JOB_TYPE: i32 = 2;

/// Rows of each kind that one statement deletes: few enough that nobody waits for its locks.
const BATCH: i32 = 500;
/// How long one statement may take.
const STATEMENT_LIMIT: Duration = Duration::from_secs(3);
/// Kept for recording what was done: no batch begins with less time left.
const TIME_TO_END: Duration = Duration::from_secs(4);

/// Deletes finished jobs, runs, refresh jobs, resolved alerts and planned instants past `history_retention_days`; never
/// source rows, never projections.
///
/// The result counts what went: `{"jobs", "runs", "refresh_jobs", "alerts", "instants", "complete"}`. `complete` is false
/// where the time was up before everything was gone; the next purge goes on.
pub struct PurgeHandler;

/// Whatever the schedule says; nothing of it is used.
#[derive(Deserialize)]
pub struct AnyPayload {}

/// Rows deleted, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Purged {
    jobs: i64,
    runs: i64,
    refresh_jobs: i64,
    alerts: i64,
    instants: i64,
}

impl Handler for PurgeHandler {
    type Payload = AnyPayload;

    async fn handle(&self, context: &Context<AnyPayload>) -> End {
        let mut total = Purged::default();
        let time_to_end = TIME_TO_END.min(context.time_left() / 2);
        while context.time_left() > time_to_end {
            match purge(context.database()).await {
                Ok(purged) => {
                    total = total.plus(purged);
                    if purged.is_last() {
                        return End::Done(total.result(true));
                    }
                }
                Err(error) => return End::Failed(error.into()),
            }
        }
        End::Done(total.result(false))
    }
}

async fn purge(database: &Database) -> Result<Purged, Error> {
    let statement = Statement { text: HISTORY_PURGE, parameters: &[(&BATCH, Type::INT4)] };
    let rows = database.query(statement, STATEMENT_LIMIT).await?;
    let row = rows.first().ok_or_else(|| Error::Invalid("the database answered without a row".to_owned()))?;
    let count = |index: usize| -> Result<i64, Error> { Ok(i64::from(row.try_get::<_, i32>(index)?)) };
    Ok(Purged { jobs: count(0)?, runs: count(1)?, refresh_jobs: count(2)?, alerts: count(3)?, instants: count(4)? })
}

impl Purged {
    fn plus(self, more: Self) -> Self {
        Self {
            jobs: self.jobs + more.jobs,
            runs: self.runs + more.runs,
            refresh_jobs: self.refresh_jobs + more.refresh_jobs,
            alerts: self.alerts + more.alerts,
            instants: self.instants + more.instants,
        }
    }

    /// Whether nothing of any kind is left over.
    fn is_last(self) -> bool {
        [self.jobs, self.runs, self.refresh_jobs, self.alerts, self.instants]
            .iter()
            .all(|&rows| rows < i64::from(BATCH))
    }

    fn result(self, complete: bool) -> Value {
        json!({
            "jobs": self.jobs,
            "runs": self.runs,
            "refresh_jobs": self.refresh_jobs,
            "alerts": self.alerts,
            "instants": self.instants,
            "complete": complete,
        })
    }
}
