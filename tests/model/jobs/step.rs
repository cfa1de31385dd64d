//! What can happen, as plain data that can be made smaller and repeated. Numbers that pick something are taken modulo of what there is.

use proptest::prelude::*;

/// A job to be enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) job_type: i32,
    pub(crate) priority: i32,
    pub(crate) key: Option<u8>,
    pub(crate) group: Option<u8>,
    pub(crate) is_delayed: bool,
    pub(crate) max_attempts: i32,
}

/// How a worker ends a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    Fail,
    FailPermanently,
    Snooze,
    Release,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Enqueue(Wanted),
    EnqueueMany(Vec<Wanted>),
    EnqueueRolledBack(Wanted),
    Claim {
        limit: u32,
        job_type: Option<i32>,
        start: Option<u32>,
        keeps_worker: bool,
    },
    /// Ends what is running, several at once.
    End {
        picks: Vec<(usize, Ending)>,
    },
    /// Calls with a claim of the past, or one made up from a live one.
    Zombie {
        pick: usize,
        ending: Ending,
        forges_lease: bool,
    },
    Renew {
        pick: usize,
    },
    Start {
        pick: usize,
    },
    Progress {
        pick: usize,
    },
    /// The time of a lease passes.
    Expire {
        pick: usize,
    },
    Reap {
        limit: u32,
    },
    /// Delays and backoffs pass.
    PassDelays,
    Cancel {
        pick: usize,
    },
    Requeue {
        picks: Vec<usize>,
    },
    Move {
        pick: usize,
        priority: i32,
    },
    LimitGroups {
        concurrency: Option<i32>,
    },
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let some = |weight| proptest::option::weighted(weight, 0_u8..3);
    (1_001..1_003, 0..3, some(0.6), some(0.4), proptest::bool::weighted(0.2), 1..4).prop_map(
        |(job_type, priority, key, group, is_delayed, max_attempts)| Wanted {
            job_type,
            priority,
            key,
            group,
            is_delayed,
            max_attempts,
        },
    )
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        3 => Just(Ending::Done),
        3 => Just(Ending::Fail),
        1 => Just(Ending::FailPermanently),
        1 => Just(Ending::Snooze),
        2 => Just(Ending::Release),
    ]
}

/// Any step, as often as it should come.
pub(crate) fn step() -> impl Strategy<Value = Step> {
    let pick = || 0_usize..1_000;
    let claim =
        (1_u32..6, proptest::option::weighted(0.3, 1_001..1_003), proptest::option::of(0_u32..3), any::<bool>());
    prop_oneof![
        12 => wanted().prop_map(Step::Enqueue),
        4 => proptest::collection::vec(wanted(), 1..6).prop_map(Step::EnqueueMany),
        1 => wanted().prop_map(Step::EnqueueRolledBack),
        14 => claim.prop_map(|(limit, job_type, start, keeps_worker)| Step::Claim { limit, job_type, start, keeps_worker }),
        10 => proptest::collection::vec((pick(), ending()), 1..5).prop_map(|picks| Step::End { picks }),
        5 => (pick(), ending(), any::<bool>())
            .prop_map(|(pick, ending, forges_lease)| Step::Zombie { pick, ending, forges_lease }),
        2 => pick().prop_map(|pick| Step::Renew { pick }),
        2 => pick().prop_map(|pick| Step::Start { pick }),
        1 => pick().prop_map(|pick| Step::Progress { pick }),
        5 => pick().prop_map(|pick| Step::Expire { pick }),
        4 => (1_u32..4).prop_map(|limit| Step::Reap { limit }),
        3 => Just(Step::PassDelays),
        4 => pick().prop_map(|pick| Step::Cancel { pick }),
        4 => proptest::collection::vec(pick(), 1..4).prop_map(|picks| Step::Requeue { picks }),
        2 => (pick(), 0..3).prop_map(|(pick, priority)| Step::Move { pick, priority }),
        2 => proptest::option::weighted(0.7, 1..3).prop_map(|concurrency| Step::LimitGroups { concurrency }),
    ]
}
