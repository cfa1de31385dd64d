//! What must never be undone, over all steps of a case.

use std::collections::{BTreeMap, BTreeSet};

use tidemark_queue::Lease;
use tidemark_stats::Projections;
use uuid::Uuid;

use crate::snapshot::Snapshot;

/// What has happened so far.
#[derive(Default)]
pub(crate) struct History {
    /// Every lease that was ever granted.
    pub(crate) leases: Vec<Lease>,
    /// Figures that a run has staged: what its publish must make visible.
    pub(crate) staged: BTreeMap<i64, Projections>,
    /// The highest generation that each user was promised.
    pub(crate) acknowledged: BTreeMap<Uuid, i64>,
    tokens: BTreeSet<Uuid>,
}

/// What a step was allowed to do to runs: the phase that each may be in afterwards, and the jobs that may become runs.
#[derive(Debug, Default)]
pub(crate) struct Allowed {
    pub(crate) moved: BTreeMap<i64, &'static str>,
    pub(crate) started: BTreeMap<i64, i32>,
    pub(crate) changes_source: bool,
}

impl History {
    /// Compares the rows around a step with what it was allowed to do.
    pub(crate) fn check(&mut self, before: &Snapshot, after: &Snapshot, allowed: &Allowed) -> Result<(), String> {
        if !allowed.changes_source && before.source != after.source {
            return Err("a step that is no save has touched the source".to_owned());
        }
        self.check_runs(before, after, allowed)?;
        let published: BTreeMap<Uuid, i64> = allowed
            .moved
            .iter()
            .filter(|(_id, phase)| **phase == "published")
            .map(|(id, _phase)| (before.runs[id].user, before.runs[id].generation))
            .collect();
        for (user, state) in &after.states {
            let (applied, requested) = before.states.get(user).map_or((0, 0), |state| (state.applied, state.requested));
            let expected = published.get(user).copied().unwrap_or(applied);
            if state.applied != expected || state.applied < applied {
                return Err(format!("{user}: applied went from {applied} to {}, not to {expected}", state.applied));
            }
            if state.requested < requested || (state.requested > requested && !allowed.changes_source) {
                return Err(format!("{user}: requested went from {requested} to {}", state.requested));
            }
            self.acknowledged
                .entry(*user)
                .and_modify(|seen| *seen = state.requested.max(*seen))
                .or_insert(state.requested);
        }
        Ok(())
    }

    fn check_runs(&mut self, before: &Snapshot, after: &Snapshot, allowed: &Allowed) -> Result<(), String> {
        let mut started = BTreeMap::new();
        for (id, run) in &after.runs {
            let Some(old) = before.runs.get(id) else {
                if !self.tokens.insert(run.token) {
                    return Err(format!("run {id} has a token that was granted before"));
                }
                let (run_id, user_id, token) = (*id, run.user, run.token);
                let (attempt, generation) = (run.attempt, run.generation);
                self.leases.push(Lease { run_id, user_id, attempt, generation, token });
                started.insert(run.job, run.attempt);
                if run.generation != after.jobs[&run.job].generation || run.phase != "claimed" {
                    return Err(format!("run {id} begins as {run:?} for {:?}", after.jobs[&run.job]));
                }
                continue;
            };
            let expected = allowed.moved.get(id).copied().unwrap_or(&old.phase);
            if run.phase != expected {
                return Err(format!("run {id} went from {} to {}, not to {expected}", old.phase, run.phase));
            }
            if (run.user, run.job, run.attempt, run.generation, run.token)
                != (old.user, old.job, old.attempt, old.generation, old.token)
            {
                return Err(format!("run {id} changed its identity: {old:?} to {run:?}"));
            }
        }
        if started != allowed.started {
            return Err(format!("jobs {started:?} became runs, not {:?}", allowed.started));
        }
        Ok(())
    }
}
