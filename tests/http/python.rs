//! The tools in Python, which `tests/run http` installs beside the build.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// Nothing here takes this long unless it hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// Path of a tool, from where `tests/run` says they are, or where it puts them.
fn tool(name: &str) -> PathBuf {
    let folder = std::env::var_os("TIDEMARK_TEST_TOOLS").map_or_else(
        // A test runs from <target>/<profile>/deps/.
        || std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("tools/http/bin"),
        PathBuf::from,
    );
    let path = folder.join(name);
    assert!(path.exists(), "{name} is not installed; next: run `tests/run http`, which installs it");
    path
}

/// Runs a tool to its end; whether it succeeded, and what it said.
pub(crate) async fn run(name: &str, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(tool(name));
    let folder = tempfile::tempdir().unwrap();
    command.args(arguments).current_dir(folder.path()).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(LIMIT, command.output()).await.expect("it ends").unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}
