//! Enqueueing, inside the caller's own transaction or outside.

use serde_json::Value;
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::conflict::query;
use super::new_job::NewJob;
use crate::Error;
use crate::statements::{JOB_ENQUEUE, JOBS_ENQUEUE};
use crate::step::missing_row;

/// Most jobs in one call of [`enqueue_many`].
pub const ENQUEUE_LIMIT: usize = 10_000;
/// Most bytes that the payloads of one call of [`enqueue_many`] may have together.
pub const ENQUEUE_BYTES: usize = 64 * 1_048_576;

/// What became of a job to be enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueued {
    /// The new job; or the active job that has the same dedupe key.
    pub job_id: Uuid,
    /// Whether it is new. `false`: nothing was inserted, because an active job has the key.
    pub inserted: bool,
}

/// Enqueues a job. Inside a transaction it is there once that commits, and a second one with the same key waits for that.
///
/// # Errors
/// [`Error::Invalid`] where a limit is not kept: nothing was sent then. What the server says otherwise.
pub async fn enqueue<C: GenericClient + Sync>(client: &C, job: &NewJob) -> Result<Enqueued, Error> {
    job.check().map_err(|problem| Error::Invalid(format!("job.{problem}")))?;
    let delay_seconds = job.delay.as_secs_f64();
    let rows = query(
        client,
        JOB_ENQUEUE,
        &[
            (&job.job_type, Type::INT4),
            (&job.payload, Type::JSONB),
            (&job.dedupe_key, Type::TEXT),
            (&job.priority, Type::INT4),
            (&delay_seconds, Type::FLOAT8),
            (&job.max_attempts, Type::INT4),
            (&job.group_key, Type::TEXT),
        ],
    )
    .await?;
    let row = rows.first().ok_or_else(missing_row)?;
    Ok(Enqueued { job_id: row.try_get(0)?, inserted: row.try_get(1)? })
}

/// Enqueues jobs in one statement: all or none. Each is answered on its own, in the order given; of several with one key the first
/// is inserted and the others name it.
///
/// # Errors
/// [`Error::Invalid`] naming the first job that does not keep a limit (`jobs[17].payload …`), or where there are too many: nothing
/// was sent then. What the server says otherwise.
pub async fn enqueue_many<C: GenericClient + Sync>(client: &C, jobs: &[NewJob]) -> Result<Vec<Enqueued>, Error> {
    check(jobs)?;
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let job_types: Vec<i32> = jobs.iter().map(|job| job.job_type).collect();
    let payloads: Vec<&Value> = jobs.iter().map(|job| &job.payload).collect();
    let dedupe_keys: Vec<Option<&str>> = jobs.iter().map(|job| job.dedupe_key.as_deref()).collect();
    let priorities: Vec<i32> = jobs.iter().map(|job| job.priority).collect();
    let delays: Vec<f64> = jobs.iter().map(|job| job.delay.as_secs_f64()).collect();
    let max_attempts: Vec<i32> = jobs.iter().map(|job| job.max_attempts).collect();
    let group_keys: Vec<Option<&str>> = jobs.iter().map(|job| job.group_key.as_deref()).collect();
    let rows = query(
        client,
        JOBS_ENQUEUE,
        &[
            (&job_types, Type::INT4_ARRAY),
            (&payloads, Type::JSONB_ARRAY),
            (&dedupe_keys, Type::TEXT_ARRAY),
            (&priorities, Type::INT4_ARRAY),
            (&delays, Type::FLOAT8_ARRAY),
            (&max_attempts, Type::INT4_ARRAY),
            (&group_keys, Type::TEXT_ARRAY),
        ],
    )
    .await?;
    let mut enqueued = Vec::with_capacity(rows.len());
    for row in &rows {
        enqueued.push(Enqueued { job_id: row.try_get(0)?, inserted: row.try_get(1)? });
    }
    if enqueued.len() == jobs.len() { Ok(enqueued) } else { Err(missing_row()) }
}

fn check(jobs: &[NewJob]) -> Result<(), Error> {
    if jobs.len() > ENQUEUE_LIMIT {
        return Err(Error::Invalid(format!("jobs must be at most {ENQUEUE_LIMIT} at once; enqueue them in parts")));
    }
    let mut bytes = 0;
    for (place, job) in jobs.iter().enumerate() {
        bytes += job.check().map_err(|problem| Error::Invalid(format!("jobs[{place}].{problem}")))?;
    }
    if bytes > ENQUEUE_BYTES {
        return Err(Error::Invalid(format!(
            "jobs must have at most {ENQUEUE_BYTES} bytes of payload together; enqueue them in parts"
        )));
    }
    Ok(())
}
