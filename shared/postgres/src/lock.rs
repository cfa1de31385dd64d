//! One lock file per root: who holds it keeps the server.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::Error;
use crate::deadline::holds_within;

/// A held lock; the kernel lets it go when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, waiting for at most `limit`. `None`: somebody else still holds it.
    pub(crate) fn take(path: &Path, limit: Duration) -> Result<Option<Self>, Error> {
        let file = open(path, true)?;
        let mut failure = None;
        let taken = holds_within(limit, || match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => true,
            Err(Errno::WOULDBLOCK | Errno::INTR) => false,
            Err(errno) => {
                failure = Some(errno);
                true
            }
        });
        if let Some(errno) = failure {
            return Err(Error::io("lock", path)(errno.into()));
        }
        Ok(taken.then_some(Self { _file: file }))
    }

    /// Whether a live process holds the lock.
    pub(crate) fn is_held(path: &Path) -> bool {
        let Ok(file) = open(path, false) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
    }
}

/// Not following symbolic links, because the folder may be one that others can write to.
fn open(path: &Path, create: bool) -> Result<File, Error> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(create)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)
        .map_err(Error::io("open the lock file", path))
}
