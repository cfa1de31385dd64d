//! The real binaries, built when a test first asks for them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A function's binary (`claim`, `compute`, `publish`, `status`, `work`).
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn function(name: &str) -> PathBuf {
    built(&format!("tidemark-{name}-function"), name)
}

/// The command line.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn tidemark() -> PathBuf {
    built("tidemark-cli", "tidemark")
}

/// Builds once per test process, in the profile and target folder of the running test: cargo builds no binaries of other
/// packages for a test. `TIDEMARK_BINARIES=built` says that this has been done.
fn built(package: &str, binary: &str) -> PathBuf {
    static BUILT: OnceLock<Mutex<HashMap<String, Arc<OnceLock<()>>>>> = OnceLock::new();
    let once = {
        let mut built = BUILT.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(built.entry(package.to_owned()).or_default())
    };
    let test = std::env::current_exe().expect("the test knows its own path");
    // A test runs from <target>/<profile>/deps/.
    let profile = test.parent().and_then(Path::parent).expect("the test lies in a target folder");
    once.get_or_init(|| {
        if std::env::var_os("TIDEMARK_BINARIES").is_some_and(|state| state == "built") {
            return;
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["build", "--quiet", "--package", package]);
        command.arg("--target-dir").arg(profile.parent().expect("a profile lies in the target folder"));
        if profile.ends_with("release") {
            command.arg("--release");
        }
        let status = command.status().expect("cargo can be run");
        assert!(status.success(), "{package} cannot be built");
    });
    profile.join(binary)
}
