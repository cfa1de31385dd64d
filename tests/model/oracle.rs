//! What a step must do, from the rows before it and from who holds which locks: the protocol once more, in other words.

use std::collections::{BTreeMap, BTreeSet};

use tidemark_queue::Lease;
use uuid::Uuid;

use crate::operation::Call;
use crate::snapshot::{Job, Run, Snapshot};

/// Rows that a worker's open transaction holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Locks {
    pub(crate) runs: BTreeSet<i64>,
    pub(crate) users: BTreeSet<Uuid>,
}

/// What one claim must do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) outcome: &'static str,
    pub(crate) recovered: BTreeSet<i64>,
    /// Of the recovered: those whose job has no attempts left.
    pub(crate) exhausted: usize,
    /// The jobs that become runs, with the attempt that each run is.
    pub(crate) started: BTreeMap<i64, i32>,
    /// Jobs that are folded into others or whose generation is published already.
    pub(crate) absorbed: BTreeSet<i64>,
}

/// A user as the claim order knows them, while a claim is at work.
struct Candidate<'a> {
    priority: i16,
    pending: BTreeMap<i64, &'a Job>,
    /// Attempts of jobs that recovery has put back.
    is_free: bool,
}

/// What a claim must do.
pub(crate) fn claim(before: &Snapshot, locks: &Locks) -> Claim {
    if !before.enabled[0] {
        return Claim { outcome: "paused", ..Claim::default() };
    }
    let live = before.live().count();
    let is_waiting = |in_backoff: bool| {
        before.states.values().any(|state| if in_backoff { state.backoff_is_over } else { is_claimable(state) })
    };
    let any_expired = before.live().any(|(_id, run)| run.is_expired);
    let any_due = is_waiting(true);
    let any_free = (is_waiting(false) || any_due) && live < before.max_active;
    if !any_expired && !any_due && !any_free {
        return Claim { outcome: "idle", ..Claim::default() };
    }
    let mut expected = Claim { outcome: "idle", ..Claim::default() };
    let mut users = candidates(before, locks);
    recover(before, locks, &mut expected, &mut users);
    let slots = before.max_active.saturating_sub(live - expected.recovered.len());
    fill(before, slots, &mut expected, &users);
    if !(expected.recovered.is_empty() && expected.started.is_empty() && expected.absorbed.is_empty()) {
        expected.outcome = "worked";
    }
    expected
}

fn is_claimable(state: &crate::snapshot::State) -> bool {
    state.pending_generation.is_some() && state.live_run.is_none() && !state.in_backoff
}

fn candidates<'a>(before: &'a Snapshot, locks: &Locks) -> BTreeMap<Uuid, Candidate<'a>> {
    before
        .states
        .iter()
        .filter(|(user, _state)| !locks.users.contains(user))
        .map(|(user, state)| {
            let pending: BTreeMap<i64, &Job> = before
                .jobs
                .iter()
                .filter(|(_id, job)| job.user == *user && job.status == "pending")
                .map(|(id, job)| (*id, job))
                .collect();
            let priority = pending.values().map(|job| job.priority).min().unwrap_or(1);
            let is_free = state.live_run.is_none() && (!state.in_backoff || state.backoff_is_over);
            (*user, Candidate { priority, pending, is_free })
        })
        .collect()
}

/// Expired leases whose row and user nobody holds; the job goes back, or is over with its last attempt.
fn recover<'a>(before: &'a Snapshot, locks: &Locks, expected: &mut Claim, users: &mut BTreeMap<Uuid, Candidate<'a>>) {
    for (id, run) in before.live() {
        if !run.is_expired || locks.runs.contains(&id) || locks.users.contains(&run.user) {
            continue;
        }
        expected.recovered.insert(id);
        let user = users.get_mut(&run.user).unwrap();
        let state = &before.states[&run.user];
        user.is_free = !state.in_backoff || state.backoff_is_over;
        if run.attempt >= before.max_attempts {
            expected.exhausted += 1;
        } else {
            let job = &before.jobs[&run.job];
            user.priority = user.priority.min(job.priority);
            user.pending.insert(run.job, job);
        }
    }
}

/// Best priority first, then lowest generation; a user's newest job becomes the run and absorbs the others.
fn fill(before: &Snapshot, slots: usize, expected: &mut Claim, users: &BTreeMap<Uuid, Candidate<'_>>) {
    let mut order: Vec<_> = users.iter().filter(|(_user, found)| found.is_free && !found.pending.is_empty()).collect();
    order.sort_by_key(|(_user, found)| (found.priority, found.pending.values().map(|job| job.generation).min()));
    for (user, found) in order.into_iter().take(slots) {
        let (newest, job) = found.pending.iter().max_by_key(|(_id, job)| job.generation).unwrap();
        let others = found.pending.keys().filter(|id| *id != newest).copied();
        let is_published = before
            .runs
            .values()
            .any(|run| run.user == *user && run.phase == "published" && run.generation > job.generation);
        if job.attempts == 0 && job.generation < before.states[user].applied && is_published {
            expected.absorbed.insert(*newest);
        } else {
            expected.started.insert(*newest, job.attempts + 1);
        }
        expected.absorbed.extend(others);
    }
}

/// The run that a take must take: of the given phase, the lowest generation that is neither expired nor held.
pub(crate) fn take(before: &Snapshot, locks: &Locks, phase: &str) -> Option<i64> {
    takeable(before, locks, phase).min_by_key(|(_id, run)| run.generation).map(|(id, _run)| id)
}

/// All that a take could take.
pub(crate) fn takeable<'a>(
    before: &'a Snapshot,
    locks: &'a Locks,
    phase: &'a str,
) -> impl Iterator<Item = (i64, &'a Run)> {
    before.live().filter(move |(id, run)| run.phase == phase && !run.is_expired && !locks.runs.contains(id))
}

/// Whether a call with this lease must be accepted. `holds` is true where the caller's own transaction holds the run.
pub(crate) fn accepts(before: &Snapshot, lease: &Lease, call: Call, holds: bool) -> bool {
    let Some(run) = before.runs.get(&lease.run_id) else { return false };
    let is_holder = run.attempt == lease.attempt && run.token == lease.token;
    let is_in_time = match call {
        // Staging is allowed past the expiry: whoever held the row since before cannot have lost it.
        Call::Stage => holds || run.phase == "computing",
        Call::Hold | Call::Publish => !run.is_expired,
        Call::Fail | Call::Phase | Call::Fitting => true,
    };
    let phase = match call {
        Call::Hold | Call::Stage => run.phase == "computing",
        Call::Publish => run.phase == "publishing",
        Call::Fail => run.is_live(),
        Call::Phase | Call::Fitting => true,
    };
    is_holder && is_in_time && phase
}
