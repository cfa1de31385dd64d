//! What a handler is given.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tidemark_queue::Error;
use tidemark_queue::jobs::Fence;
use uuid::Uuid;

use crate::Database;
use crate::diagnostics::Diagnostics;

/// What a handler is given: the payload of its job, who it is, how much time is left, and a way to tell how it goes.
pub struct Context<Payload> {
    payload: Payload,
    job: JobInHand,
}

/// The part that does not depend on the payload.
#[derive(Clone)]
pub(crate) struct JobInHand {
    pub(crate) fence: Fence,
    pub(crate) max_attempts: i32,
    pub(crate) deadline: Instant,
    pub(crate) cancelled: Arc<AtomicBool>,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) database: Database,
}

impl Context<()> {
    pub(crate) fn new(job: JobInHand) -> Self {
        Self { payload: (), job }
    }

    pub(crate) fn with_payload<Payload>(self, payload: Payload) -> Context<Payload> {
        Context { payload, job: self.job }
    }
}

impl<Payload> Context<Payload> {
    /// What the job carries.
    #[must_use]
    pub fn payload(&self) -> &Payload {
        &self.payload
    }

    /// The job. The same for every attempt, so that it is the key by which repeated work is recognised.
    #[must_use]
    pub fn job_id(&self) -> Uuid {
        self.job.fence.job_id
    }

    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> i32 {
        self.job.fence.attempt
    }

    /// Whether the job is dead when this attempt fails.
    #[must_use]
    pub fn is_last_attempt(&self) -> bool {
        self.attempt() >= self.job.max_attempts
    }

    /// When the handler is cancelled.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.job.deadline
    }

    /// Time until then; zero when it has passed.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.deadline().saturating_duration_since(Instant::now())
    }

    /// Whether the handler is no longer wanted. Where it waits it is cancelled by itself; this is for threads of its own.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.job.cancelled.load(Ordering::Relaxed)
    }

    /// Stores how far the job is, at most 16 KiB of JSON. Operators see it, and the next attempt can read it
    /// ([`Database::progress_of`]).
    ///
    /// # Errors
    /// [`Error::Stale`] when the lease is lost: stop. Otherwise what the connection or the server says.
    pub async fn progress(&self, value: Value) -> Result<(), Error> {
        self.job.database.set_progress(self.job.fence, value).await
    }

    /// Notes that something failed that the job can do without. It ends up in `result.diagnostics` under `channel`, the name
    /// of what failed. `error` is shown to operators: no secrets, no personal data.
    pub fn diagnose(&self, channel: &str, error: impl Display) {
        self.job.diagnostics.add(channel, &error);
    }

    /// The database, as the worker role.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.job.database
    }
}
