//! What a worker must know to write on behalf of a job.

use uuid::Uuid;

/// The claim of one job by one worker. Every write compares all of it: an attempt that was given back (a snooze, a release)
/// is granted again under another lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fence {
    /// The job.
    pub job_id: Uuid,
    /// Minted for the invocation that claimed it.
    pub worker_id: Uuid,
    /// Which attempt this is, from 1.
    pub attempt: i32,
    /// The lease that the claim minted.
    pub lease_id: i64,
}
