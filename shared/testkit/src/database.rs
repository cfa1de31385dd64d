//! A migrated database of a test's own, copied from a template on the shared server.

use std::sync::Arc;
use std::thread;

use tidemark_postgres::{SUPERUSER, SharedServer};
use tidemark_queue::Connect;
use tokio::sync::OnceCell;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::connector::{SocketConnector, open};
use crate::server;

/// The database that is there on every server; no test changes it.
const MAINTENANCE: &str = "postgres";
/// The role of the functions; the migrations make it.
const WORKER: &str = "tidemark_worker";
/// Key of the advisory lock under which the template is made, by one process of many.
const TEMPLATE_LOCK: i64 = 0x7469_6465_7465_7374;

/// Held until the process ends, and with it the shared server.
static SHARED: OnceCell<Shared> = OnceCell::const_new();

struct Shared {
    server: SharedServer,
    template: String,
}

/// A database with all migrations applied. Dropped together with this value.
///
/// The methods panic where the server refuses what a test relies on.
#[derive(Debug)]
pub struct TestDatabase {
    name: String,
    server: &'static SharedServer,
}

impl TestDatabase {
    /// A database of its own, like no other test's.
    ///
    /// # Panics
    /// When there is no server or a migration fails.
    pub async fn new() -> Self {
        let shared = shared().await;
        let maintenance = connect(&shared.server, SUPERUSER, MAINTENANCE).await;
        let name = unique_name();
        // Not `format!`: the server quotes the names.
        let statement = "select format('create database %I template %I strategy file_copy', $1::text, $2::text)";
        run(&maintenance, statement, &[&name, &shared.template]).await;
        Self { name, server: &shared.server }
    }

    /// A database without any migration, for tests of the migrations themselves. Roles are the server's and may be there.
    ///
    /// # Panics
    /// When there is no server.
    pub async fn empty() -> Self {
        let shared = shared().await;
        let maintenance = connect(&shared.server, SUPERUSER, MAINTENANCE).await;
        let name = unique_name();
        let statement = "select format('create database %I template template0 strategy file_copy', $1::text)";
        run(&maintenance, statement, &[&name]).await;
        Self { name, server: &shared.server }
    }

    /// Name of the database.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A libpq-style URL of this database for `user`, who needs no password.
    #[must_use]
    pub fn url_for(&self, user: &str) -> String {
        self.server.url(user, &self.name)
    }

    /// A new connection of the superuser.
    ///
    /// # Panics
    /// When the server refuses it.
    pub async fn admin(&self) -> Client {
        connect(self.server, SUPERUSER, &self.name).await
    }

    /// A new connection of the functions' role.
    ///
    /// # Panics
    /// When the server refuses it.
    pub async fn worker(&self) -> Client {
        connect(self.server, WORKER, &self.name).await
    }

    /// A new connection of `role`. A role that may not log in is taken on by the superuser's session, with its rights
    /// but without the settings that `ALTER ROLE` gave it.
    ///
    /// # Panics
    /// When there is no such role.
    pub async fn connect_as(&self, role: &str) -> Client {
        match open(&self.url_for(role)).await {
            Ok(client) => return client,
            // "role … is not permitted to log in"
            Err(error) if error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {}
            Err(error) => panic!("{role} cannot connect: {error}"),
        }
        let client = self.admin().await;
        let taken = client.query_one("select set_config('session_authorization', $1, false)", &[&role]).await;
        taken.expect("the role is there");
        client
    }

    /// Opens connections of `user`, as the runtime does for the functions.
    #[must_use]
    pub fn connector(&self, user: &str) -> Arc<dyn Connect> {
        Arc::new(SocketConnector::new(self.url_for(user)))
    }
}

impl Drop for TestDatabase {
    /// Best effort: what stays goes with the server. On a thread, because a test's runtime cannot be waited for here.
    fn drop(&mut self) {
        let (url, name) = (self.server.url(SUPERUSER, MAINTENANCE), self.name.clone());
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let client = open(&url).await.ok()?;
                let statement = "select format('drop database if exists %I with (force)', $1::text)";
                let row = client.query_one(statement, &[&name]).await.ok()?;
                client.batch_execute(row.get(0)).await.ok()
            })
        });
        if !matches!(dropping.join(), Ok(Some(()))) {
            eprintln!("the test database {} stays until its server goes", self.name);
        }
    }
}

async fn shared() -> &'static Shared {
    SHARED
        .get_or_init(|| async {
            let fingerprint = tidemark_migrations::fingerprint();
            let key = fingerprint.clone();
            let server = tokio::task::spawn_blocking(|| server::shared(key)).await.expect("there is a server");
            let template = format!("template_{fingerprint}");
            prepare_template(&server, &template).await;
            Shared { server, template }
        })
        .await
}

/// Makes the template unless it is there. It counts as there only once it is marked as a template, which is the last
/// step; a process that was killed on the way leaves one that is made anew.
async fn prepare_template(server: &SharedServer, template: &str) {
    let maintenance = connect(server, SUPERUSER, MAINTENANCE).await;
    // Held until this connection ends.
    maintenance.query_one("select pg_advisory_lock($1)", &[&TEMPLATE_LOCK]).await.expect("the lock can be had");
    let statement = "select exists (select from pg_database where datname = $1 and datistemplate)";
    let row = maintenance.query_one(statement, &[&template]).await.expect("the catalogue can be read");
    if row.get(0) {
        return;
    }
    run(&maintenance, "select format('drop database if exists %I with (force)', $1::text)", &[&template]).await;
    run(&maintenance, "select format('create database %I template template0', $1::text)", &[&template]).await;
    let mut client = connect(server, SUPERUSER, template).await;
    tidemark_migrations::migrate(&mut client).await.expect("the migrations apply");
    // A limit for one system; here as many share a role as tests run at once.
    client
        .batch_execute("ALTER ROLE tidemark_worker CONNECTION LIMIT -1")
        .await
        .expect("the superuser may change roles");
    drop(client);
    // No connections: a copy can only be made of a database that nobody uses.
    let statement = "select format('alter database %I with is_template true allow_connections false', $1::text)";
    run(&maintenance, statement, &[&template]).await;
}

async fn connect(server: &SharedServer, user: &str, database: &str) -> Client {
    open(&server.url(user, database)).await.expect("the server accepts connections")
}

/// Lets the server put the names into a statement and runs it.
async fn run(client: &Client, statement: &str, names: &[&(dyn tokio_postgres::types::ToSql + Sync)]) {
    let row = client.query_one(statement, names).await.expect("the names are text");
    client.batch_execute(row.get(0)).await.expect("the superuser may make and change databases");
}

fn unique_name() -> String {
    format!("test_{}", Uuid::new_v4().simple())
}
