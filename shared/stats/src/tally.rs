//! Counts and sums over sets, the same for an exercise, a week and a month.

use std::ops::AddAssign;

use crate::mass::Kilograms;
use crate::set_facts::SetFacts;

/// Counts and sums over some sets.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) sets: u64,
    pub(crate) working_set_rows: u64,
    pub(crate) warmup_sets: u64,
    pub(crate) attempts: u64,
    pub(crate) suspect_sets: u64,
    pub(crate) reps: u64,
    pub(crate) total_reps: u64,
    pub(crate) working_duration_seconds: u64,
    pub(crate) working_volume: Kilograms,
    pub(crate) total_volume: Kilograms,
    pub(crate) effective_volume: Kilograms,
}

impl Tally {
    /// The tally of one row; `adds_set` says whether it makes a set count (see [`SetChain`](crate::set_chain::SetChain)).
    pub(crate) fn of(facts: &SetFacts, adds_set: bool) -> Self {
        let mut tally = Self {
            sets: u64::from(adds_set),
            suspect_sets: u64::from(facts.is_suspect),
            total_reps: facts.reps,
            total_volume: facts.logged_volume,
            ..Self::default()
        };
        if facts.is_working {
            tally.working_set_rows = 1;
            tally.attempts = u64::from(facts.is_attempt);
            tally.reps = facts.reps;
            tally.working_duration_seconds = facts.duration_seconds;
            tally.working_volume = facts.logged_volume;
            tally.effective_volume = facts.effective_volume;
        } else {
            tally.warmup_sets = 1;
        }
        tally
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.sets += other.sets;
        self.working_set_rows += other.working_set_rows;
        self.warmup_sets += other.warmup_sets;
        self.attempts += other.attempts;
        self.suspect_sets += other.suspect_sets;
        self.reps += other.reps;
        self.total_reps += other.total_reps;
        self.working_duration_seconds += other.working_duration_seconds;
        self.working_volume += other.working_volume;
        self.total_volume += other.total_volume;
        self.effective_volume += other.effective_volume;
    }
}
