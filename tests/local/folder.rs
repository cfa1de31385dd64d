//! A newcomer's folder, and the command line run in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tidemark_postgres::{RunningServer, SUPERUSER};
use tidemark_queue::{Connect, Session};
use tidemark_testkit::SocketConnector;
use tidemark_tests::{binaries, until};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio_postgres::Client;

/// Nothing here takes this long unless it hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// The four exports.
pub(crate) const EXPORTS: [&str; 4] = [
    "hevy_MIT_kg_rpe_settypes_7211.csv",
    "fitnotes_MIT_kgs_2495.csv",
    "strong_MIT_2078.csv",
    "strong_MIT_no_notes_warmups_666.csv",
];

/// Path of a file of the tests' data.
pub(crate) fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name).display().to_string()
}

/// The reference figures of an export.
pub(crate) fn golden(name: &str) -> Value {
    let document: Value = serde_json::from_slice(&std::fs::read(data("golden.json")).unwrap()).unwrap();
    document["files"][name].clone()
}

/// An empty folder in which commands are run, without any database configured.
pub(crate) struct Folder {
    folder: TempDir,
    binary: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A command that is running.
pub(crate) struct Running {
    child: Child,
    stderr: Lines<BufReader<ChildStderr>>,
}

impl Folder {
    pub(crate) async fn new() -> Self {
        let binary = tokio::task::spawn_blocking(binaries::tidemark).await.unwrap();
        Self { folder: tempfile::tempdir().unwrap(), binary }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether there is no trace of an embedded database.
    pub(crate) fn is_empty(&self) -> bool {
        std::fs::read_dir(self.path()).unwrap().next().is_none()
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, content: &str) -> String {
        let path = self.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(&self.binary);
        command.current_dir(self.path()).args(arguments).env_remove("DATABASE_URL").env_remove("RUST_LOG");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// Runs `tidemark` with these arguments to its end.
    pub(crate) async fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Ran {
        self.run_with(&[], arguments).await
    }

    /// As [`Folder::run`], with these variables in the environment.
    pub(crate) async fn run_with(&self, variables: &[(&str, &str)], arguments: &[impl AsRef<OsStr>]) -> Ran {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        let output = tokio::time::timeout(LIMIT, command.output()).await.expect("it ends").unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts `tidemark` with these arguments.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        self.start_with(&[], arguments)
    }

    /// As [`Folder::start`], with these variables in the environment.
    pub(crate) fn start_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        Running { child, stderr }
    }

    /// The superuser on the embedded database of a command that is running here, as soon as it answers.
    pub(crate) async fn database(&self) -> Client {
        let connect = async || {
            let running = RunningServer::find(&self.path().join(".tidemark"))?;
            SocketConnector::new(running.url(SUPERUSER, "tidemark")).connect().await.ok().map(Session::into_client)
        };
        until("the embedded database answers", async || connect().await.is_some()).await;
        connect().await.unwrap()
    }

    /// Whether an embedded server of this folder runs.
    pub(crate) fn has_server(&self) -> bool {
        RunningServer::find(&self.path().join(".tidemark")).is_some()
    }
}

impl Ran {
    /// The one JSON document on stdout of a command that succeeded.
    pub(crate) fn document(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON document ({error}): {self:?}"))
    }

    /// Failed with this code, nothing on stdout, and two lines for the person: what happened, what to try next.
    pub(crate) fn check_refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        for words in ["error: ", "next: "].iter().chain(words) {
            assert!(self.stderr.contains(words), "`{words}` is missing: {self:?}");
        }
        for words in ["panicked", "RUST_BACKTRACE", "DbError", "stack backtrace"] {
            assert!(!self.stderr.contains(words), "{self:?}");
        }
    }
}

impl Running {
    /// Waits for a line on stderr that contains `text`, and returns it.
    pub(crate) async fn until_says(&mut self, text: &str) -> String {
        let search = async {
            while let Some(line) = self.stderr.next_line().await.unwrap() {
                if line.contains(text) {
                    return line;
                }
            }
            panic!("it ended without saying `{text}`");
        };
        tokio::time::timeout(LIMIT, search).await.expect("it says so")
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) async fn ended(mut self) -> Ran {
        let ending = async {
            let (mut stdout, mut stderr) = (String::new(), String::new());
            self.child.stdout.take().unwrap().read_to_string(&mut stdout).await.unwrap();
            while let Some(line) = self.stderr.next_line().await.unwrap() {
                stderr.push_str(&line);
                stderr.push('\n');
            }
            let code = self.child.wait().await.unwrap().code();
            Ran { code, stdout, stderr }
        };
        tokio::time::timeout(LIMIT, ending).await.expect("it ends")
    }
}
