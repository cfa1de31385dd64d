//! One worker: its session, and how far it is with its run.

use tidemark_queue::Lease;
use tidemark_stats::Projections;
use tidemark_tests::Pipeline;
use tokio_postgres::Client;

/// How far a worker is. Where a transaction is open, the run's row is held.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    Idle,
    /// Taken into `computing`.
    ToCompute(Lease),
    /// Holds the run; its snapshot is taken.
    Holding(Lease),
    /// Has staged these figures and not committed.
    Staged(Lease, Box<Projections>),
    /// Taken into `publishing`.
    ToPublish(Lease),
    /// Has published and not committed; holds the user's state row as well.
    Published(Lease),
}

impl Stage {
    pub(crate) fn lease(&self) -> Option<Lease> {
        match self {
            Self::Idle => None,
            Self::ToCompute(lease)
            | Self::Holding(lease)
            | Self::Staged(lease, _)
            | Self::ToPublish(lease)
            | Self::Published(lease) => Some(*lease),
        }
    }

    /// Whether a transaction is open.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Holding(_) | Self::Staged(..) | Self::Published(_))
    }
}

/// A worker's session.
pub(crate) struct Worker {
    pub(crate) client: Client,
    pub(crate) backend: i32,
    pub(crate) stage: Stage,
}

impl Worker {
    pub(crate) async fn new(pipeline: &Pipeline) -> Self {
        let client = pipeline.database.worker().await;
        // A row that another worker holds is not waited for: nobody but this test could give it back.
        client.batch_execute("SET lock_timeout = '15ms'").await.unwrap();
        let backend = client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
        Self { client, backend, stage: Stage::Idle }
    }
}
