//! One server that lives exactly as long as this process, or until it is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::binaries::{Binaries, Search};
use crate::lock::Lock;
use crate::place::{self, Home};
use crate::postmaster::{self, Postmaster};
use crate::supervisor::{Launch, Lifetime, Supervisor};
use crate::{Error, cluster, settings, url};

/// The port in the socket's name. Nothing listens on TCP: any local account could connect there without a password.
pub const PORT: u16 = 5432;
/// The superuser that `initdb` makes.
pub const SUPERUSER: &str = "postgres";

/// After a kill -9 a durable server gets this long for a fast shutdown before the immediate one; both lose nothing.
const GRACE_WHEN_KILLED: Duration = Duration::from_millis(60);
/// On an orderly end a durable server gets this long to write its checkpoint.
const GRACE_WHEN_STOPPED: Duration = Duration::from_secs(10);
/// A process that only asks whether the lock is held has it for an instant; that is not yet somebody else's server.
const LOCK_WAIT_MIN: Duration = Duration::from_millis(250);

/// What to start, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder for everything of this server. Where the server's account cannot reach it, the data is kept elsewhere;
    /// [`EmbeddedServer::data_directory`] tells where.
    pub root: PathBuf,
    /// Whether acknowledged commits survive a crash of the whole machine (`fsync`). A crash of the server alone never
    /// loses one, since `synchronous_commit` is on in both cases.
    pub durable: bool,
    /// Whether data of earlier runs is wiped first.
    pub fresh: bool,
    /// Whether everything is removed at the end, even after a kill -9 of this process.
    pub temporary: bool,
    /// How long to wait for another process that keeps the server of this root.
    pub lock_wait: Duration,
    /// Further settings of the server, `name=value` each.
    pub settings: Vec<String>,
    /// Where to look for the programs.
    pub search: Search,
}

impl Options {
    /// A persistent, durable server in `root`.
    #[must_use]
    pub fn durable(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            durable: true,
            fresh: false,
            temporary: false,
            lock_wait: Duration::ZERO,
            settings: Vec::new(),
            search: Search::from_environment(),
        }
    }

    /// A server in `root` without `fsync` whose files are removed at the end.
    #[must_use]
    pub fn throwaway(root: impl Into<PathBuf>) -> Self {
        Self { durable: false, fresh: true, temporary: true, ..Self::durable(root) }
    }
}

/// What other processes need to know to connect; kept beside the lock as `server.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningServer {
    /// The process that keeps the server.
    pub keeper: u32,
    /// The server's data folder.
    pub data_directory: PathBuf,
    /// The folder of its socket.
    pub socket_directory: PathBuf,
}

impl RunningServer {
    /// The server that another process keeps for `root` and that accepts connections now, if there is one.
    #[must_use]
    pub fn find(root: &Path) -> Option<Self> {
        let found = Self::read(root)?;
        (Lock::is_held(&lock_path(root)) && Postmaster::accepts(&found.data_directory)).then_some(found)
    }

    /// As [`EmbeddedServer::url`].
    #[must_use]
    pub fn url(&self, user: &str, database: &str) -> String {
        url::socket(&self.socket_directory, PORT, user, database)
    }

    fn read(root: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(state_path(root)).ok()?).ok()
    }

    fn write(&self, root: &Path) -> Result<(), Error> {
        let path = state_path(root);
        let text =
            serde_json::to_string(self).map_err(|error| Error::io("describe the server in", &path)(error.into()))?;
        fs::write(&path, text).map_err(Error::io("write", &path))
    }
}

/// A running server of this process. Dropping it stops the server.
///
/// All methods block; none takes longer than the deadlines in their text.
#[derive(Debug)]
pub struct EmbeddedServer {
    options: Options,
    account: Account,
    binaries: Binaries,
    home: Home,
    socket: PathBuf,
    supervisor: Supervisor,
    /// Let go last.
    _lock: Lock,
}

impl EmbeddedServer {
    /// Finds the programs, makes the cluster where there is none, ends a server that a killed process left on the same
    /// data, and starts one.
    ///
    /// # Errors
    /// [`Error::InUse`] when another live process keeps the server of this root; otherwise what stood in the way.
    pub fn start(mut options: Options) -> Result<Self, Error> {
        options.root = std::path::absolute(&options.root).map_err(Error::io("make absolute", &options.root))?;
        let root = &options.root;
        let chosen = Account::choose()?;
        place::make_root(root, chosen)?;
        let in_use =
            || Error::InUse { root: root.clone(), process: RunningServer::read(root).map(|found| found.keeper) };
        let lock = Lock::take(&lock_path(root), options.lock_wait.max(LOCK_WAIT_MIN))?.ok_or_else(in_use)?;
        let (home, account) = Home::prepare(root, chosen)?;
        postmaster::stop_orphan(&home.data())?;
        if options.fresh {
            cluster::wipe(&home)?;
        }
        let binaries = prepare_cluster(&options, &home, account)?;
        let socket = place::socket_folder(&home.path, account)?;
        let supervisor = launch(&options, account, &binaries, &home, &socket)?;
        let server = Self { options, account, binaries, home, socket, supervisor, _lock: lock };
        server.describe()?;
        Ok(server)
    }

    /// A libpq-style URL over the socket.
    #[must_use]
    pub fn url(&self, user: &str, database: &str) -> String {
        url::socket(&self.socket, PORT, user, database)
    }

    /// Where the data is.
    #[must_use]
    pub fn data_directory(&self) -> PathBuf {
        self.home.data()
    }

    /// Whether the data is not under the root that was asked for, because the server's account cannot reach that.
    #[must_use]
    pub fn is_relocated(&self) -> bool {
        self.home.relocated
    }

    /// The folder of the socket, closed to other accounts.
    #[must_use]
    pub fn socket_directory(&self) -> &Path {
        &self.socket
    }

    /// The server's own log.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.home.log()
    }

    /// The programs it runs.
    #[must_use]
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// The postmaster's process number.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.supervisor.postmaster
    }

    /// Whether the server still runs.
    pub fn is_running(&mut self) -> bool {
        self.supervisor.is_running()
    }

    /// `kill -9` for the server and all its processes at once; returns when none is left. [`Self::restart`] brings it back.
    ///
    /// # Errors
    /// When a killed process is still there after ten seconds.
    pub fn crash(&mut self) -> Result<(), Error> {
        self.supervisor.crash()
    }

    /// Stops the server if it runs and starts it again on the same data, socket and settings.
    ///
    /// # Errors
    /// When it does not start, with the end of its log.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.end(GRACE_WHEN_STOPPED);
        postmaster::stop_orphan(&self.home.data())?;
        self.supervisor = launch(&self.options, self.account, &self.binaries, &self.home, &self.socket)?;
        self.describe()
    }

    /// Stops the server: fast (up to ten seconds for its checkpoint), then immediately. As dropping it.
    pub fn stop(self) {}

    fn describe(&self) -> Result<(), Error> {
        let socket_directory = self.socket.clone();
        let state =
            RunningServer { keeper: std::process::id(), data_directory: self.data_directory(), socket_directory };
        state.write(&self.options.root)
    }

    fn end(&mut self, grace: Duration) {
        if self.supervisor.is_running() {
            self.supervisor.stop(grace);
        }
    }
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        if self.options.temporary {
            // The supervisor ends the server at once and removes what it kept.
            self.supervisor.abandon();
        } else {
            self.end(GRACE_WHEN_STOPPED);
        }
        // A supervisor that somebody killed has left its server behind.
        if let Err(error) = postmaster::stop_orphan(&self.home.data()) {
            tracing::warn!(%error, "the server could not be stopped");
        }
        if fs::remove_file(state_path(&self.options.root)).is_err() {
            tracing::debug!("the description of the server was removed already");
        }
        if self.options.temporary {
            self.home.remove();
        }
    }
}

/// Makes the cluster if there is none, and answers the programs of the version that made it.
fn prepare_cluster(options: &Options, home: &Home, account: Account) -> Result<Binaries, Error> {
    let data = home.data();
    let major = cluster::major_version(&data);
    let binaries = options.search.find(account, major).map_err(|error| match (error, major) {
        (Error::NoBinaries { .. }, Some(major)) => Error::OtherMajor { data_directory: data, major },
        (error, _) => error,
    })?;
    if major.is_none() {
        cluster::wipe(home)?;
        cluster::initialise(home, account, &binaries, options.durable)?;
    }
    Ok(binaries)
}

fn launch(
    options: &Options,
    account: Account,
    binaries: &Binaries,
    home: &Home,
    socket: &Path,
) -> Result<Supervisor, Error> {
    let mut settings = settings::of(socket, options.durable);
    settings.extend(options.settings.iter().cloned());
    let program = binaries.program("postgres");
    let launch = Launch {
        account,
        home,
        socket,
        program: &program,
        settings: &settings,
        lifetime: Lifetime::Own { grace: if options.durable { GRACE_WHEN_KILLED } else { Duration::ZERO } },
        remove: options.temporary,
        ignored: postmaster::misleading_number(&home.data()),
    };
    place::empty_socket_folder(socket)?;
    let (supervisor, _) = Supervisor::launch(&launch)?;
    tracing::info!(version = %binaries.version, data = %home.data().display(), "the server accepts connections");
    Ok(supervisor)
}

fn lock_path(root: &Path) -> PathBuf {
    root.join("lock")
}

fn state_path(root: &Path) -> PathBuf {
    root.join("server.json")
}
