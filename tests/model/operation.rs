//! What can happen, as plain data that can be made smaller and repeated.

use proptest::prelude::*;

/// People.
pub(crate) const USERS: usize = 4;
/// Workers; fewer than people, so that somebody always waits.
pub(crate) const WORKERS: usize = 3;

/// One step. Numbers that pick something are taken modulo of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A change of somebody's source.
    Source(Change),
    /// One claim.
    Claim,
    /// The real compute function, one invocation.
    ComputeInvocation,
    /// The real publish function, one invocation.
    PublishInvocation,
    /// A worker goes some steps on: takes, holds, stages or publishes, commits.
    Advance { worker: usize, steps: usize, prefers_publish: bool },
    /// The session of a worker that has a run is ended by the server, whatever it is doing.
    Crash { worker: usize },
    /// A worker that has a run gives it up and records why.
    Fail { worker: usize },
    /// Somebody calls with a lease of the past, or with one that a worker is using, or with one made up from it.
    Call { lease: usize, is_live: bool, call: Call, forgery: Forgery },
    /// A live run's lease is over; an orphan is a run on which no worker is at work, where there is one.
    Expire { run: usize, is_orphan: bool },
    /// A compute holds its run while the lease passes.
    HoldBeyondExpiry { worker: usize },
    /// The operator's two updates, in either order.
    Resume { user: usize, run_first: bool },
    /// A backoff ends.
    EndBackoff { user: usize },
    /// The operator pauses or resumes a function.
    Pause { function: usize, is_enabled: bool },
    /// Slots.
    SetMaxActive { slots: i32 },
    /// Backoff: none, or an hour.
    SetBackoff { is_long: bool },
}

/// What is wrong with a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forgery {
    Nothing,
    Token,
    Attempt,
}

/// What a caller with a lease asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// What the worker of the run would ask for next.
    Fitting,
    Hold,
    Stage,
    Publish,
    Fail,
    Phase,
}

/// A change of somebody's source. `ending` says how a publish that stands in its way ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) user: usize,
    pub(crate) kind: ChangeKind,
    /// Choices of the change: weights, exercises, dates.
    pub(crate) dice: u64,
    pub(crate) publish_commits: bool,
}

/// Kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Save,
    SaveAgain,
    Edit,
    Delete,
    BulkInsert,
    BulkDelete,
    BulkMove,
    ExerciseAttribute,
    ExerciseName,
    Merge,
    Bodyweight,
    Profile,
    RolledBack,
    RequestRefresh,
    RequestRebuild,
}

fn change() -> impl Strategy<Value = Operation> {
    let kind = prop_oneof![
        6 => Just(ChangeKind::Save),
        1 => Just(ChangeKind::SaveAgain),
        3 => Just(ChangeKind::Edit),
        2 => Just(ChangeKind::Delete),
        2 => Just(ChangeKind::BulkInsert),
        2 => Just(ChangeKind::BulkDelete),
        1 => Just(ChangeKind::BulkMove),
        2 => Just(ChangeKind::ExerciseAttribute),
        1 => Just(ChangeKind::ExerciseName),
        1 => Just(ChangeKind::Merge),
        1 => Just(ChangeKind::Bodyweight),
        1 => Just(ChangeKind::Profile),
        1 => Just(ChangeKind::RolledBack),
        1 => Just(ChangeKind::RequestRefresh),
        1 => Just(ChangeKind::RequestRebuild),
    ];
    (0..USERS, kind, any::<u64>(), any::<bool>())
        .prop_map(|(user, kind, dice, publish_commits)| Operation::Source(Change { user, kind, dice, publish_commits }))
}

/// One step, drawn with weights that keep the pipeline moving and let every fault happen.
/// `calls` is the weight of calls out of turn; everything else together weighs about a hundred.
pub(crate) fn operation(calls: u32) -> impl Strategy<Value = Operation> {
    let call = prop_oneof![
        4 => Just(Call::Fitting),
        1 => Just(Call::Hold),
        1 => Just(Call::Stage),
        1 => Just(Call::Publish),
        1 => Just(Call::Fail),
        1 => Just(Call::Phase),
    ];
    let forgery = prop_oneof![2 => Just(Forgery::Nothing), 1 => Just(Forgery::Token), 1 => Just(Forgery::Attempt)];
    prop_oneof![
        20 => change(),
        12 => Just(Operation::Claim),
        2 => Just(Operation::ComputeInvocation),
        2 => Just(Operation::PublishInvocation),
        45 => (0..WORKERS, 1..5_usize, any::<bool>())
            .prop_map(|(worker, steps, prefers_publish)| Operation::Advance { worker, steps, prefers_publish }),
        2 => (0..WORKERS).prop_map(|worker| Operation::Crash { worker }),
        4 => (0..WORKERS).prop_map(|worker| Operation::Fail { worker }),
        calls => (any::<usize>(), prop::bool::weighted(0.75), call, forgery)
            .prop_map(|(lease, is_live, call, forgery)| Operation::Call { lease, is_live, call, forgery }),
        8 => (any::<usize>(), prop::bool::weighted(0.6))
            .prop_map(|(run, is_orphan)| Operation::Expire { run, is_orphan }),
        3 => (0..WORKERS).prop_map(|worker| Operation::HoldBeyondExpiry { worker }),
        4 => (0..USERS, any::<bool>()).prop_map(|(user, run_first)| Operation::Resume { user, run_first }),
        2 => (0..USERS).prop_map(|user| Operation::EndBackoff { user }),
        2 => (0..3_usize, prop::bool::weighted(0.85))
            .prop_map(|(function, is_enabled)| Operation::Pause { function, is_enabled }),
        3 => (1..5_i32).prop_map(|slots| Operation::SetMaxActive { slots }),
        1 => prop::bool::weighted(0.3).prop_map(|is_long| Operation::SetBackoff { is_long }),
    ]
}
