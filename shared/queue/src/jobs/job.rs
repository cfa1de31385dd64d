//! Jobs as `public.jobs` shows them.

use jiff::Timestamp;
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::conflict::query;
use super::json::StoredJson;
use crate::Error;
use crate::statements::{JOB_FIND, JOB_GET};

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// 1: waits, for a worker or for its time.
    Pending,
    /// 2: a worker has it.
    Running,
    /// 3: finished.
    Done,
    /// 4: finished without success, for good.
    Dead,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Running, Self::Done, Self::Dead];

    /// Its number in `public.jobs`.
    #[must_use]
    pub fn number(self) -> i16 {
        match self {
            Self::Pending => 1,
            Self::Running => 2,
            Self::Done => 3,
            Self::Dead => 4,
        }
    }

    /// The status of this number; `None` where a newer database has more of them.
    #[must_use]
    pub fn of_number(number: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.number() == number)
    }

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }

    pub(super) fn from_number(number: i16) -> Result<Self, Error> {
        Self::of_number(number).ok_or_else(|| Error::Invalid("status is none of 1, 2, 3, 4".to_owned()))
    }
}

/// A job with everything known about it. All times are the database's.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The job.
    pub job_id: Uuid,
    /// Which handler it is for.
    pub job_type: i32,
    /// Where it stands.
    pub status: Status,
    /// A lower number comes first.
    pub priority: i32,
    /// What was enqueued.
    pub payload: StoredJson,
    /// What its handler gave back.
    pub result: Option<StoredJson>,
    /// What its handler told on the way.
    pub progress: Option<StoredJson>,
    /// Its dedupe key.
    pub dedupe_key: Option<String>,
    /// Attempts charged so far, the running one included.
    pub attempts: i32,
    /// Attempts that it has in all.
    pub max_attempts: i32,
    /// Who has it, or who ended it.
    pub worker_id: Option<Uuid>,
    /// End of its lease while it runs.
    pub lease_until: Option<Timestamp>,
    /// Not before this time, while it waits.
    pub run_after: Timestamp,
    /// When its last attempt was claimed.
    pub run_started_at: Option<Timestamp>,
    /// Text of its last failure; empty for none.
    pub last_error: String,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When it last moved.
    pub updated_at: Timestamp,
    /// Its group.
    pub group_key: Option<String>,
    /// Whether somebody asked to cancel it while it runs.
    pub cancel_requested: bool,
    /// Code of the failure of a dead job.
    pub error_code: Option<String>,
}

/// The job of this id.
///
/// # Errors
/// What the server says.
pub async fn get<C: GenericClient + Sync>(client: &C, job_id: Uuid) -> Result<Option<Job>, Error> {
    only(&query(client, JOB_GET, &[(&job_id, Type::UUID)]).await?)
}

/// The pending or running job of a dedupe key.
///
/// # Errors
/// What the server says.
pub async fn find_active<C: GenericClient + Sync>(client: &C, dedupe_key: &str) -> Result<Option<Job>, Error> {
    only(&query(client, JOB_FIND, &[(&dedupe_key, Type::TEXT), (&false, Type::BOOL)]).await?)
}

/// The newest job of a dedupe key, finished ones included.
///
/// # Errors
/// What the server says.
pub async fn find_latest<C: GenericClient + Sync>(client: &C, dedupe_key: &str) -> Result<Option<Job>, Error> {
    only(&query(client, JOB_FIND, &[(&dedupe_key, Type::TEXT), (&true, Type::BOOL)]).await?)
}

fn only(rows: &[Row]) -> Result<Option<Job>, Error> {
    rows.first().map(job).transpose()
}

fn job(row: &Row) -> Result<Job, Error> {
    let json = |name: &str| -> Result<Option<StoredJson>, Error> {
        Ok(row.try_get::<_, Option<String>>(name)?.map(StoredJson::new))
    };
    Ok(Job {
        job_id: row.try_get("job_id")?,
        job_type: row.try_get("job_type")?,
        status: Status::from_number(row.try_get("status")?)?,
        priority: row.try_get("priority")?,
        payload: StoredJson::new(row.try_get("payload")?),
        result: json("result")?,
        progress: json("progress")?,
        dedupe_key: row.try_get("dedupe_key")?,
        attempts: row.try_get("attempts")?,
        max_attempts: row.try_get("max_attempts")?,
        worker_id: row.try_get("worker_id")?,
        lease_until: row.try_get("lease_until")?,
        run_after: row.try_get("run_after")?,
        run_started_at: row.try_get("run_started_at")?,
        last_error: row.try_get("last_error")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
        group_key: row.try_get("group_key")?,
        cancel_requested: row.try_get("cancel_requested")?,
        error_code: row.try_get("error_code")?,
    })
}
