//! How often a lingering invocation looks again.

use std::time::Duration;

/// First wait between two looks.
const SHORTEST: Duration = Duration::from_millis(4);
/// Longest wait between two looks; also the longest that a step waits for the one before it inside a tick.
const LONGEST: Duration = Duration::from_millis(40);

/// Waits that grow while nothing comes and begin anew when something does.
#[derive(Debug)]
pub struct Pace {
    next: Duration,
}

impl Pace {
    /// A pace that begins with the shortest wait.
    #[must_use]
    pub fn new() -> Self {
        Self { next: SHORTEST }
    }

    /// Begins anew: something came.
    pub fn reset(&mut self) {
        self.next = SHORTEST;
    }

    /// Waits once.
    pub async fn wait(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(LONGEST);
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::new()
    }
}
