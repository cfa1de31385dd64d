//! Claiming jobs.

use std::time::Duration;

use jiff::Timestamp;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use super::conflict::{is_conflict, step};
use super::fence::Fence;
use super::json::StoredJson;
use crate::Error;
use crate::statements::JOBS_CLAIM;

/// Most jobs in one claim.
pub const CLAIM_LIMIT: u32 = 1_000;
/// Shortest lease.
pub const LEASE_MIN: Duration = Duration::from_millis(100);
/// Longest lease.
pub const LEASE_MAX: Duration = Duration::from_secs(3_600);

/// What a worker asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimRequest {
    /// Minted for this invocation.
    pub worker_id: Uuid,
    /// Most jobs to claim, 1 to [`CLAIM_LIMIT`].
    pub limit: u32,
    /// Only jobs of these types; `None` for any.
    pub job_types: Option<Vec<i32>>,
    /// How long the lease lives, [`LEASE_MIN`] to [`LEASE_MAX`]; `None` for what the settings row says.
    pub lease: Option<Duration>,
    /// The worker tells which handlers it begins, and begins the first so many of the answer at once. Only what had begun can be
    /// blamed for the death of the worker; with `None` everything claimed is.
    pub start: Option<u32>,
}

impl ClaimRequest {
    /// Up to `limit` jobs of any type for `worker_id`, with the settings' lease, all of them begun.
    #[must_use]
    pub fn new(worker_id: Uuid, limit: u32) -> Self {
        Self { worker_id, limit, job_types: None, lease: None, start: None }
    }
}

/// A job that this worker may run now.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedJob {
    /// To be named in every write on its behalf.
    pub fence: Fence,
    /// Which handler it is for.
    pub job_type: i32,
    /// Its priority.
    pub priority: i32,
    /// How many attempts it has in all; the fence tells which one this is.
    pub max_attempts: i32,
    /// What was enqueued.
    pub payload: StoredJson,
    /// Its dedupe key.
    pub dedupe_key: Option<String>,
    /// Its group.
    pub group_key: Option<String>,
    /// When it was enqueued, by the database's clock.
    pub created_at: Timestamp,
    /// When the lease ends, by the database's clock; the renewal moves it.
    pub lease_until: Timestamp,
    /// It was running when a worker died that ran others too. It comes alone.
    pub suspect: bool,
}

/// Claims jobs: takes them, charges the attempt and mints one lease for all of them, in one round trip. Best priority first (waiting
/// improves it), then oldest.
///
/// A claim that crossed another transaction twice (40001) is an empty one.
///
/// # Errors
/// [`Error::Invalid`] where the request does not keep a limit; [`Error::Unknown`] where the answer was lost: what was claimed then
/// comes back with its lease.
pub async fn claim(client: &Client, request: &ClaimRequest) -> Result<Vec<ClaimedJob>, Error> {
    if !(1..=CLAIM_LIMIT).contains(&request.limit) {
        return Err(Error::Invalid(format!("limit must be from 1 to {CLAIM_LIMIT}")));
    }
    let lease_seconds = lease_seconds(request.lease)?;
    let limit = i32::try_from(request.limit).unwrap_or(i32::MAX);
    let start = request.start.map(|number| i32::try_from(number).unwrap_or(i32::MAX));
    let answer = step(
        client,
        JOBS_CLAIM,
        &[
            (&request.worker_id, Type::UUID),
            (&limit, Type::INT4),
            (&request.job_types, Type::INT4_ARRAY),
            (&lease_seconds, Type::FLOAT8),
            (&start, Type::INT4),
        ],
    )
    .await;
    match answer {
        Ok(rows) => rows.iter().map(|row| claimed(row, request.worker_id)).collect(),
        Err(error) if is_conflict(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// A lease's length for the server.
pub(super) fn lease_seconds(lease: Option<Duration>) -> Result<Option<f64>, Error> {
    match lease {
        Some(lease) if !(LEASE_MIN..=LEASE_MAX).contains(&lease) => {
            Err(Error::Invalid("lease must be from 0.1 to 3600 seconds".to_owned()))
        }
        lease => Ok(lease.map(|lease| lease.as_secs_f64())),
    }
}

fn claimed(row: &Row, worker_id: Uuid) -> Result<ClaimedJob, Error> {
    Ok(ClaimedJob {
        fence: Fence { lease_id: row.try_get(0)?, job_id: row.try_get(2)?, attempt: row.try_get(5)?, worker_id },
        lease_until: row.try_get(1)?,
        job_type: row.try_get(3)?,
        priority: row.try_get(4)?,
        max_attempts: row.try_get(6)?,
        dedupe_key: row.try_get(7)?,
        group_key: row.try_get(8)?,
        payload: StoredJson::new(row.try_get(9)?),
        created_at: row.try_get(10)?,
        suspect: row.try_get(11)?,
    })
}
