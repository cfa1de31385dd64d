//! Which database a command works on, and how it connects.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use secrecy::SecretString;
use tidemark_postgres::{EmbeddedServer, Options, RunningServer, SUPERUSER};
use tidemark_queue::{Connect, Connection};
use tidemark_runtime::{FixedTarget, PostgresConnector, Target};
use tokio_postgres::Client;

use crate::failure::Failure;
use crate::refusal::explain_connect;

/// Where `tidemark local` keeps its database.
pub(crate) const LOCAL_ROOT: &str = ".tidemark";
/// The database inside the embedded server.
const DATABASE: &str = "tidemark";
/// Who runs the functions there, with the same rights as in the cloud.
const WORKER: &str = "tidemark_worker";
/// How long a command waits for another process that is just starting or stopping the embedded server.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// What the person said about the database.
#[derive(Debug)]
pub(crate) struct Source {
    url: Option<String>,
}

impl Source {
    /// A given URL, or the embedded server.
    pub(crate) fn new(url: Option<String>) -> Self {
        Self { url: url.filter(|url| !url.trim().is_empty()) }
    }

    /// The given database, or the embedded one of `tidemark local`, running or started for this command.
    pub(crate) fn open(&self) -> anyhow::Result<Database> {
        let root = Path::new(LOCAL_ROOT);
        if let Some(url) = &self.url {
            return Ok(Database { admin_url: url.clone(), worker_url: url.clone(), embedded: None });
        }
        if let Some(running) = RunningServer::find(root) {
            return Ok(Database {
                admin_url: running.url(SUPERUSER, DATABASE),
                worker_url: running.url(WORKER, DATABASE),
                embedded: None,
            });
        }
        if !root.exists() {
            return Err(Failure::new(
                "no database is configured, and there is none of `tidemark local` in this folder",
                "set DATABASE_URL, or run `tidemark local --import FILE` first",
            )
            .into());
        }
        Database::embedded(root, false)
    }

    /// For `tidemark local`: the given database, or the embedded one, made if it is not there.
    pub(crate) fn open_or_create(&self, fresh: bool) -> anyhow::Result<Database> {
        match &self.url {
            Some(_) => self.open(),
            None => Database::embedded(Path::new(LOCAL_ROOT), fresh),
        }
    }

    /// Whether a database was named.
    pub(crate) fn is_given(&self) -> bool {
        self.url.is_some()
    }
}

/// A database to work on. Dropping it stops an embedded server that was started for it.
pub(crate) struct Database {
    admin_url: String,
    worker_url: String,
    embedded: Option<EmbeddedServer>,
}

impl Database {
    fn embedded(root: &Path, fresh: bool) -> anyhow::Result<Self> {
        let mut options = Options::durable(root);
        options.fresh = fresh;
        options.lock_wait = LOCK_WAIT;
        let server = EmbeddedServer::start(options).map_err(not_started)?;
        Ok(Self {
            admin_url: server.url(SUPERUSER, DATABASE),
            worker_url: server.url(WORKER, DATABASE),
            embedded: Some(server),
        })
    }

    /// A durable, migrated database in a server of its own under `root`.
    pub(crate) async fn fresh_in(root: &Path) -> anyhow::Result<Self> {
        let database = Self::embedded(root, true)?;
        database.ensure_exists().await?;
        tidemark_migrations::migrate(&mut database.admin().await?).await?;
        Ok(database)
    }

    /// Where an embedded server that was started here keeps its data.
    pub(crate) fn data_directory(&self) -> Option<PathBuf> {
        self.embedded.as_ref().map(EmbeddedServer::data_directory)
    }

    /// Makes the database inside an embedded server if it is not there yet.
    pub(crate) async fn ensure_exists(&self) -> anyhow::Result<()> {
        let Some(server) = &self.embedded else { return Ok(()) };
        let client = connect(&server.url(SUPERUSER, "postgres")).await?;
        let known =
            client.query_opt("SELECT FROM pg_catalog.pg_database WHERE datname = $1", &[&DATABASE]).await?.is_some();
        if !known {
            client.batch_execute("CREATE DATABASE tidemark").await?;
        }
        Ok(())
    }

    /// A connection with the rights of whoever operates the system.
    pub(crate) async fn admin(&self) -> anyhow::Result<Client> {
        connect(&self.admin_url).await
    }

    /// A connection to another database of the embedded server, with all rights.
    ///
    /// # Errors
    /// Where no embedded server was started here, or it does not let in.
    pub(crate) async fn admin_of(&self, name: &str) -> anyhow::Result<Client> {
        let server = self.embedded.as_ref().context("only a server of its own has further databases")?;
        connect(&server.url(SUPERUSER, name)).await
    }

    /// A connection as the functions have it.
    pub(crate) fn worker(&self, function: &str) -> anyhow::Result<Connection> {
        Ok(Connection::new(connector(&self.worker_url, &format!("tidemark-{function}"))?))
    }

    /// Opens connections as the functions have them.
    pub(crate) fn worker_connector(&self, function: &str) -> anyhow::Result<Arc<dyn Connect>> {
        connector(&self.worker_url, &format!("tidemark-{function}"))
    }
}

/// Says what to do about a server that does not start, where that is known.
fn not_started(error: tidemark_postgres::Error) -> anyhow::Error {
    const WHAT: &str = "the embedded PostgreSQL did not start";
    match &error {
        tidemark_postgres::Error::InUse { .. } => Failure::new(
            format!("{WHAT}: {error}"),
            "a `tidemark local` runs in this folder: `tidemark status` and `tidemark import` work beside it, Ctrl-C ends it",
        )
        .into(),
        // The system's words are part of the message; as a cause they would be said twice.
        tidemark_postgres::Error::Io { source, .. } => Failure::new(format!("{WHAT}: {error}"), remedy(source.kind())).into(),
        _ => anyhow::Error::new(error).context(WHAT),
    }
}

/// What to do about files that the server needs and cannot have.
fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "run it in a folder that you may write to, or name another database with --database-url or DATABASE_URL"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on this disk, then run it again",
        _ => "mend what the system says, or name another database with --database-url or DATABASE_URL",
    }
}

fn connector(url: &str, application_name: &str) -> anyhow::Result<Arc<dyn Connect>> {
    let target = Target::from_url(&SecretString::from(url), application_name).map_err(|reason| {
        Failure::usage(
            format!("the database URL cannot be used: {reason}"),
            "check --database-url or DATABASE_URL; the form is postgres://user:password@host:port/name",
        )
    })?;
    Ok(Arc::new(PostgresConnector::new(Arc::new(FixedTarget::new(target)))))
}

async fn connect(url: &str) -> anyhow::Result<Client> {
    let connector = connector(url, "tidemark")?;
    let session = connector.connect().await.map_err(|error| explain_connect(&error))?;
    Ok(session.into_client())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::told;

    #[test]
    fn a_folder_that_cannot_be_written_is_said_once_and_with_a_way_out() {
        let (action, path) = ("make the folder", PathBuf::from("/read/only/.tidemark"));
        for (number, words) in [(13, "Permission denied"), (30, "Read-only file system")] {
            let source = std::io::Error::from_raw_os_error(number);
            let failure = told(&not_started(tidemark_postgres::Error::Io { action, path: path.clone(), source }));
            assert_eq!(failure.what.matches(words).count(), 1, "{}", failure.what);
            assert!(failure.what.contains("/read/only/.tidemark"), "{}", failure.what);
            assert!(failure.next.contains("a folder that you may write to"), "{}", failure.next);
            assert_eq!(failure.code, 1);
        }
    }
}
