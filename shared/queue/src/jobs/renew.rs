//! What a worker tells while it works.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::claim::lease_seconds;
use super::conflict::step;
use super::fence::Fence;
use super::json;
use crate::Error;
use crate::statements::{JOB_PROGRESS, JOBS_RENEW, JOBS_START};
use crate::step::missing_row;

/// Longest progress, in bytes of its text.
pub const PROGRESS_BYTES: usize = 16_384;

/// What the renewal of a job's lease answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// The lease lives.
    Until {
        /// Its new end, by the database's clock.
        lease_until: Timestamp,
        /// Somebody asked to cancel the job: its handler should stop and end it.
        cancel_requested: bool,
    },
    /// The lease is over, and the job may be somebody else's: stop, and write nothing.
    Lost,
}

/// Renews the leases of `worker_id` that hold these jobs while they are alive, to `lease` from now, or to as long as they were claimed
/// for. Jobs of one claim share a lease: naming one renews it for all of them. Answers in the order given.
///
/// # Errors
/// [`Error::Invalid`] where `lease` does not keep its limits; what the server says.
pub async fn renew_lease(
    client: &Client,
    worker_id: Uuid,
    fences: &[Fence],
    lease: Option<Duration>,
) -> Result<Vec<Renewal>, Error> {
    let lease_seconds = lease_seconds(lease)?;
    if fences.is_empty() {
        return Ok(Vec::new());
    }
    let lease_ids: Vec<i64> = fences.iter().map(|fence| fence.lease_id).collect();
    let job_ids: Vec<Uuid> = fences.iter().map(|fence| fence.job_id).collect();
    let attempts: Vec<i32> = fences.iter().map(|fence| fence.attempt).collect();
    let rows = step(
        client,
        JOBS_RENEW,
        &[
            (&worker_id, Type::UUID),
            (&lease_ids, Type::INT8_ARRAY),
            (&job_ids, Type::UUID_ARRAY),
            (&attempts, Type::INT4_ARRAY),
            (&lease_seconds, Type::FLOAT8),
        ],
    )
    .await?;
    let mut renewals = Vec::with_capacity(rows.len());
    for row in &rows {
        let lease_until: Option<Timestamp> = row.try_get(0)?;
        let cancel_requested = row.try_get(1)?;
        renewals
            .push(lease_until.map_or(Renewal::Lost, |lease_until| Renewal::Until { lease_until, cancel_requested }));
    }
    if renewals.len() == fences.len() { Ok(renewals) } else { Err(missing_row()) }
}

/// Stores how far a running job has come. `false`: the lease is over, nothing was stored.
///
/// # Errors
/// [`Error::Invalid`] where the progress cannot be stored or is longer than [`PROGRESS_BYTES`]; what the server says.
pub async fn set_progress(client: &Client, fence: &Fence, progress: &Value) -> Result<bool, Error> {
    json::measure(progress, PROGRESS_BYTES).map_err(|problem| Error::Invalid(format!("progress {problem}")))?;
    let rows = step(
        client,
        JOB_PROGRESS,
        &[
            (&fence.worker_id, Type::UUID),
            (&fence.job_id, Type::UUID),
            (&fence.attempt, Type::INT4),
            (progress, Type::JSONB),
            (&fence.lease_id, Type::INT8),
        ],
    )
    .await?;
    Ok(rows.first().ok_or_else(missing_row)?.try_get(0)?)
}

/// Tells that handlers of these jobs begin, where the claim said that it would be told.
///
/// # Errors
/// What the server says.
pub async fn start(client: &Client, worker_id: Uuid, job_ids: &[Uuid]) -> Result<(), Error> {
    step(client, JOBS_START, &[(&worker_id, Type::UUID), (&job_ids, Type::UUID_ARRAY)]).await?;
    Ok(())
}
