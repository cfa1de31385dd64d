//! The general job queue: what programs enqueue, and what workers do with it. Its rules are told in `docs/JOBS.md`.
//!
//! Jobs are enqueued inside the caller's own transaction ([`enqueue`], [`enqueue_many`]). A worker claims some ([`claim`]),
//! renews its lease while it works ([`renew_lease`]) and ends each job ([`end`], [`complete`], [`fail`], [`fail_permanent`],
//! [`snooze`], [`release`]). Every write of a worker names its [`Fence`]; one that does not hold any more changes nothing and
//! is answered with `Lost`. Leases of workers that are gone are taken back by [`reap`].
//!
//! No call needs a named prepared statement or anything else that stays behind in the session. The worker's calls are
//! transactions of their own under the budget of [`Function::Work`](crate::Function::Work), in one round trip each; the
//! others run wherever the caller is, in his transaction or outside.

/// The guide's examples compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/JOBS.md")]
struct Guide;

mod cancel;
mod claim;
mod conflict;
mod end;
mod enqueue;
mod error_text;
mod fence;
mod job;
mod json;
mod new_job;
mod ops;
mod reap;
mod renew;
mod requeue;

pub use cancel::{Cancelled, cancel};
pub use claim::{CLAIM_LIMIT, ClaimRequest, ClaimedJob, LEASE_MAX, LEASE_MIN, claim};
pub use end::{Ended, Ending, Outcome, complete, end, fail, fail_permanent, release, snooze};
pub use enqueue::{ENQUEUE_BYTES, ENQUEUE_LIMIT, Enqueued, enqueue, enqueue_many};
pub use error_text::{ERROR_CHARACTERS, error_text};
pub use fence::Fence;
pub use job::{Job, Status, find_active, find_latest, get};
pub use json::{JSON_DEPTH, StoredJson, Undecodable};
pub use new_job::{
    ATTEMPTS_LIMIT, DEDUPE_KEY_BYTES, DELAY_MAX, GROUP_KEY_BYTES, NewJob, PAYLOAD_BYTES, PRIORITY, PRIORITY_LIMIT,
    STANDARD_ATTEMPTS,
};
pub use ops::{Counts, Ops, counts, ops};
pub use reap::{Reaped, reap};
pub use renew::{PROGRESS_BYTES, Renewal, renew_lease, set_progress, start};
pub use requeue::{Requeued, requeue};
