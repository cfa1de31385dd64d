//! What a job is: waiting, running, or over.

/// Status of a job of the general queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum JobStatus {
    /// Waits for a worker, or for its time
    Pending,
    /// A worker has it
    Running,
    /// Ended well
    Done,
    /// Used up its attempts, failed for good, or was cancelled
    Dead,
}

impl JobStatus {
    /// Every status.
    pub(crate) const ALL: [Self; 4] = [Self::Pending, Self::Running, Self::Done, Self::Dead];

    /// Its number in `public.jobs`.
    pub(crate) fn number(self) -> i16 {
        match self {
            Self::Pending => 1,
            Self::Running => 2,
            Self::Done => 3,
            Self::Dead => 4,
        }
    }

    /// The status of this number; `None` where a newer database has more of them.
    pub(crate) fn of_number(number: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.number() == number)
    }

    /// Its word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }
}
