//! Renews leases while handlers work, on a connection and a task of its own.

use std::time::{Duration, Instant};

use tidemark_queue::jobs::{Fence, Renewal, renew_lease};
use tidemark_queue::lease::SHORT_CALL_LIMIT;
use tidemark_queue::{Connection, Error};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::Client;
use uuid::Uuid;

use super::held::Held;

/// What the heartbeat found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// A renewal failed. It is tried again, but this is no worker to be given more work.
    Failing,
    /// These leases are over, or may be before a renewal can succeed: stop, and write nothing.
    Lost(Vec<Uuid>),
    /// Somebody asked to cancel these jobs.
    CancelRequested(Vec<Uuid>),
}

/// The task that renews; it ends with this value.
pub(super) struct Heartbeat {
    beats: mpsc::UnboundedReceiver<Beat>,
    task: JoinHandle<()>,
}

/// The task's own part.
struct Renewing {
    connection: Connection,
    worker_id: Uuid,
    lease: Duration,
    held: Held,
    beats: mpsc::UnboundedSender<Beat>,
}

impl Heartbeat {
    /// Begins to renew what is `held`, each lease to `lease` from the time of its renewal.
    pub(super) fn start(connection: Connection, worker_id: Uuid, lease: Duration, held: Held) -> Self {
        let (sender, beats) = mpsc::unbounded_channel();
        let renewing = Renewing { connection, worker_id, lease, held, beats: sender };
        Self { beats, task: tokio::spawn(renewing.run()) }
    }

    /// The next thing it finds; `None` when it has ended.
    pub(super) async fn next(&mut self) -> Option<Beat> {
        self.beats.recv().await
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Renewing {
    async fn run(mut self) {
        // A lease is claimed between two beats, so that none goes longer than a third of its length without one.
        let mut wait = self.lease / 3;
        loop {
            tokio::time::sleep(wait).await;
            let fences = self.held.fences();
            wait = if fences.is_empty() || self.beat(&fences).await { self.lease / 3 } else { self.lease / 12 };
        }
    }

    /// Renews once. Says whether the database answered.
    async fn beat(&mut self, fences: &[Fence]) -> bool {
        let asked = Instant::now();
        let (worker_id, lease) = (self.worker_id, self.lease);
        let limit = SHORT_CALL_LIMIT.min(lease / 6);
        let renewed = self
            .connection
            .run(limit, async |client: &mut Client| renew_lease(client, worker_id, fences, Some(lease)).await)
            .await;
        match renewed {
            Ok(renewals) => {
                self.sort(fences, &renewals, asked);
                true
            }
            Err(error) => {
                self.fail(&error);
                false
            }
        }
    }

    fn sort(&self, fences: &[Fence], renewals: &[Renewal], asked: Instant) {
        let (mut lost, mut cancelled) = (Vec::new(), Vec::new());
        for (fence, renewal) in fences.iter().zip(renewals) {
            match renewal {
                Renewal::Until { cancel_requested, .. } => {
                    self.held.renewed(fence.job_id, asked);
                    cancelled.extend(cancel_requested.then_some(fence.job_id));
                }
                Renewal::Lost => lost.push(fence.job_id),
            }
        }
        if !lost.is_empty() {
            self.tell(Beat::Lost(lost));
        }
        if !cancelled.is_empty() {
            self.tell(Beat::CancelRequested(cancelled));
        }
    }

    /// With two thirds of a lease gone the rest is left to the handlers' end: by the time somebody else can have their jobs
    /// they have stopped.
    fn fail(&self, error: &Error) {
        tracing::warn!(error.code = error.code(), "leases could not be renewed: {error}");
        self.tell(Beat::Failing);
        let lost = self.held.take_older(self.lease * 2 / 3, Instant::now());
        if !lost.is_empty() {
            self.tell(Beat::Lost(lost));
        }
    }

    fn tell(&self, beat: Beat) {
        // Nobody listens any more when the shift is over, which ends this task as well.
        let _over = self.beats.send(beat);
    }
}
