//! One throwaway server for all processes of a test run.
//!
//! Each process holds the writing end of a named pipe for as long as it lives. The supervisor reads the other end: when the
//! last holder has gone it waits a little for the next test process, then stops the server and removes it. So nobody has to
//! tell it anything, and a killed test run leaves nothing behind.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::account::Account;
use crate::binaries::Search;
use crate::deadline::holds_within;
use crate::lock::Lock;
use crate::place::{self, Home};
use crate::postmaster::{self, Postmaster};
use crate::server::PORT;
use crate::supervisor::{Launch, Lifetime, Supervisor, take_hold};
use crate::{Error, cluster, settings, url};

/// A test process may wait for another one that is just making the cluster, on a loaded machine.
const ATTACH_SECONDS_MAX: u64 = 120;

/// Which shared server, and how it is made if there is none.
#[derive(Debug, Clone)]
pub struct SharedOptions {
    /// The folder under which shared servers live, one per account of the caller. Must be reachable by the server's account.
    pub base: PathBuf,
    /// What the users of one server must agree on, such as a fingerprint of what they put into it; letters and digits.
    /// Users with another key, or with another `PG_BIN_DIR`, get another server.
    pub key: String,
    /// How long the server stays after its last user has gone.
    pub linger: Duration,
    /// Further settings of the server, `name=value` each. They count only for the process that starts it.
    pub settings: Vec<String>,
    /// Where to look for the programs.
    pub search: Search,
}

impl SharedOptions {
    /// Name of the file that holds the name of the running server's folder.
    fn current_name(&self) -> String {
        let directory = self.search.directory.as_deref().map(place::short_hash).unwrap_or_default();
        format!("{CURRENT}{}{directory}", self.key)
    }
}

/// A hold on the shared server. The server stays at least until this is dropped or the process ends.
#[derive(Debug)]
pub struct SharedServer {
    home: Home,
    socket: PathBuf,
    _hold: File,
}

impl SharedServer {
    /// Takes hold of the running server, or starts one.
    ///
    /// # Errors
    /// When there is none and none can be started, or when another process does not get done with starting it.
    pub fn attach(options: &SharedOptions) -> Result<Self, Error> {
        let account = Account::choose()?;
        make_base(&options.base)?;
        let late = Error::TooLate { what: "the start of the shared server", seconds: ATTACH_SECONDS_MAX };
        let limit = Duration::from_secs(ATTACH_SECONDS_MAX);
        let _lock = Lock::take(&options.base.join("lock"), limit)?.ok_or(late)?;
        let current = options.base.join(options.current_name());
        if let Some(server) = fs::read_to_string(&current).ok().and_then(|name| take(options.base.join(name))) {
            return Ok(server);
        }
        clear(&options.base);
        let name = unique_name();
        fs::write(&current, &name).map_err(Error::io("write", &current))?;
        start(options, account, options.base.join(name))
    }

    /// As [`crate::EmbeddedServer::url`].
    #[must_use]
    pub fn url(&self, user: &str, database: &str) -> String {
        url::socket(&self.socket, PORT, user, database)
    }

    /// The postmaster's process number, while it runs.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        Postmaster::read(&self.home.data()).map(|found| found.process)
    }

    /// Where the data is.
    #[must_use]
    pub fn data_directory(&self) -> PathBuf {
        self.home.data()
    }
}

/// Takes hold of the server in `path` if it accepts connections, or will within the deadline.
fn take(path: PathBuf) -> Option<SharedServer> {
    let hold = take_hold(&path)?;
    let home = Home { path, relocated: false };
    let socket = PathBuf::from(fs::read_to_string(home.path.with_extension("socket")).ok()?);
    // A starter that was killed leaves a server that is still starting.
    let ready = || Postmaster::accepts(&home.data());
    let gone = || !home.path.join("users").exists();
    holds_within(Duration::from_secs(ATTACH_SECONDS_MAX), || ready() || gone());
    ready().then_some(SharedServer { home, socket, _hold: hold })
}

fn start(options: &SharedOptions, account: Account, path: PathBuf) -> Result<SharedServer, Error> {
    if !place::own_folder(&path, account)? || !account.can_use(&path) {
        return Err(Error::NoPlace { account: account.user, tried: vec![path] });
    }
    let binaries = options.search.find(account, None)?;
    let home = Home { path, relocated: false };
    cluster::initialise(&home, account, &binaries, false)?;
    let socket = place::socket_folder(&home.path, account)?;
    let note = home.path.with_extension("socket");
    fs::write(&note, socket.display().to_string()).map_err(Error::io("write", &note))?;
    let mut settings = settings::of(&socket, false);
    settings.extend(options.settings.iter().cloned());
    let program = binaries.program("postgres");
    let launch = Launch {
        account,
        home: &home,
        socket: &socket,
        program: &program,
        settings: &settings,
        lifetime: Lifetime::Shared { linger: options.linger },
        remove: true,
        ignored: None,
    };
    // The supervisor outlives this process on purpose and is not waited for.
    let (_supervisor, hold) = Supervisor::launch(&launch)?;
    let hold = hold.ok_or(Error::TooLate { what: "the hold on the shared server", seconds: 0 })?;
    Ok(SharedServer { home, socket, _hold: hold })
}

/// Removes what earlier servers left. One that somebody still holds is left alone.
fn clear(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        let names_nothing = |name: String| !base.join(name).exists();
        if entry.file_name().to_string_lossy().starts_with(CURRENT)
            && fs::read_to_string(&path).is_ok_and(names_nothing)
            && fs::remove_file(&path).is_err()
        {
            tracing::debug!(path = %path.display(), "a stale file stays behind");
        }
        if !path.is_dir() || !entry.file_name().to_string_lossy().starts_with(PREFIX) || is_supervised(&path) {
            continue;
        }
        let ended = postmaster::stop_orphan(&path.join("data"));
        let removed = fs::remove_dir_all(&path);
        let noted = fs::remove_file(path.with_extension("socket"));
        tracing::debug!(?ended, ?removed, ?noted, "cleared what an earlier shared server left");
    }
}

/// Whether a supervisor still reads the pipe, be it only to wait for the last user of a server that takes nobody new.
fn is_supervised(home: &Path) -> bool {
    home.join("users").exists() && crate::supervisor::has_reader(home)
}

/// What the names of the servers' folders begin with.
const PREFIX: &str = "cluster-";
/// What the names of the files begin with that name a running server's folder.
const CURRENT: &str = "current-";

/// A name that no other start of this machine has.
fn unique_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{PREFIX}{}-{}", std::process::id(), now.as_micros())
}

/// Makes the base, passable for the server's account, and makes sure that it is ours: others can write where it lies.
fn make_base(base: &Path) -> Result<(), Error> {
    let ours = rustix::process::geteuid().as_raw();
    if !base.exists() {
        fs::create_dir_all(base).map_err(Error::io("make the folder", base))?;
        fs::set_permissions(base, fs::Permissions::from_mode(0o711)).map_err(Error::io("make passable", base))?;
    }
    let found = fs::symlink_metadata(base).map_err(Error::io("look at", base))?;
    if !found.is_dir() || found.uid() != ours {
        return Err(Error::ForeignOwner { directory: base.to_owned(), owner: found.uid() });
    }
    Ok(())
}
