//! What an operator looks at first.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_postgres::GenericClient;

use super::conflict::query;
use crate::Error;
use crate::statements::JOBS_OPS;
use crate::step::missing_row;

/// How many jobs there are by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Waiting, for a worker or for their time.
    pub pending: u64,
    /// Held by workers.
    pub running: u64,
    /// Finished, within the retention.
    pub done: u64,
    /// Finished without success, within the retention.
    pub dead: u64,
    /// Whether the counts are exact; above 100,000 they are the planner's estimates.
    pub exact: bool,
}

/// The queue at a glance. Ages are in seconds by the database's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ops {
    /// By status.
    #[serde(flatten)]
    pub counts: Counts,
    /// Of the pending ones, those that wait for their time or to be sorted into their group.
    pub scheduled: u64,
    /// How long the longest waiting due job has waited.
    pub oldest_pending_seconds: u64,
    /// Jobs that died within the last hour.
    pub dead_last_hour: u64,
    /// Jobs recorded as over their deadline within the last hour.
    pub deadline_exceeded_last_hour: u64,
    /// Jobs whose lease is over, or that have been running for more than ten minutes although renewed.
    pub stuck: u64,
    /// Leases that are alive; one lease holds the jobs of one claim.
    pub leases: u64,
    /// Leases that are over and not yet taken back.
    pub expired_unrecovered: u64,
}

/// The queue at a glance, at a cost that does not grow with its depth.
///
/// # Errors
/// What the server says.
pub async fn ops<C: GenericClient + Sync>(client: &C) -> Result<Ops, Error> {
    let rows = query(client, JOBS_OPS, &[]).await?;
    let document: Value = rows.first().ok_or_else(missing_row)?.try_get(0)?;
    serde_json::from_value(document)
        .map_err(|_error| Error::Invalid("the database's figures about jobs are not those of this build".to_owned()))
}

/// How many jobs there are by status.
///
/// # Errors
/// What the server says.
pub async fn counts<C: GenericClient + Sync>(client: &C) -> Result<Counts, Error> {
    Ok(ops(client).await?.counts)
}
