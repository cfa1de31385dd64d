//! What a data folder says about its server, and ending one that nobody keeps any more.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::deadline::holds_within;
use crate::{Error, process};

/// Each of the three ways to stop an orphan gets this long.
const STOP_SECONDS: u64 = 5;

/// The part of `postmaster.pid` that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Postmaster {
    pub(crate) process: u32,
    /// Whether it accepts connections (the file's eighth line says `ready`).
    pub(crate) ready: bool,
}

impl Postmaster {
    /// Reads the file of a data folder; `None` where there is none or it is still being written.
    pub(crate) fn read(data: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(data.join("postmaster.pid")).ok()?)
    }

    /// Whether the data folder's server accepts connections. The file alone may be left from a killed one.
    pub(crate) fn accepts(data: &Path) -> bool {
        Self::read(data).is_some_and(|found| found.ready && process::is_alive(found.process))
    }

    fn parse(text: &str) -> Option<Self> {
        let process = text.lines().next()?.trim().parse().ok()?;
        let ready = text.lines().nth(7).is_some_and(|status| status.trim() == "ready");
        Some(Self { process, ready })
    }
}

/// Ends every server process that still works in the data folder. The caller holds the lock, so nobody keeps them.
pub(crate) fn stop_orphan(data: &Path) -> Result<(), Error> {
    let left = |data: &Path| process::working_in(data, Postmaster::read(data).map(|found| found.process));
    if left(data).is_empty() {
        return Ok(());
    }
    tracing::info!(data = %data.display(), "stopping a server that nobody keeps any more");
    let limit = Duration::from_secs(STOP_SECONDS);
    for signal in [Signal::INT, Signal::QUIT, Signal::KILL] {
        let processes = left(data);
        let postmaster = Postmaster::read(data).map(|found| found.process).filter(|found| processes.contains(found));
        match postmaster {
            Some(postmaster) if signal != Signal::KILL => process::signal(postmaster, signal),
            // Children without a postmaster end by themselves, unless they are busy.
            _ => processes.iter().for_each(|&number| process::signal(number, Signal::KILL)),
        }
        if holds_within(limit, || left(data).is_empty()) {
            return Ok(());
        }
    }
    Err(Error::TooLate { what: "the end of an earlier server", seconds: 3 * STOP_SECONDS })
}

/// A process number in `postmaster.pid` that PostgreSQL would take for a running server although it is none: a zombie, or
/// an unrelated process that got the number. The caller has called [`stop_orphan`].
pub(crate) fn misleading_number(data: &Path) -> Option<u32> {
    Postmaster::read(data).map(|found| found.process).filter(|&number| process::is_listed(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_ready_only_when_its_file_says_so() {
        let file = |status: &str| format!("42\n/data\n1700000000\n5432\n/socket\n\n  1 2\n{status}\n");
        let parsed = |text: &str| Postmaster::parse(text).map(|found| (found.process, found.ready));
        assert_eq!(parsed(&file("ready   ")), Some((42, true)));
        assert_eq!(parsed(&file("starting")), Some((42, false)));
        assert_eq!(parsed("42\n"), Some((42, false)));
        assert_eq!(parsed(""), None);
    }
}
