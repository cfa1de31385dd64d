//! What the tests of the server have in common.

#![allow(dead_code)] // Each test binary uses a part.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// A temporary folder that the server's account can pass through.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).expect("it is ours");
    folder
}

pub(crate) fn holds_within(limit: Duration, mut predicate: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !predicate() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Whether a process runs; one that ended and was not waited for does not.
pub(crate) fn is_alive(process: u32) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", &process.to_string()]).output().expect("ps runs");
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

pub(crate) fn kill_9(process: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(process).expect("it fits")).expect("it is not 0");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is ours");
}

pub(crate) fn postmaster_of(data: &Path) -> Option<u32> {
    std::fs::read_to_string(data.join("postmaster.pid")).ok()?.lines().next()?.parse().ok()
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server accepts connections");
    tokio::spawn(connection);
    client
}

/// Another process that keeps a server: the example `hold`.
pub(crate) struct Holder {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl Holder {
    pub(crate) fn start(root: &Path) -> Self {
        let mut child = Command::new(example()).arg(root).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let child_ref = child.as_mut().expect("cargo builds the examples with the tests");
        let mut url = String::new();
        let output = child_ref.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut url).expect("it says its address");
        Self { child: child.expect("it started"), url: url.trim().to_owned() }
    }

    pub(crate) fn kill_9(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ended = self.child.wait();
    }
}

fn example() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let profile = test.parent().and_then(Path::parent).expect("target/<profile>/deps/<test>");
    profile.join("examples/hold")
}
