//! A database, a probe, and invocations of the work function.

use std::time::Duration;

use serde_json::{Value, json};
use tidemark_handlers::{Registry, work};
use tidemark_queue::jobs::{self, Job, NewJob, Status};
use tidemark_queue::{Connection, Invocation, Summary};
use tidemark_tests::{Pipeline, invocation};
use uuid::Uuid;

use crate::probe::{PROBE, Probe};

/// One test's queue and handlers.
pub(crate) struct Yard {
    pub(crate) pipeline: Pipeline,
    pub(crate) probe: Probe,
    pub(crate) registry: Registry,
}

impl Yard {
    pub(crate) async fn new() -> Self {
        let probe = Probe::new();
        let registry = Registry::new().register(PROBE, probe.clone());
        let pipeline = Pipeline::new().await;
        // The purge that is planned at first would be a job too many in each test.
        pipeline.run("UPDATE public.schedules SET enabled = false", &[]).await;
        Self { pipeline, probe, registry }
    }

    /// One invocation with ten minutes before it that does not linger.
    pub(crate) async fn work(&self) -> Summary {
        self.work_on(&mut self.pipeline.worker(), invocation()).await
    }

    pub(crate) async fn work_on(&self, connection: &mut Connection, invocation: Invocation) -> Summary {
        work::handle(connection, &invocation, &self.registry).await
    }

    /// Enqueues a job of the probe.
    pub(crate) async fn enqueue(&self, act: Value) -> Uuid {
        self.enqueue_job(NewJob::new(PROBE, act)).await
    }

    pub(crate) async fn enqueue_job(&self, job: NewJob) -> Uuid {
        jobs::enqueue(&self.pipeline.admin, &job).await.unwrap().job_id
    }

    /// Enqueues `number` jobs that wait until the probe is released.
    pub(crate) async fn enqueue_held(&self, number: usize) -> Vec<Uuid> {
        let new: Vec<NewJob> = (0..number).map(|_| NewJob::new(PROBE, json!("hold"))).collect();
        jobs::enqueue_many(&self.pipeline.admin, &new).await.unwrap().into_iter().map(|job| job.job_id).collect()
    }

    pub(crate) async fn job(&self, job_id: Uuid) -> Job {
        jobs::get(&self.pipeline.admin, job_id).await.unwrap().expect("the job is there")
    }

    pub(crate) async fn result(&self, job_id: Uuid) -> Option<Value> {
        self.job(job_id).await.result.map(|result| result.value().unwrap())
    }

    /// Status, attempts charged, and last error of a job.
    pub(crate) async fn state(&self, job_id: Uuid) -> (Status, i32, String) {
        let job = self.job(job_id).await;
        (job.status, job.attempts, job.last_error)
    }

    /// Lets the time of every lease run out.
    pub(crate) async fn expire_leases(&self) {
        self.pipeline
            .run("UPDATE tidemark.job_lease SET lease_until = clock_timestamp() - interval '1 second'", &[])
            .await;
    }

    /// Lets everything that is scheduled be due.
    pub(crate) async fn make_due(&self) {
        self.pipeline.run("UPDATE tidemark.job_scheduled SET due_at = clock_timestamp()", &[]).await;
    }

    /// How many open alerts of a kind there are, and how often they were raised in all.
    pub(crate) async fn open_alerts(&self, kind: &str) -> (i64, i64) {
        let query = "SELECT count(*), coalesce(sum(occurrences), 0)::bigint FROM public.alert_outbox WHERE kind = $1 AND resolved_at IS NULL";
        let row = self.pipeline.one(query, &[&kind]).await;
        (row.get(0), row.get(1))
    }

    pub(crate) async fn check_invariants(&self) {
        self.pipeline.check_invariants().await;
    }
}

/// An invocation that the platform ends after `time`.
pub(crate) fn invocation_of(time: Duration) -> Invocation {
    Invocation::begin(None, Some(time), Duration::ZERO)
}
