//! A general queue on a database of its own, driven through the typed calls.

use serde_json::{Value, json};
use tidemark_queue::jobs::{self, ClaimRequest, ClaimedJob, Job, NewJob, Status};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::Pipeline;

/// A type that no built-in handler has.
pub const JOB_TYPE: i32 = 1_000;

/// A migrated database, the superuser's connection and one worker's.
pub struct Queue {
    /// The database; the superuser's connection arranges and asserts.
    pub pipeline: Pipeline,
    /// A connection as the functions have it.
    pub worker: Client,
}

/// A job of [`JOB_TYPE`] without anything special.
#[must_use]
pub fn plain() -> NewJob {
    NewJob::new(JOB_TYPE, json!({}))
}

impl Queue {
    /// A fresh one.
    pub async fn new() -> Self {
        let pipeline = Pipeline::new().await;
        let worker = pipeline.database.worker().await;
        Self { pipeline, worker }
    }

    /// Enqueues a job that is not there yet.
    ///
    /// # Panics
    /// When it is refused, or an active job has its key.
    pub async fn enqueue(&self, job: NewJob) -> Uuid {
        let enqueued = jobs::enqueue(&self.worker, &job).await.expect("the job is accepted");
        assert!(enqueued.inserted, "an active job has the key");
        enqueued.job_id
    }

    /// Claims up to `limit` jobs of any type for a worker of their own.
    pub async fn claim(&self, limit: u32) -> Vec<ClaimedJob> {
        self.claim_with(ClaimRequest::new(Uuid::new_v4(), limit)).await
    }

    /// Claims.
    ///
    /// # Panics
    /// When the claim is refused.
    pub async fn claim_with(&self, request: ClaimRequest) -> Vec<ClaimedJob> {
        jobs::claim(&self.worker, &request).await.expect("the claim is accepted")
    }

    /// Claims one job.
    ///
    /// # Panics
    /// When there is none.
    pub async fn claim_one(&self) -> ClaimedJob {
        self.claim(1).await.pop().expect("a job can be claimed")
    }

    /// Ids of up to `limit` jobs, claimed one after the other by claims of one.
    pub async fn drained(&self, limit: usize) -> Vec<Uuid> {
        let mut ids = Vec::new();
        while ids.len() < limit {
            let Some(job) = self.claim(1).await.pop() else { break };
            ids.push(job.fence.job_id);
        }
        ids
    }

    /// The job as it is now.
    ///
    /// # Panics
    /// When there is no such job.
    pub async fn job(&self, job_id: Uuid) -> Job {
        jobs::get(&self.worker, job_id).await.expect("the job can be read").expect("there is such a job")
    }

    /// Where the job stands.
    pub async fn status(&self, job_id: Uuid) -> Status {
        self.job(job_id).await.status
    }

    /// Lets every lease be over, as if its time had passed.
    pub async fn expire_leases(&self) {
        self.pipeline
            .run("UPDATE tidemark.job_lease SET lease_until = clock_timestamp() - interval '1 second'", &[])
            .await;
    }

    /// Lets everything that waits for its time be due.
    pub async fn pass_delays(&self) {
        self.pipeline
            .run("UPDATE tidemark.job_scheduled SET due_at = least(due_at, clock_timestamp() - interval '1 millisecond')", &[])
            .await;
    }

    /// Lets a ready job have waited for so long.
    pub async fn let_wait(&self, job_id: Uuid, seconds: f64) {
        let statement = "UPDATE tidemark.job_ready SET waiting_since = clock_timestamp() - make_interval(secs => $2) WHERE job_id = $1";
        assert_eq!(self.pipeline.run(statement, &[&job_id, &seconds]).await, 1, "the job is ready");
    }

    /// One value asked by the superuser.
    pub async fn count(&self, query: &str) -> i64 {
        self.pipeline.one(query, &[]).await.get(0)
    }

    /// A payload that says which job it is.
    #[must_use]
    pub fn numbered(number: i32) -> Value {
        json!({ "number": number })
    }

    /// Fails the test where an invariant does not hold.
    pub async fn check_invariants(&self) {
        self.pipeline.check_invariants().await;
    }
}
