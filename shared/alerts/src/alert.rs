//! What is sent.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// An alert as the outbox holds it. Everything in it may end up on a screen: it holds codes and identities, never values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// Identity of the row in the outbox.
    pub id: i64,
    /// What kind of thing happened; an open set, see [`Guidance`](crate::Guidance) for the known ones.
    pub kind: String,
    /// Whom or what it happened to: a user, a job, a function.
    pub subject: String,
    /// Code of the newest error; empty where there is none.
    pub error_code: String,
    /// How often it was raised while it was open; at least 1.
    pub occurrences: u64,
    /// When it was raised first.
    pub raised_at: Timestamp,
    /// When it was raised last.
    pub last_raised_at: Timestamp,
    /// When it was over; `None` while it is open.
    pub resolved_at: Option<Timestamp>,
}

impl Alert {
    /// Whether it is over.
    #[must_use]
    pub fn is_resolved(&self) -> bool {
        self.resolved_at.is_some()
    }

    /// When anything last happened to it.
    pub(crate) fn changed_at(&self) -> Timestamp {
        self.resolved_at.unwrap_or(self.last_raised_at)
    }
}
