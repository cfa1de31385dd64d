//! `cargo lambda watch`, which builds each function when it is first asked for and runs it.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tidemark_tests::until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// The longest anything takes here: a function may have to be built first.
const LIMIT: Duration = Duration::from_secs(600);

/// A running `cargo lambda watch`.
pub(crate) struct Watch {
    child: Child,
    port: u16,
}

impl Watch {
    /// Starts it at the root of the project and waits until it listens.
    pub(crate) async fn start(variables: &[(&str, &str)]) -> Self {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let mut command = cargo_lambda();
        command.args([
            "watch",
            "--ignore-changes",
            "--invoke-address",
            "127.0.0.1",
            "--invoke-port",
            &port.to_string(),
        ]);
        command.envs(variables.iter().copied());
        let child = command.spawn().unwrap();
        let watch = Self { child, port };
        until("cargo lambda watch listens", async || TcpStream::connect(watch.authority()).await.is_ok()).await;
        watch
    }

    /// Its address, as `--lambda` takes it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.authority())
    }

    fn authority(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What a function answers to an event, through `cargo lambda invoke`.
    pub(crate) async fn invoke(&self, function: &str, event: &str) -> Value {
        let mut command = cargo_lambda();
        command.args(["invoke", function, "--data-ascii", event, "--invoke-address", "127.0.0.1"]);
        command.args(["--invoke-port", &self.port.to_string()]);
        let output = tokio::time::timeout(LIMIT, command.output()).await.expect("it ends").unwrap();
        let (told, problem) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{function}: {told}{problem}");
        serde_json::from_str(&told).unwrap_or_else(|error| panic!("{function}: {error}: {told}{problem}"))
    }

    /// Status line and body of a GET of the status function's URL.
    pub(crate) async fn get(&self, path: &str, token: Option<&str>) -> (String, String) {
        let mut stream = TcpStream::connect(self.authority()).await.unwrap();
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let host = self.authority();
        let request =
            format!("GET /lambda-url/status{path} HTTP/1.0\r\nHost: {host}\r\n{token}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        tokio::time::timeout(LIMIT, stream.read_to_end(&mut answer)).await.expect("it answers").unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }

    /// Asks it to end, and waits until it and its functions have.
    pub(crate) async fn end(mut self) {
        let process = Pid::from_raw(self.child.id().unwrap().try_into().unwrap()).unwrap();
        kill_process(process, Signal::INT).unwrap();
        tokio::time::timeout(LIMIT, self.child.wait()).await.expect("it ends").unwrap();
    }
}

/// `cargo lambda`, from where `tests/run` says it is, or where it puts it.
fn cargo_lambda() -> Command {
    // A test runs from <target>/<profile>/deps/.
    let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned();
    let tools = std::env::var_os("TIDEMARK_TEST_TOOLS").map_or_else(|| target.join("tools/python/bin"), PathBuf::from);
    let program = tools.join("cargo-lambda");
    assert!(program.exists(), "cargo-lambda is not installed; next: run `tests/run lambda`, which installs it");
    let mut command = Command::new(program);
    command.arg("lambda").current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
    command.env("CARGO_TARGET_DIR", target).env_remove("DATABASE_URL").env_remove("RUST_LOG");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    command
}
