//! The leases that an invocation holds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidemark_queue::jobs::Fence;
use uuid::Uuid;

/// The jobs whose leases an invocation holds, and when each was last known to be alive. Shared between the shift, which
/// claims and ends, and the heartbeat, which renews.
#[derive(Clone, Default)]
pub(super) struct Held(Arc<Mutex<HashMap<Uuid, HeldJob>>>);

#[derive(Clone, Copy)]
struct HeldJob {
    fence: Fence,
    /// Before the request was sent that made or renewed the lease: it lives for at least its length from here.
    renewed_at: Instant,
}

impl Held {
    pub(super) fn add(&self, fences: impl IntoIterator<Item = Fence>, renewed_at: Instant) {
        self.jobs().extend(fences.into_iter().map(|fence| (fence.job_id, HeldJob { fence, renewed_at })));
    }

    pub(super) fn remove(&self, job_id: Uuid) {
        self.jobs().remove(&job_id);
    }

    pub(super) fn fences(&self) -> Vec<Fence> {
        self.jobs().values().map(|job| job.fence).collect()
    }

    pub(super) fn renewed(&self, job_id: Uuid, renewed_at: Instant) {
        if let Some(job) = self.jobs().get_mut(&job_id) {
            job.renewed_at = renewed_at;
        }
    }

    /// Jobs that were last renewed before `instant`, removed.
    pub(super) fn take_older(&self, age: Duration, now: Instant) -> Vec<Uuid> {
        let mut jobs = self.jobs();
        let is_old = |job: &HeldJob| now.saturating_duration_since(job.renewed_at) >= age;
        let old: Vec<Uuid> = jobs.iter().filter(|(_id, job)| is_old(job)).map(|(id, _job)| *id).collect();
        jobs.retain(|_id, job| !is_old(job));
        old
    }

    /// A map is whole after every change, so a panic elsewhere does not spoil it.
    fn jobs(&self) -> MutexGuard<'_, HashMap<Uuid, HeldJob>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
