//! How long things may take in one invocation.

use std::time::{Duration, Instant};

use tidemark_queue::Invocation;

/// How long things may take in one invocation, from the settings row and the invocation's own deadline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How long a handler may take.
    pub(super) handler: Duration,
    /// How long a lease lives.
    pub(super) lease: Duration,
    /// How much time must be left for a handler to begin.
    to_begin: Duration,
}

impl Limits {
    /// A handler begins while its whole time fits before the deadline. In an invocation that is too short for that it begins
    /// in the first half, so that a short deadline does less instead of nothing.
    pub(super) fn new(handler_timeout_ms: u64, lease_seconds: u64, invocation: &Invocation) -> Self {
        let handler = Duration::from_millis(handler_timeout_ms);
        let half = invocation.remaining().map_or(Duration::MAX, |remaining| remaining / 2);
        Self { handler, lease: Duration::from_secs(lease_seconds), to_begin: handler.min(half) }
    }

    /// Whether a handler may still begin.
    pub(super) fn may_begin(&self, invocation: &Invocation) -> bool {
        invocation.fits(self.to_begin)
    }

    /// When a handler that begins now is cancelled: with the margin of the invocation left to record it.
    pub(super) fn deadline(&self, invocation: &Invocation) -> Instant {
        let limit = invocation.remaining().map_or(self.handler, |remaining| remaining.min(self.handler));
        Instant::now() + limit
    }
}
