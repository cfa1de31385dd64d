//! The tools that `tests/run template` installs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The root of the project.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// One of the tools, from where `tests/run` says they are, or where it puts them.
fn command(tool: &str) -> Command {
    let folder = std::env::var_os("TIDEMARK_TEST_TOOLS").map_or_else(
        // A test runs from <target>/<profile>/deps/.
        || std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("tools/python/bin"),
        PathBuf::from,
    );
    let path = folder.join(tool);
    assert!(path.exists(), "{tool} is not installed; next: run `tests/run template`, which installs it");
    let mut command = Command::new(path);
    // moto reads the local time where it means UTC; SAM wants to know a region and reports its use unless told not to.
    command
        .current_dir(root())
        .env("TZ", "UTC")
        .env("AWS_DEFAULT_REGION", "eu-central-1")
        .env("SAM_CLI_TELEMETRY", "0");
    command
}

fn run(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

/// What `script`, a file of this folder, prints.
pub(crate) fn python(script: &str, argument: Option<&str>, input: &[u8]) -> Vec<u8> {
    let mut command = command("python");
    command.arg(root().join("tests/template").join(script)).args(argument);
    let output = run(command, input);
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn assert_content(tool: &str, arguments: &[&str]) {
    let mut command = command(tool);
    command.args(arguments);
    let output = run(command, b"");
    let told = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&told));
}

#[test]
fn cfn_lint_finds_nothing() {
    assert_content("cfn-lint", &["--non-zero-exit-code", "informational", "template.yaml"]);
}

#[test]
fn sam_finds_the_template_valid() {
    assert_content("sam", &["validate", "--lint", "--template-file", "template.yaml"]);
}
