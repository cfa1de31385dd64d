//! Cancelling jobs.

use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::conflict::query;
use crate::Error;
use crate::statements::JOB_CANCEL;
use crate::step::missing_row;

/// What a request to cancel answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// It was waiting and is dead now, as `cancelled`.
    Dead,
    /// It is running: its handler sees the request at its next renewal, and it is not retried.
    Requested,
    /// It had ended before.
    Finished,
    /// There is no such job.
    Unknown,
}

/// Cancels a job.
///
/// # Errors
/// What the server says.
pub async fn cancel<C: GenericClient + Sync>(client: &C, job_id: Uuid) -> Result<Cancelled, Error> {
    let rows = query(client, JOB_CANCEL, &[(&job_id, Type::UUID)]).await?;
    let answer: &str = rows.first().ok_or_else(missing_row)?.try_get(0)?;
    Ok(match answer {
        "dead" => Cancelled::Dead,
        "requested" => Cancelled::Requested,
        "finished" => Cancelled::Finished,
        _ => Cancelled::Unknown,
    })
}
