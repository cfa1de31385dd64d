//! Workers of one contender: each has a connection, claims a batch, ends it, and goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use super::arena::Arena;
use super::rate::Rate;
use super::system::{Parameters, System};

/// The server plans a statement anew five times before it keeps a plan.
const WARM_UP_JOBS: u32 = 8;
/// Claims in a row that find nothing, because others hold what is there, before the queue counts as too short.
const EMPTY_CLAIMS: u32 = 1_000;

/// When a crew stops.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until {
    /// This many jobs are ended.
    Ended(u32),
    /// This time has passed.
    Passed(Duration),
}

/// The workers, connected and prepared.
pub(super) struct Crew<'a> {
    arena: Arena<'a>,
    workers: Vec<Arc<Worker>>,
}

struct Worker {
    id: Uuid,
    client: Client,
    claim: Statement,
    complete: Statement,
    system: System,
}

impl<'a> Crew<'a> {
    /// Connects `number` workers to the arena's copy. Each works a few single jobs first, so that what a session does once (reading the
    /// catalogue, planning) is not measured of anybody.
    pub(super) async fn new(arena: Arena<'a>, system: &System, number: usize) -> anyhow::Result<Self> {
        let mut workers = Vec::new();
        for _worker in 0..number {
            let client = arena.connect().await?;
            let (claim, complete) = (client.prepare(system.claim).await?, client.prepare(system.complete).await?);
            let worker = Worker { id: Uuid::new_v4(), client, claim, complete, system: *system };
            for _job in 0..WARM_UP_JOBS {
                worker.step(1).await?;
            }
            workers.push(Arc::new(worker));
        }
        Ok(Self { arena, workers })
    }

    /// Claims and ends batches of `batch` jobs, all workers at once.
    ///
    /// # Errors
    /// What the server says; a worker that finds nothing again and again, because then the queue was too short for the measurement.
    pub(super) async fn work(&self, batch: i32, until: Until) -> anyhow::Result<Rate> {
        let wal_before = self.arena.wal_bytes().await?;
        let ended = Arc::new(AtomicU32::new(0));
        let began = Instant::now();
        let mut tasks = JoinSet::new();
        for worker in &self.workers {
            let (worker, ended) = (Arc::clone(worker), Arc::clone(&ended));
            tasks.spawn(async move {
                let mut empty = 0;
                loop {
                    let over = match until {
                        Until::Ended(jobs) => ended.load(Ordering::Relaxed) >= jobs,
                        Until::Passed(limit) => began.elapsed() >= limit,
                    };
                    if over {
                        return anyhow::Ok(());
                    }
                    let jobs = worker.step(batch).await?;
                    empty = if jobs == 0 { empty + 1 } else { 0 };
                    anyhow::ensure!(empty < EMPTY_CLAIMS, "the queue of {} ran empty", worker.system.name);
                    ended.fetch_add(jobs, Ordering::Relaxed);
                }
            });
        }
        while let Some(task) = tasks.join_next().await {
            task??;
        }
        let elapsed = began.elapsed();
        let wal_bytes = self.arena.wal_bytes().await? - wal_before;
        Ok(Rate { jobs: ended.load(Ordering::Relaxed), elapsed, wal_bytes })
    }
}

impl Worker {
    /// Claims one batch and ends it. Returns how many jobs that were; others may hold all that it could have.
    async fn step(&self, batch: i32) -> anyhow::Result<u32> {
        let claimed =
            self.client.query(&self.claim, &borrowed(&(self.system.claim_parameters)(self.id, batch))).await?;
        if claimed.is_empty() {
            return Ok(0);
        }
        let parameters = (self.system.complete_parameters)(self.id, &claimed);
        let ended = self.client.query(&self.complete, &borrowed(&parameters)).await?;
        anyhow::ensure!(ended.len() == claimed.len(), "{} ended fewer jobs than it claimed", self.system.name);
        Ok(u32::try_from(ended.len())?)
    }
}

/// The parameters as the client takes them.
pub(super) fn borrowed(parameters: &Parameters) -> Vec<&(dyn ToSql + Sync)> {
    parameters.iter().map(|parameter| parameter.as_ref() as &(dyn ToSql + Sync)).collect()
}
