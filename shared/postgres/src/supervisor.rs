//! The shell that is the server's parent and ends it when nobody holds the pipe any more.
//!
//! It holds the reading end; the kernel closes the writing end when this process ends, however it ends. The shell is the
//! server's parent, so it waits for it and no zombie can block the next start.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::process::Signal;

use crate::account::Account;
use crate::deadline::holds_within;
use crate::place::Home;
use crate::postmaster::Postmaster;
use crate::{Error, log, process};

const SCRIPT: &str = include_str!("supervise.sh");

/// Crash recovery of a large cluster on a slow disk may take this long.
const READY_SECONDS_MAX: u64 = 120;
/// The supervisor opens the named pipe within milliseconds.
const PIPE_SECONDS_MAX: u64 = 10;
/// `kill -9` needs no time; the kernel may.
const CRASH_SECONDS_MAX: u64 = 10;

/// Until when the server runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lifetime {
    /// As long as this process, whose death it follows with a fast shutdown of at most this length, then an immediate one.
    Own { grace: Duration },
    /// As long as any process holds the named pipe, and then this much longer. Ends with an immediate shutdown.
    Shared { linger: Duration },
}

/// What to run.
pub(crate) struct Launch<'a> {
    pub(crate) account: Account,
    pub(crate) home: &'a Home,
    pub(crate) socket: &'a Path,
    pub(crate) program: &'a Path,
    /// `name=value` each.
    pub(crate) settings: &'a [String],
    pub(crate) lifetime: Lifetime,
    /// Whether the supervisor removes the server's files once nobody holds the pipe.
    pub(crate) remove: bool,
    /// See [`crate::postmaster::misleading_number`].
    pub(crate) ignored: Option<u32>,
}

/// A running supervisor and the server's process number.
#[derive(Debug)]
pub(crate) struct Supervisor {
    child: Child,
    pipe: Option<ChildStdin>,
    pub(crate) postmaster: u32,
}

impl Supervisor {
    /// Starts the server and waits until it accepts connections. With a shared lifetime the hold on the pipe is answered
    /// as well.
    pub(crate) fn launch(launch: &Launch<'_>) -> Result<(Self, Option<File>), Error> {
        let said_before = log::length(&launch.home.log());
        let mut child = command(launch).spawn().map_err(Error::io("run", "/bin/sh"))?;
        let hold = match launch.lifetime {
            Lifetime::Own { .. } => None,
            Lifetime::Shared { .. } => Some(first_hold(&launch.home.path, &mut child)?),
        };
        let pipe = child.stdin.take();
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(Error::io("hear from", "/bin/sh"))?;
        }
        let failed = || Error::Start { log: log::since(&launch.home.log(), said_before) };
        let postmaster = line.trim().parse().map_err(|_| failed())?;
        let mut supervisor = Self { child, pipe, postmaster };
        let data = launch.home.data();
        let mut running = true;
        let ready = holds_within(Duration::from_secs(READY_SECONDS_MAX), || {
            running = supervisor.is_running();
            !running || Postmaster::read(&data) == Some(Postmaster { process: postmaster, ready: true })
        });
        if running && ready {
            return Ok((supervisor, hold));
        }
        let error = if running {
            Error::TooLate { what: "the start of the server", seconds: READY_SECONDS_MAX }
        } else {
            failed()
        };
        drop(hold);
        supervisor.abandon();
        Err(error)
    }

    /// Whether the server is still there. Waits for the supervisor if it has ended.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks for a fast shutdown and waits for it; once `limit` has passed, lets go of the pipe, which forces it.
    pub(crate) fn stop(&mut self, limit: Duration) {
        let asked = self.pipe.as_mut().map(|pipe| pipe.write_all(b"fast\n"));
        tracing::trace!(?asked, "asked for a fast shutdown");
        if !holds_within(limit, || !self.is_running()) {
            self.abandon();
        }
    }

    /// Lets go of the pipe, as a killed process does, and waits for the supervisor.
    pub(crate) fn abandon(&mut self) {
        self.pipe = None;
        let outcome = self.child.wait();
        tracing::trace!(?outcome, "the supervisor ended");
    }

    /// `kill -9` for the postmaster and each of its children at once, then waits until none is left.
    pub(crate) fn crash(&mut self) -> Result<(), Error> {
        // Stopped, it cannot start another child between the listing and the killing.
        process::signal(self.postmaster, Signal::STOP);
        let mut victims = process::children(self.postmaster);
        victims.push(self.postmaster);
        for &victim in &victims {
            process::signal(victim, Signal::KILL);
        }
        let limit = Duration::from_secs(CRASH_SECONDS_MAX);
        let ended =
            holds_within(limit, || !self.is_running() && !victims.iter().any(|&number| process::is_alive(number)));
        ended.then_some(()).ok_or(Error::TooLate { what: "the end of a killed server", seconds: CRASH_SECONDS_MAX })
    }
}

fn command(launch: &Launch<'_>) -> Command {
    let mut command = launch.account.command("/bin/sh");
    let ticks = |time: Duration, milliseconds: u128| (time.as_millis() / milliseconds).to_string();
    let (mode, grace, linger) = match launch.lifetime {
        Lifetime::Own { grace } => ("own", ticks(grace, 20), ticks(Duration::ZERO, 100)),
        Lifetime::Shared { linger } => ("shared", ticks(Duration::ZERO, 20), ticks(linger, 100)),
    };
    command.args(["-c", SCRIPT, "tidemark-postgres", mode, &grace, &linger]);
    command.arg(if launch.remove { "remove" } else { "keep" }).arg(launch.socket);
    command.arg(launch.program).arg("-D").arg(launch.home.data());
    for setting in launch.settings {
        command.arg("-c").arg(setting);
    }
    if let Some(number) = launch.ignored {
        // The one number that PostgreSQL passes over in a stale lock file, meant for pg_ctl's shell. Unlike removing the
        // file, it keeps the test whether the old server's shared memory is still in use.
        command.env("PG_GRANDPARENT_PID", number.to_string());
    }
    command.current_dir(&launch.home.path);
    let own = matches!(launch.lifetime, Lifetime::Own { .. });
    command.stdin(if own { Stdio::piped() } else { Stdio::null() }).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn first_hold(home: &Path, child: &mut Child) -> Result<File, Error> {
    let mut hold = None;
    holds_within(Duration::from_secs(PIPE_SECONDS_MAX), || {
        hold = take_hold(home);
        hold.is_some() || !matches!(child.try_wait(), Ok(None))
    });
    hold.ok_or(Error::TooLate { what: "the opening of the shared server's pipe", seconds: PIPE_SECONDS_MAX })
}

/// Takes hold of a shared server's pipe; `None` where no supervisor reads it or the server takes nobody new.
pub(crate) fn take_hold(home: &Path) -> Option<File> {
    let mut hold = open_pipe(home)?;
    hold.write_all(b"\n").ok()?;
    // Looked for after the pipe is held: see the supervisor's script.
    home.join("open").exists().then_some(hold)
}

/// Whether a supervisor reads the pipe.
pub(crate) fn has_reader(home: &Path) -> bool {
    open_pipe(home).is_some()
}

/// Opening for writing without waiting fails when nobody reads.
fn open_pipe(home: &Path) -> Option<File> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).ok()?;
    let pipe = OpenOptions::new().write(true).custom_flags(flags).open(home.join("users")).ok()?;
    pipe.metadata().ok()?.file_type().is_fifo().then_some(pipe)
}
