//! Where each job must be, told from the steps alone.

use std::collections::{BTreeMap, BTreeSet};

use tidemark_queue::jobs::{Cancelled, ClaimedJob, Ended, Fence, Requeued, Status};
use uuid::Uuid;

use super::step::{Ending, Wanted};

/// A job as it must be.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) wanted: Wanted,
    /// Its age among all jobs; the database draws it.
    pub(crate) position: i64,
    pub(crate) status: Status,
    pub(crate) attempts: i32,
    pub(crate) is_due: bool,
    pub(crate) is_suspect: bool,
    pub(crate) is_cancel_requested: bool,
    pub(crate) fence: Option<Fence>,
}

/// The claim of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    pub(crate) worker_id: Uuid,
    pub(crate) jobs: BTreeSet<Uuid>,
    pub(crate) started: Option<BTreeSet<Uuid>>,
    pub(crate) is_over: bool,
}

/// All jobs and all claims.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) jobs: BTreeMap<Uuid, Job>,
    pub(crate) leases: BTreeMap<i64, Lease>,
    pub(crate) concurrency: Option<i32>,
}

impl Oracle {
    /// The active job of a key.
    pub(crate) fn holder(&self, key: Option<u8>) -> Option<Uuid> {
        key?;
        let active = |job: &Job| matches!(job.status, Status::Pending | Status::Running) && job.wanted.key == key;
        self.jobs.iter().find(|(_, job)| active(job)).map(|(job_id, _)| *job_id)
    }

    pub(crate) fn insert(&mut self, job_id: Uuid, wanted: Wanted, position: i64) {
        let job = Job {
            wanted,
            position,
            status: Status::Pending,
            attempts: 0,
            is_due: !wanted.is_delayed,
            is_suspect: false,
            is_cancel_requested: false,
            fence: None,
        };
        assert!(self.jobs.insert(job_id, job).is_none(), "an id was given twice");
    }

    fn running_in(&self, job: &Wanted) -> i32 {
        let mates = self.jobs.values().filter(|other| {
            other.status == Status::Running && other.wanted.group == job.group && other.wanted.job_type == job.job_type
        });
        i32::try_from(mates.count()).unwrap()
    }

    /// Whether a claim may take the job now.
    fn is_claimable(&self, job: &Job, job_type: Option<i32>) -> bool {
        job.status == Status::Pending
            && job.is_due
            && job_type.is_none_or(|job_type| job.wanted.job_type == job_type)
            && (job.wanted.group.is_none()
                || self.concurrency.is_none_or(|concurrency| self.running_in(&job.wanted) < concurrency))
    }

    /// What is wrong with a claim's answer, and then where the jobs are.
    pub(crate) fn claim(
        &mut self,
        claimed: &[ClaimedJob],
        limit: u32,
        job_type: Option<i32>,
        start: Option<u32>,
    ) -> Result<(), String> {
        let taken: BTreeSet<Uuid> = claimed.iter().map(|job| job.fence.job_id).collect();
        let could: BTreeSet<Uuid> =
            self.jobs.iter().filter(|(_, job)| self.is_claimable(job, job_type)).map(|(job_id, _)| *job_id).collect();
        if taken.len() != claimed.len() || claimed.len() > limit as usize || !taken.is_subset(&could) {
            return Err(format!("a claim of {limit} answered {claimed:?}, could have been {could:?}"));
        }
        if taken.is_empty() && !could.is_empty() {
            return Err(format!("a claim of {limit} missed {could:?}"));
        }
        if claimed.len() > 1 && taken.iter().any(|job_id| self.jobs[job_id].is_suspect) {
            return Err("a suspect did not run alone".to_owned());
        }
        self.check_order(&taken, &could)?;
        let order: Vec<(i32, i64)> = claimed.iter().map(|job| self.order(&job.fence.job_id)).collect();
        if !order.is_sorted() {
            return Err(format!("the answer is out of order: {order:?}"));
        }
        for job in claimed {
            self.take(job)?;
        }
        if let Some(first) = claimed.first() {
            let innocent = claimed.iter().filter(|job| !job.suspect).map(|job| job.fence.job_id);
            let started = start.map(|number| innocent.take(number as usize).collect());
            let lease = Lease { worker_id: first.fence.worker_id, jobs: taken, started, is_over: false };
            self.leases.insert(first.fence.lease_id, lease);
        }
        let over = |job: &Job| {
            self.concurrency.is_some_and(|most| job.wanted.group.is_some() && self.running_in(&job.wanted) > most)
        };
        match claimed.iter().find(|job| over(&self.jobs[&job.fence.job_id])) {
            Some(job) => Err(format!("a group is over its limit by {job:?}")),
            None => Ok(()),
        }
    }

    fn order(&self, job_id: &Uuid) -> (i32, i64) {
        let job = &self.jobs[job_id];
        (job.wanted.priority, job.position)
    }

    /// Of jobs without a group, and within each group, none may be passed by one that comes later.
    fn check_order(&self, taken: &BTreeSet<Uuid>, could: &BTreeSet<Uuid>) -> Result<(), String> {
        let line = |job_id: &Uuid| {
            let wanted = self.jobs[job_id].wanted;
            wanted.group.map(|group| (wanted.job_type, group))
        };
        // What waits behind a suspect, and the suspect itself, may be passed: it runs alone, in a claim that begins with it.
        let lane = |job_id: &Uuid| (self.jobs[job_id].wanted.job_type, self.jobs[job_id].wanted.priority);
        let waits_for_a_suspect = |left: &Uuid| {
            could.iter().any(|job_id| {
                self.jobs[job_id].is_suspect && lane(job_id) == lane(left) && self.order(job_id) <= self.order(left)
            })
        };
        for left in could.difference(taken).filter(|left| !waits_for_a_suspect(left)) {
            if let Some(passing) =
                taken.iter().find(|job_id| line(job_id) == line(left) && self.order(job_id) > self.order(left))
            {
                return Err(format!("{left} was passed by {passing}"));
            }
        }
        Ok(())
    }

    fn take(&mut self, claimed: &ClaimedJob) -> Result<(), String> {
        let job = self.jobs.get_mut(&claimed.fence.job_id).ok_or("an unknown job was claimed")?;
        if claimed.fence.attempt != job.attempts + 1 || claimed.suspect != job.is_suspect {
            return Err(format!("{claimed:?} was claimed where {job:?} waited"));
        }
        job.status = Status::Running;
        job.attempts += 1;
        job.fence = Some(claimed.fence);
        Ok(())
    }

    /// Takes a job out of its lease.
    fn leave(&mut self, job_id: Uuid) {
        let Some(fence) = self.jobs.get_mut(&job_id).and_then(|job| job.fence.take()) else { return };
        let Some(lease) = self.leases.get_mut(&fence.lease_id) else { return };
        lease.jobs.remove(&job_id);
        if let Some(started) = &mut lease.started {
            started.remove(&job_id);
        }
        if lease.jobs.is_empty() {
            self.leases.remove(&fence.lease_id);
        }
    }

    /// What the end of a claim must answer, and then where the job is.
    pub(crate) fn end(&mut self, fence: &Fence, ending: Ending) -> Ended {
        let Some(job) = self.jobs.get(&fence.job_id).filter(|job| job.fence == Some(*fence)) else {
            return Ended::Lost;
        };
        let is_stopped = job.is_cancel_requested || (ending == Ending::Fail && job.attempts >= job.wanted.max_attempts);
        self.leave(fence.job_id);
        let job = self.jobs.get_mut(&fence.job_id).unwrap();
        let ended = match ending {
            Ending::Done => Ended::Done,
            Ending::FailPermanently => Ended::Dead,
            _ if is_stopped => Ended::Dead,
            _ => Ended::Pending,
        };
        match ended {
            Ended::Done => job.finish(Status::Done),
            Ended::Dead => job.finish(Status::Dead),
            _ => {
                let attempts = job.attempts - i32::from(ending != Ending::Fail);
                job.wait(attempts, ending == Ending::Release, false);
            }
        }
        ended
    }

    /// Which jobs a reap of so many leases must take back, and what becomes of each.
    pub(crate) fn reap(&mut self, limit: usize) -> BTreeMap<Uuid, Status> {
        let over: Vec<i64> =
            self.leases.iter().filter(|(_, lease)| lease.is_over).map(|(id, _)| *id).take(limit).collect();
        let mut reaped = BTreeMap::new();
        for lease_id in over {
            let lease = self.leases.remove(&lease_id).unwrap();
            let suspects = lease.started.clone().unwrap_or_else(|| lease.jobs.clone());
            for job_id in &lease.jobs {
                let is_charged =
                    lease.started.as_ref().is_none_or(|started| started.len() == 1 && started.contains(job_id));
                let job = self.jobs.get_mut(job_id).unwrap();
                job.fence = None;
                if job.is_cancel_requested || (is_charged && job.attempts >= job.wanted.max_attempts) {
                    job.finish(Status::Dead);
                } else {
                    job.wait(
                        job.attempts - i32::from(!is_charged),
                        true,
                        suspects.len() > 1 && suspects.contains(job_id),
                    );
                }
                reaped.insert(*job_id, job.status);
            }
        }
        reaped
    }

    /// What a cancel must answer, and then where the job is.
    pub(crate) fn cancel(&mut self, job_id: Uuid) -> Cancelled {
        let Some(job) = self.jobs.get_mut(&job_id) else { return Cancelled::Unknown };
        match job.status {
            Status::Pending => {
                job.finish(Status::Dead);
                Cancelled::Dead
            }
            Status::Running => {
                job.is_cancel_requested = true;
                Cancelled::Requested
            }
            Status::Done | Status::Dead => Cancelled::Finished,
        }
    }

    /// What a requeue must answer for one job, and then where it is.
    pub(crate) fn requeue(&mut self, job_id: Uuid) -> Requeued {
        let Some(job) = self.jobs.get(&job_id).filter(|job| job.status == Status::Dead) else {
            return Requeued::NotDead;
        };
        if let Some(active) = self.holder(job.wanted.key) {
            return Requeued::Twin { active };
        }
        self.jobs.get_mut(&job_id).unwrap().wait(0, true, false);
        Requeued::Pending
    }

    /// Every delay and backoff is over.
    pub(crate) fn pass_delays(&mut self) {
        for job in self.jobs.values_mut() {
            job.is_due = true;
        }
    }
}

impl Job {
    fn finish(&mut self, status: Status) {
        self.status = status;
        self.is_cancel_requested = false;
    }

    fn wait(&mut self, attempts: i32, is_due: bool, is_suspect: bool) {
        self.status = Status::Pending;
        (self.attempts, self.is_due, self.is_suspect) = (attempts, is_due, is_suspect);
    }
}
