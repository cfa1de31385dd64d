//! Taking jobs back from workers that are gone.

use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::conflict::step;
use super::job::Status;
use crate::Error;
use crate::statements::JOBS_REAP;

/// A job whose worker was gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaped {
    /// The job.
    pub job_id: Uuid,
    /// Its type; the reaper needs to know none.
    pub job_type: i32,
    /// Pending, or dead with its attempts used up or because somebody had asked to cancel it.
    pub status: Status,
    /// Its last error; empty where it was not charged.
    pub last_error: String,
}

/// Takes back up to `limit` leases whose time is over: their jobs wait again at once, or are dead.
///
/// # Errors
/// What the server says.
pub async fn reap(client: &Client, limit: u32) -> Result<Vec<Reaped>, Error> {
    let limit = i32::try_from(limit).unwrap_or(i32::MAX);
    let rows = step(client, JOBS_REAP, &[(&limit, Type::INT4)]).await?;
    let mut reaped = Vec::with_capacity(rows.len());
    for row in &rows {
        reaped.push(Reaped {
            job_id: row.try_get(0)?,
            job_type: row.try_get(1)?,
            status: Status::from_number(row.try_get(2)?)?,
            last_error: row.try_get(3)?,
        });
    }
    Ok(reaped)
}
