//! Giving dead jobs another life.

use std::collections::HashMap;

use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::conflict::query;
use crate::Error;
use crate::statements::JOBS_REQUEUE;
use crate::step::missing_row;

/// What became of a dead job that was to be requeued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeued {
    /// It waits again, with all its attempts.
    Pending,
    /// An active job has its dedupe key; it stays dead.
    Twin {
        /// That job.
        active: Uuid,
    },
    /// It is pending, running or done, or there is no such job.
    NotDead,
}

/// Requeues dead jobs, each on its own, and answers in the order given.
///
/// # Errors
/// What the server says.
pub async fn requeue<C: GenericClient + Sync>(client: &C, job_ids: &[Uuid]) -> Result<Vec<Requeued>, Error> {
    let rows = query(client, JOBS_REQUEUE, &[(&job_ids, Type::UUID_ARRAY)]).await?;
    let mut answers = HashMap::with_capacity(rows.len());
    for row in &rows {
        let job_id: Uuid = row.try_get(0)?;
        let outcome: &str = row.try_get(1)?;
        let answer = match outcome {
            "pending" => Requeued::Pending,
            "twin" => Requeued::Twin { active: row.try_get(2)? },
            _ => Requeued::NotDead,
        };
        answers.insert(job_id, answer);
    }
    job_ids.iter().map(|job_id| answers.get(job_id).copied().ok_or_else(missing_row)).collect()
}
