//! The handlers that run.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_util::future::BoxFuture;
use tidemark_queue::jobs::Fence;
use tokio::task::{AbortHandle, Id, JoinSet};
use uuid::Uuid;

use crate::End;
use crate::diagnostics::Diagnostics;

/// Handlers that run side by side in one invocation. They wait for receivers on the network most of their time: eight keep
/// one slow receiver from holding up the rest, and eight payloads and answers of the largest size fit into the smallest
/// function.
pub const CONCURRENCY: usize = 8;

/// A handler that runs.
pub(super) struct Running {
    pub(super) fence: Fence,
    pub(super) job_type: i32,
    /// Runs alone, because it is suspected of having killed its worker.
    pub(super) alone: bool,
    /// When it is cancelled.
    pub(super) deadline: Instant,
    pub(super) cancelled: Arc<AtomicBool>,
    pub(super) diagnostics: Diagnostics,
}

/// How a handler's task ended by itself.
pub(super) enum Finished {
    /// The handler returned.
    With(End),
    /// It panicked; its message can hold anything and is not looked at.
    Panicked,
}

/// The handlers that run. Whoever is dismissed may go on until its next `await` and is not waited for.
#[derive(Default)]
pub(super) struct Crew {
    tasks: JoinSet<End>,
    running: HashMap<Id, (Running, AbortHandle)>,
}

impl Crew {
    pub(super) fn start(&mut self, running: Running, work: BoxFuture<'static, End>) {
        let handle = self.tasks.spawn(work);
        self.running.insert(handle.id(), (running, handle));
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Places for more handlers.
    pub(super) fn free(&self) -> usize {
        if self.running.values().any(|(running, _handle)| running.alone) {
            return 0;
        }
        CONCURRENCY.saturating_sub(self.len())
    }

    /// Waits until a handler ends by itself; `None` where nothing runs. Nothing is lost when the wait is given up.
    pub(super) async fn next(&mut self) -> Option<(Running, Finished)> {
        loop {
            let joined = self.tasks.join_next_with_id().await?;
            if let Some(found) = self.leave(joined) {
                return Some(found);
            }
        }
    }

    /// The next handler that has ended already.
    pub(super) fn next_now(&mut self) -> Option<(Running, Finished)> {
        loop {
            let joined = self.tasks.try_join_next_with_id()?;
            if let Some(found) = self.leave(joined) {
                return Some(found);
            }
        }
    }

    /// `None` for one that was dismissed.
    fn leave(&mut self, joined: Result<(Id, End), tokio::task::JoinError>) -> Option<(Running, Finished)> {
        let (id, finished) = match joined {
            Ok((id, end)) => (id, Finished::With(end)),
            Err(error) => (error.id(), Finished::Panicked),
        };
        self.running.remove(&id).map(|(running, _handle)| (running, finished))
    }

    /// When the first handler is over its time.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.running.values().map(|(running, _handle)| running.deadline).min()
    }

    /// Cancels the handlers that are over their time.
    pub(super) fn dismiss_overdue(&mut self, now: Instant) -> Vec<Running> {
        self.dismiss(|running| running.deadline <= now)
    }

    /// Cancels the handler of one job, if it runs.
    pub(super) fn dismiss_job(&mut self, job_id: Uuid) -> Option<Running> {
        self.dismiss(|running| running.fence.job_id == job_id).pop()
    }

    fn dismiss(&mut self, leaves: impl Fn(&Running) -> bool) -> Vec<Running> {
        let (left, kept) = self.running.drain().partition::<HashMap<_, _>, _>(|(_id, (running, _))| leaves(running));
        self.running = kept;
        left.into_values()
            .map(|(running, handle)| {
                running.cancelled.store(true, Ordering::Relaxed);
                handle.abort();
                running
            })
            .collect()
    }
}

/// Tasks are aborted with their set; threads of their own have to be told.
impl Drop for Crew {
    fn drop(&mut self) {
        self.dismiss(|_running| true);
    }
}
