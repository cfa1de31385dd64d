//! What one invocation of a function is given, and what it answers.

use std::time::{Duration, Instant};

use serde::Serialize;
use uuid::Uuid;

/// How long before the function's own deadline the last step must have ended, so that its outcome can be recorded.
pub const DEADLINE_MARGIN: Duration = Duration::from_millis(1_500);

/// How old a tick may be when its invocation begins. An older one is of no use: a younger one has come meanwhile. The functions of
/// the database hold the same number for callers whose clock is behind.
pub const LATE_AFTER: Duration = Duration::from_secs(5);

/// The platform throws an event away that it could not deliver for so long: `MaximumEventAgeInSeconds` of the template and half a
/// minute for the way. A tick that seems older shows a clock that is wrong, so that the database's clock decides.
pub const EVENT_AGE_MAX: Duration = Duration::from_secs(90);

/// One invocation: who works, when the tick was planned, until when there is time.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Minted for this invocation; a warm process is not an identity.
    pub worker_id: Uuid,
    /// When the tick was planned, as RFC 3339, if the trigger said so. The database's clock decides whether it is late.
    pub planned_at: Option<jiff::Timestamp>,
    /// When this invocation began.
    pub started: Instant,
    /// When the platform ends the function; `None` where that is unknown.
    pub deadline: Option<Instant>,
    /// How long the invocation may stay for work that is on its way: about until the next tick. Zero: not at all.
    pub linger: Duration,
}

impl Invocation {
    /// A new invocation that begins now. `remaining` is what the platform leaves; a deadline in the past is unknown,
    /// never spent, because some local runtimes send a constant of 1970.
    #[must_use]
    pub fn begin(planned_at: Option<jiff::Timestamp>, remaining: Option<Duration>, linger: Duration) -> Self {
        let started = Instant::now();
        Self { worker_id: Uuid::new_v4(), planned_at, started, deadline: remaining.map(|left| started + left), linger }
    }

    /// Time left before the deadline less the margin; `None` where the deadline is unknown.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()).saturating_sub(DEADLINE_MARGIN))
    }

    /// Whether the tick waited in the platform's queue, behind a throttle or an outage, until it was of no use. Such ticks come in
    /// storms, so that they are answered without a look at the database.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.planned_at.is_some_and(|planned_at| late_at(planned_at, jiff::Timestamp::now()))
    }

    /// Whether a whole step of `budget` still fits before the deadline.
    #[must_use]
    pub fn fits(&self, budget: Duration) -> bool {
        self.remaining().is_none_or(|remaining| remaining >= budget)
    }

    /// Whether the invocation may still linger for work that is on its way.
    #[must_use]
    pub fn may_linger(&self) -> bool {
        self.started.elapsed() < self.linger
    }
}

fn late_at(planned_at: jiff::Timestamp, now: jiff::Timestamp) -> bool {
    Duration::try_from(now.duration_since(planned_at)).is_ok_and(|age| age > LATE_AFTER && age <= EVENT_AGE_MAX)
}

/// How an invocation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Something was done.
    Worked,
    /// There was nothing to do.
    Idle,
    /// Another claim was under way.
    Busy,
    /// The settings row pauses this function.
    Paused,
    /// The tick was planned too long ago to be of use.
    Late,
    /// Somebody computes by a newer definition of the figures, so that this build gets no runs (compute only).
    Outdated,
    /// The database was busy or unreachable; the next tick tries again.
    Unavailable,
    /// A step failed; the failure is recorded with its run where that was possible.
    Failed,
}

impl Outcome {
    /// The word stored with the tick and logged.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worked => "worked",
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Paused => "paused",
            Self::Late => "late",
            Self::Outdated => "outdated",
            Self::Unavailable => "unavailable",
            Self::Failed => "failed",
        }
    }
}

/// The small JSON answer of an invocation; it is logged as well.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Name of the function.
    pub function: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// Runs that were taken a step further (claimed, computed or published).
    pub succeeded: u64,
    /// Runs that failed and were recorded as failed.
    pub failed: u64,
    /// Runs whose lease was lost on the way; nothing was changed for them.
    pub lost: u64,
    /// Expired leases that were recovered (claim only).
    pub recovered: u64,
    /// Pending jobs that were folded into the claimed ones (claim only).
    pub absorbed: u64,
    /// Wall-clock milliseconds of the invocation.
    pub elapsed_ms: u64,
    /// Code of the last error, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}: {} ({} done, {} failed, {} lost) in {} ms",
            self.function,
            self.outcome.as_str(),
            self.succeeded,
            self.failed,
            self.lost,
            self.elapsed_ms
        )?;
        match &self.error_code {
            Some(code) => write!(formatter, ", last error {code}"),
            None => Ok(()),
        }
    }
}

impl Summary {
    /// A summary of a function that has done nothing yet.
    #[must_use]
    pub fn new(function: &'static str) -> Self {
        Self {
            function,
            outcome: Outcome::Idle,
            succeeded: 0,
            failed: 0,
            lost: 0,
            recovered: 0,
            absorbed: 0,
            elapsed_ms: 0,
            error_code: None,
        }
    }
    /// Ends the invocation with `outcome`, unless it has done something before.
    pub fn end_without_work(&mut self, outcome: Outcome) {
        if self.outcome == Outcome::Idle {
            self.outcome = outcome;
        }
    }

    /// Takes an error into the summary: a busy or unreachable database ends the tick quietly, the next one tries again.
    pub fn note_error(&mut self, error: &crate::Error) {
        use crate::Error;
        self.error_code = Some(error.code().to_owned());
        let quiet = matches!(error, Error::Contended { .. } | Error::Unavailable { .. } | Error::Unknown)
            || matches!(error, Error::Database { code, .. } if code == "57014");
        self.outcome = if quiet { Outcome::Unavailable } else { Outcome::Failed };
        if quiet {
            tracing::warn!(tick.function = self.function, error.code = error.code(), "the tick ended early: {error}");
        } else {
            tracing::error!(tick.function = self.function, error.code = error.code(), "the tick failed: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_late_when_it_waited_for_more_than_a_few_seconds_and_the_clock_can_be_trusted() {
        let now = jiff::Timestamp::now();
        let hour = 3_600;
        let ages =
            [(-hour, false), (-1, false), (0, false), (5, false), (6, true), (90, true), (91, false), (hour, false)];
        for (seconds, late) in ages {
            assert_eq!(late_at(now - jiff::SignedDuration::from_secs(seconds), now), late, "{seconds} s old");
        }
    }
}
