//! Jobs that are claimed and have not begun.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tidemark_queue::jobs::ClaimedJob;
use uuid::Uuid;

/// How long a claimed job waits for a place before it is given back. One tick: by then somebody else can have it.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Jobs that are claimed and have not begun, in the order in which they are to begin.
#[derive(Default)]
pub(super) struct Waiting(VecDeque<(Instant, ClaimedJob)>);

impl Waiting {
    pub(super) fn push(&mut self, job: ClaimedJob) {
        self.0.push_back((Instant::now(), job));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out what may begin beside `running` handlers while `free` places are free. A job that is suspected of having
    /// killed its worker begins only when nothing else runs, so that the next death names its cause.
    pub(super) fn take(&mut self, free: usize, running: usize) -> Vec<ClaimedJob> {
        let mut taken = Vec::new();
        let mut kept = VecDeque::new();
        for (since, job) in self.0.drain(..) {
            if !job.suspect && taken.len() < free {
                taken.push(job);
            } else {
                kept.push_back((since, job));
            }
        }
        self.0 = kept;
        if taken.is_empty() && running == 0 && free > 0 {
            taken.extend(self.0.pop_front().map(|(_since, job)| job));
        }
        taken
    }

    /// Takes out what has waited for too long. Suspects stay: they wait for the others to end.
    pub(super) fn take_overdue(&mut self, now: Instant) -> Vec<ClaimedJob> {
        self.take_if(|since, job| !job.suspect && now.duration_since(since) >= WAIT_MAX)
    }

    /// When the next of them has waited for too long.
    pub(super) fn overdue_at(&self) -> Option<Instant> {
        self.0.iter().filter(|(_since, job)| !job.suspect).map(|(since, _job)| *since + WAIT_MAX).min()
    }

    /// Takes out everything.
    pub(super) fn take_all(&mut self) -> Vec<ClaimedJob> {
        self.0.drain(..).map(|(_since, job)| job).collect()
    }

    /// Takes out one job, if it is there.
    pub(super) fn take_job(&mut self, job_id: Uuid) -> Option<ClaimedJob> {
        self.take_if(|_since, job| job.fence.job_id == job_id).pop()
    }

    fn take_if(&mut self, leaves: impl Fn(Instant, &ClaimedJob) -> bool) -> Vec<ClaimedJob> {
        let (left, kept) = self.0.drain(..).partition::<Vec<_>, _>(|(since, job)| leaves(*since, job));
        self.0 = kept.into();
        left.into_iter().map(|(_since, job)| job).collect()
    }
}
