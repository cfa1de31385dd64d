//! What became of a request, by what the caller does next.

use std::fmt;
use std::time::Duration;

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has it.
    Delivered,
    /// It may work later.
    Retry {
        /// How long the receiver asks to be left alone; between zero and [`RETRY_AFTER_MAX`](super::RETRY_AFTER_MAX).
        after: Option<Duration>,
        /// What happened.
        reason: Reason,
    },
    /// It would fail the same way again.
    Permanent {
        /// What happened.
        reason: Reason,
    },
}

impl Outcome {
    /// A failure after which nothing says how long to wait.
    pub(crate) fn retry(word: &'static str) -> Self {
        Self::Retry { after: None, reason: Reason::new(word) }
    }

    pub(crate) fn permanent(word: &'static str) -> Self {
        Self::Permanent { reason: Reason::new(word) }
    }
}

/// Why a request was not delivered: a short word that stays the same, and the status if there was one. Displayed as
/// `timeout` or `status 503`; never holds a part of the URL or of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    word: &'static str,
    status: Option<u16>,
}

impl Reason {
    pub(crate) fn new(word: &'static str) -> Self {
        Self { word, status: None }
    }

    pub(crate) fn with_status(word: &'static str, status: u16) -> Self {
        Self { word, status: Some(status) }
    }

    /// The word, one of those listed in [`outbound`](super).
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.word
    }

    /// The status that the receiver answered with.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word)?;
        self.status.map_or(Ok(()), |status| write!(formatter, " {status}"))
    }
}
