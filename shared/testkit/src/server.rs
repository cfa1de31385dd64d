//! Servers for tests: a throwaway one shared by all test processes, and durable ones of a test's own.

use std::env;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::statvfs;
use tempfile::TempDir;
use tidemark_postgres::{EmbeddedServer, Options, SUPERUSER, Search, SharedOptions, SharedServer};
use tidemark_queue::Connect;
use tokio_postgres::Client;

use crate::connector::{SocketConnector, open};

/// The memory file system is used where it has this much room.
const MEMORY_BYTES_MIN: u64 = 1 << 30;
/// How long the shared server waits for the next test process.
const LINGER: Duration = Duration::from_secs(10);

/// Takes hold of the server that all test processes of this account, schema and `PG_BIN_DIR` share, or starts it.
pub(crate) fn shared(key: String) -> SharedServer {
    let name = format!("tidemark-test-{}", rustix::process::geteuid().as_raw());
    let options = SharedOptions {
        base: fast_folder().join(name),
        key,
        linger: LINGER,
        settings: vec!["max_connections=300".to_owned()],
        search: Search::from_environment(),
    };
    SharedServer::attach(&options).expect("the tests need a PostgreSQL server")
}

/// Making a database takes about 20 ms in memory and up to 0.8 s on disk.
fn fast_folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let room = statvfs(&memory).map(|found| found.f_bavail.saturating_mul(found.f_frsize)).unwrap_or(0);
    if room >= MEMORY_BYTES_MIN { memory } else { env::temp_dir() }
}

/// A durable server of a test's own, which it may crash. Stopped and removed when it is dropped.
///
/// The methods block and panic where the server does not do what a test relies on.
#[derive(Debug)]
pub struct Server {
    embedded: EmbeddedServer,
    _folder: TempDir,
}

impl Server {
    /// Starts an empty server on disk with `fsync` on.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// As [`Server::start`], with further settings, `name=value` each.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start_with(settings: &[&str]) -> Self {
        // The server's account is another one where the tests run as root.
        let passable = Permissions::from_mode(0o711);
        let folder = tempfile::Builder::new().prefix("tidemark-server-").permissions(passable).tempdir();
        let folder = folder.expect("the temporary folder is writable");
        let mut options = Options { fresh: true, temporary: true, ..Options::durable(folder.path()) };
        // Files in the data folder: a crashed server that is not restarted leaves nothing in the system's shared memory.
        options.settings.push("dynamic_shared_memory_type=mmap".to_owned());
        options.settings.extend(settings.iter().map(|&setting| setting.to_owned()));
        let embedded = EmbeddedServer::start(options).expect("the tests need a PostgreSQL server");
        Self { embedded, _folder: folder }
    }

    /// `kill -9` for all its processes at once. Returns when none is left.
    ///
    /// # Panics
    /// When a killed process stays.
    pub fn crash(&mut self) {
        self.embedded.crash().expect("a killed server ends");
    }

    /// Starts it again on the same data, socket and settings, after a crash or in order, and waits until it accepts
    /// connections.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        self.embedded.restart().expect("the server comes back");
    }

    /// Whether it runs.
    pub fn is_running(&mut self) -> bool {
        self.embedded.is_running()
    }

    /// A libpq-style URL over its socket. `postgres` is the superuser and a database.
    #[must_use]
    pub fn url(&self, user: &str, database: &str) -> String {
        self.embedded.url(user, database)
    }

    /// A new connection of the superuser to `database`.
    ///
    /// # Panics
    /// When the server refuses it.
    pub async fn admin(&self, database: &str) -> Client {
        open(&self.url(SUPERUSER, database)).await.expect("the superuser may connect")
    }

    /// Brings the schema of `database` up to date.
    ///
    /// # Panics
    /// When a migration fails.
    pub async fn migrate(&self, database: &str) {
        let mut client = self.admin(database).await;
        tidemark_migrations::migrate(&mut client).await.expect("the migrations apply");
    }

    /// Opens connections of `user` to `database`, also after a restart.
    #[must_use]
    pub fn connector(&self, user: &str, database: &str) -> Arc<dyn Connect> {
        Arc::new(SocketConnector::new(self.url(user, database)))
    }
}
