//! Runs a real function binary as Lambda would: one execution environment, one event at a time.
//!
//! The Runtime API is that of the crate `lambda-simulator`. What it leaves out is here: the process with its logs, the
//! kill at the deadline, freezing at any moment, and the cold start after a death.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lambda_simulator::{InvocationBuilder, InvocationStatus, Simulator as RuntimeApi};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

/// How often a wait looks again although nothing was signalled, because the Runtime API can miss waking a waiter.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The longest a killed process may take to vanish.
const DEATH_LIMIT: Duration = Duration::from_secs(10);

/// How an invocation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvocationError {
    /// The function answered with an error.
    #[error("the function answered with {error_type}: {error_message}")]
    Function {
        /// The error's type, as the function named it.
        error_type: String,
        /// The error's message.
        error_message: String,
    },
    /// The deadline came first; the process was killed, as Lambda does.
    #[error("the function was killed at its deadline")]
    DeadlineExceeded,
    /// The process ended during the invocation.
    #[error("the process ended during the invocation (exit code {exit_code:?})")]
    Exited {
        /// Its exit code; `None` when a signal ended it.
        exit_code: Option<i32>,
    },
    /// The process could not be started, or the Runtime API refused the event.
    #[error("the simulator failed: {0}")]
    Simulator(String),
}

/// One execution environment of a function. Several of them make overlapping and duplicate invocations.
///
/// After a kill, a deadline or an exit the next [`Simulator::invoke`] starts a new process, as Lambda does. Dropping the
/// simulator kills the process.
#[derive(Debug)]
pub struct Simulator {
    binary_path: PathBuf,
    environment: Vec<(OsString, OsString)>,
    logs: Arc<Mutex<Vec<String>>>,
    log_count: watch::Sender<usize>,
    /// Held for the length of an invocation: an environment has one at a time.
    invoking: tokio::sync::Mutex<()>,
    process: Mutex<Option<Process>>,
}

/// One life of the function's process, with a Runtime API of its own: events for a dead process cannot reach the next.
#[derive(Clone, Debug)]
struct Process {
    runtime_api: Arc<Api>,
    pid: Pid,
    exit: watch::Receiver<Option<ExitStatus>>,
}

/// The HTTP server of the Runtime API; it would live on when merely dropped.
struct Api(Option<RuntimeApi>);

impl Api {
    fn server(&self) -> Result<&RuntimeApi, InvocationError> {
        self.0.as_ref().ok_or_else(|| InvocationError::Simulator("the Runtime API has ended".to_owned()))
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        // Without a runtime the server's task is gone already.
        if let (Some(server), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            drop(runtime.spawn(server.shutdown()));
        }
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Api").field(&self.0.as_ref().map(RuntimeApi::addr)).finish()
    }
}

impl Simulator {
    /// Starts `binary_path` with `environment` and what Lambda adds to it, and nothing from this process.
    ///
    /// # Errors
    /// [`InvocationError::Simulator`] when the process cannot be started.
    pub async fn start<K, V>(
        binary_path: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, InvocationError>
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let simulator = Self {
            binary_path: binary_path.into(),
            environment: environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            logs: Arc::default(),
            log_count: watch::Sender::new(0),
            invoking: tokio::sync::Mutex::new(()),
            process: Mutex::new(None),
        };
        simulator.living_process().await?;
        Ok(simulator)
    }

    /// Sends an event and waits for the answer; at `deadline` the process is killed. A frozen process is thawed first.
    ///
    /// # Errors
    /// See [`InvocationError`].
    pub async fn invoke(&self, event: Value, deadline: Duration) -> Result<Value, InvocationError> {
        self.invoke_with_header(event, deadline, false).await
    }

    /// As [`Simulator::invoke`], with the deadline header that some local runtimes send: a constant in 1970.
    ///
    /// # Errors
    /// See [`InvocationError`].
    pub async fn invoke_with_past_deadline(&self, event: Value, limit: Duration) -> Result<Value, InvocationError> {
        self.invoke_with_header(event, limit, true).await
    }

    /// Stops the process at once (SIGSTOP), be it at rest or in the middle of an invocation. The clock goes on.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets a frozen process go on (SIGCONT).
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks the process to end (SIGTERM), as the platform does before it takes an environment away.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills the process (SIGKILL), frozen or not.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Waits until the process has ended and says how.
    ///
    /// # Errors
    /// [`InvocationError::Simulator`] when it has not ended within ten seconds, or was never started.
    pub async fn ended(&self) -> Result<ExitStatus, InvocationError> {
        let process = self.process().clone().ok_or_else(|| InvocationError::Simulator("no process".to_owned()))?;
        process.ended().await
    }

    /// The process number of the function, for tools that look at it from outside.
    #[must_use]
    pub fn process_id(&self) -> Option<i32> {
        self.process().as_ref().map(|process| process.pid.as_raw_nonzero().get())
    }

    /// Every line the function has written so far, over all its lives, both outputs.
    #[must_use]
    pub fn logs(&self) -> Vec<String> {
        lock(&self.logs).clone()
    }

    /// Waits for a line that fulfils `predicate`, old or new, at most for `limit`.
    ///
    /// # Errors
    /// [`InvocationError::Simulator`] with all lines when there is none.
    pub async fn wait_for_log(
        &self,
        limit: Duration,
        predicate: impl Fn(&str) -> bool,
    ) -> Result<String, InvocationError> {
        let mut count = self.log_count.subscribe();
        let found = || lock(&self.logs).iter().find(|line| predicate(line)).cloned();
        let search = async {
            loop {
                count.borrow_and_update();
                if let Some(line) = found() {
                    return line;
                }
                if count.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let late = |_elapsed| InvocationError::Simulator(format!("no such line among {:#?}", self.logs()));
        tokio::time::timeout(limit, search).await.map_err(late)
    }

    async fn invoke_with_header(&self, event: Value, limit: Duration, past: bool) -> Result<Value, InvocationError> {
        let _one_at_a_time = self.invoking.lock().await;
        let process = self.living_process().await?;
        process.signal(Signal::CONT);
        let milliseconds = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let mut invocation = InvocationBuilder::new()
            .payload(event)
            .timeout_ms(milliseconds)
            .build()
            .map_err(|error| InvocationError::Simulator(error.to_string()))?;
        if past {
            // The default of this type is the beginning of 1970.
            invocation.deadline = Default::default();
        }
        let request_id = process.runtime_api.server()?.enqueue(invocation).await;
        let outcome = tokio::time::timeout(limit, process.answer(&request_id)).await;
        match outcome {
            Ok(answer) => answer,
            Err(_elapsed) => {
                process.signal(Signal::KILL);
                process.ended().await?;
                Err(InvocationError::DeadlineExceeded)
            }
        }
    }

    async fn living_process(&self) -> Result<Process, InvocationError> {
        let living = self.process().clone().filter(|process| process.exit.borrow().is_none());
        if let Some(process) = living {
            return Ok(process);
        }
        let process = self.launch().await?;
        *self.process() = Some(process.clone());
        Ok(process)
    }

    async fn launch(&self) -> Result<Process, InvocationError> {
        let failed = |error: &dyn std::fmt::Display| InvocationError::Simulator(error.to_string());
        let name = self.binary_path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let runtime_api = RuntimeApi::builder().function_name(name).build().await.map_err(|error| failed(&error))?;
        let platform: HashMap<String, String> = runtime_api.lambda_env_vars();
        let mut child = Command::new(&self.binary_path)
            .env_clear()
            .envs(platform)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(&format_args!("{}: {error}", self.binary_path.display())))?;
        let number = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pid = number.ok_or_else(|| failed(&"the process has no number"))?;
        self.collect(child.stdout.take());
        self.collect(child.stderr.take());
        Ok(Process { runtime_api: Arc::new(Api(Some(runtime_api))), pid, exit: reap(child) })
    }

    fn collect(&self, output: Option<impl AsyncRead + Send + Unpin + 'static>) {
        let Some(output) = output else { return };
        let (logs, count) = (Arc::clone(&self.logs), self.log_count.clone());
        tokio::spawn(async move {
            let mut lines = BufReader::new(output).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                lock(&logs).push(line);
                count.send_modify(|count| *count += 1);
            }
        });
    }

    fn signal(&self, signal: Signal) {
        if let Some(process) = self.process().as_ref() {
            process.signal(signal);
        }
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        lock(&self.process)
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Process {
    /// The answer to `request_id`, or the end of the process.
    async fn answer(&self, request_id: &str) -> Result<Value, InvocationError> {
        let runtime_api = self.runtime_api.server()?;
        let mut exit = self.exit.clone();
        let mut ended = false;
        loop {
            // Looked for once more after the end: an answer may have come just before.
            if let Some(answer) = answer_so_far(runtime_api, request_id).await {
                return answer;
            }
            if ended {
                let exit_code = exit.borrow().and_then(|status| status.code());
                return Err(InvocationError::Exited { exit_code });
            }
            tokio::select! {
                // Fails when the slice is over; then it is looked at again.
                _ = runtime_api.wait_for_invocation_complete(request_id, LOOK_AGAIN) => (),
                _ = exit.wait_for(Option::is_some) => ended = true,
            }
        }
    }

    /// Sends a signal unless the process is gone. It is reaped by a task of our own, which says so first.
    fn signal(&self, signal: Signal) {
        if self.exit.borrow().is_none() {
            // It may end at this very moment; then there is nothing left to signal.
            let _gone = kill_process(self.pid, signal);
        }
    }

    async fn ended(&self) -> Result<ExitStatus, InvocationError> {
        let mut exit = self.exit.clone();
        let status = tokio::time::timeout(DEATH_LIMIT, exit.wait_for(Option::is_some)).await;
        match status {
            Ok(Ok(status)) => (*status).ok_or_else(|| InvocationError::Simulator("no exit status".to_owned())),
            _ => Err(InvocationError::Simulator("the process does not end".to_owned())),
        }
    }
}

async fn answer_so_far(runtime_api: &RuntimeApi, request_id: &str) -> Option<Result<Value, InvocationError>> {
    let state = runtime_api.get_invocation_state(request_id).await?;
    match state.status {
        InvocationStatus::Success => Some(Ok(state.response.map(|response| response.payload).unwrap_or_default())),
        InvocationStatus::Error | InvocationStatus::Timeout => {
            let (error_type, error_message) =
                state.error.map(|error| (error.error_type, error.error_message)).unwrap_or_default();
            Some(Err(InvocationError::Function { error_type, error_message }))
        }
        InvocationStatus::Pending | InvocationStatus::InProgress => None,
    }
}

/// Waits for the child in the background, so that no zombie is left, and tells how it ended.
fn reap(mut child: Child) -> watch::Receiver<Option<ExitStatus>> {
    let (sender, receiver) = watch::channel(None);
    tokio::spawn(async move {
        if let Ok(status) = child.wait().await {
            sender.send_replace(Some(status));
        }
    });
    receiver
}

/// A list of lines is whole after every push, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The binary `name` of another package of this workspace, beside the running test (`claim`). Cargo does not build it for
/// the test: what lies there is as old as its last build.
///
/// # Errors
/// [`InvocationError::Simulator`] when it is not built.
pub fn built_binary(name: &str) -> Result<PathBuf, InvocationError> {
    let test = std::env::current_exe().map_err(|error| InvocationError::Simulator(error.to_string()))?;
    // A test runs from <profile>/deps/, binaries lie in <profile>/.
    let profile = test.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let binary = profile.join(name);
    if binary.is_file() {
        return Ok(binary);
    }
    let missing = format!("{} is not built; `cargo build --bins` in the tests' profile", binary.display());
    Err(InvocationError::Simulator(missing))
}
