//! The functions that tick, by the names they have in settings, ticks and the template.

use std::fmt;

/// A function that ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// Recovers expired leases and gives runs to stale users.
    Claim,
    /// Computes what a claimed run needs.
    Compute,
    /// Publishes what has been computed.
    Publish,
    /// Runs the jobs of the general queue.
    Work,
}

impl Function {
    /// Every function of the pipeline, in the order in which work passes through them.
    pub const ALL: [Self; 3] = [Self::Claim, Self::Compute, Self::Publish];

    /// Everything that ticks.
    pub const TICKING: [Self; 4] = [Self::Claim, Self::Compute, Self::Publish, Self::Work];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Compute => "compute",
            Self::Publish => "publish",
            Self::Work => "work",
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
