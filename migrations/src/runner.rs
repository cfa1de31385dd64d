//! Applying migrations: one transaction, under a lock, all or nothing.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, GenericClient, Transaction};

use crate::catalogue::{Migration, latest_version, migrations};

/// Key of the transaction-level advisory lock that lets one migration run at a time in a database. Nothing but migrating
/// takes it, and it ends with the transaction, so that it works through a transaction pooler.
const LOCK_KEY: i64 = 0x7469_6465_6d61_726b;

/// What a migration run did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Version of the schema before; 0 in an empty database.
    pub from: i32,
    /// Version of the schema after.
    pub to: i32,
    /// Names of the migrations that were applied, or would be in a dry run.
    pub applied: Vec<String>,
}

/// Why the schema could not be brought up to date. Nothing of a failed run stays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// The database was migrated by a newer build.
    #[error("the database has schema version {found}, this build knows up to {known}; use a build at least as new")]
    Newer {
        /// Version found.
        found: i32,
        /// Newest version of this build.
        known: i32,
    },
    /// A migration that was applied has another text now.
    #[error("migration {version} ({name}) was applied with another text; published migrations never change")]
    Changed {
        /// Version of the migration.
        version: i32,
        /// Its name.
        name: String,
    },
    /// The server refused a statement or went away; only SQLSTATE is kept.
    #[error("the database refused the migration {migration} ({code})")]
    Refused {
        /// Which migration, or what else was under way.
        migration: String,
        /// SQLSTATE, or `connection`.
        code: String,
        /// The server's error, for a log that the operator alone reads.
        #[source]
        source: tokio_postgres::Error,
    },
}

impl MigrateError {
    /// A stable name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Newer { .. } => "SchemaNewer",
            Self::Changed { .. } => "MigrationChanged",
            Self::Refused { .. } => "MigrationRefused",
        }
    }

    /// What to do next. Nothing of a failed run stays, so that there is nothing to clean up.
    #[must_use]
    pub fn next(&self) -> &'static str {
        match self {
            Self::Newer { .. } => "use a release at least as new as the database",
            Self::Changed { .. } => "use the release that made this schema",
            Self::Refused { code, .. } if code == "42501" => {
                "migrate as the owner of the database, or as a role that may create roles"
            }
            Self::Refused { .. } => "mend the cause and migrate again",
        }
    }
}

fn refused(migration: &str) -> impl FnOnce(tokio_postgres::Error) -> MigrateError + '_ {
    move |source| MigrateError::Refused {
        migration: migration.to_owned(),
        code: source.code().map_or_else(|| "connection".to_owned(), |code| code.code().to_owned()),
        source,
    }
}

/// Applies the outstanding migrations. Waits for another run to end, then does what is left to do.
///
/// # Errors
/// [`MigrateError::Newer`] where the database is ahead of this build, [`MigrateError::Changed`] where history differs, and
/// [`MigrateError::Refused`] for whatever the server says.
pub async fn migrate(client: &mut Client) -> Result<Report, MigrateError> {
    let transaction = client.transaction().await.map_err(refused("begin"))?;
    let limits = "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '60s'; \
                  SET LOCAL client_min_messages = warning";
    transaction.batch_execute(limits).await.map_err(refused("begin"))?;
    lock(&transaction).await?;
    let (from, outstanding) = outstanding(&transaction).await?;
    let mut applied = Vec::new();
    for migration in outstanding {
        apply(&transaction, migration).await?;
        applied.push(migration.name.to_owned());
    }
    transaction.commit().await.map_err(refused("commit"))?;
    Ok(Report { from, to: latest_version(), applied })
}

/// What [`migrate`] would do now; changes nothing.
///
/// # Errors
/// As [`migrate`].
pub async fn plan(client: &Client) -> Result<Report, MigrateError> {
    let (from, outstanding) = outstanding(client).await?;
    let applied = outstanding.iter().map(|migration| migration.name.to_owned()).collect();
    Ok(Report { from, to: latest_version(), applied })
}

/// Version of the database's schema; 0 where nothing has been migrated.
///
/// # Errors
/// Whatever the server says.
pub async fn current_version<C: GenericClient>(client: &C) -> Result<i32, MigrateError> {
    Ok(applied(client).await?.last().map_or(0, |(version, _hash)| *version))
}

async fn lock(transaction: &Transaction<'_>) -> Result<(), MigrateError> {
    transaction
        .query_typed("SELECT pg_catalog.pg_advisory_xact_lock($1)", &[(&LOCK_KEY, Type::INT8)])
        .await
        .map_err(refused("lock"))?;
    Ok(())
}

/// Versions and hashes that the database has, in order.
async fn applied<C: GenericClient>(client: &C) -> Result<Vec<(i32, String)>, MigrateError> {
    let present = client
        .query_typed("SELECT pg_catalog.to_regclass('tidemark.schema_migrations') IS NOT NULL", &[])
        .await
        .map_err(refused("read"))?;
    if !present.iter().any(|row| row.get::<_, bool>(0)) {
        return Ok(Vec::new());
    }
    let rows = client
        .query_typed("SELECT version, hash FROM tidemark.schema_migrations ORDER BY version", &[])
        .await
        .map_err(refused("read"))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

async fn outstanding<C: GenericClient>(client: &C) -> Result<(i32, &'static [Migration]), MigrateError> {
    let applied = applied(client).await?;
    let from = applied.last().map_or(0, |(version, _hash)| *version);
    if from > latest_version() {
        return Err(MigrateError::Newer { found: from, known: latest_version() });
    }
    for ((version, hash), known) in applied.iter().zip(migrations()) {
        if *version != known.version || *hash != known.hash() {
            return Err(MigrateError::Changed { version: known.version, name: known.name.to_owned() });
        }
    }
    Ok((from, &migrations()[applied.len()..]))
}

async fn apply(transaction: &Transaction<'_>, migration: &Migration) -> Result<(), MigrateError> {
    tracing::info!(migration.version, migration.name, "applying migration");
    let role = if migration.as_migrator { "RESET ROLE" } else { "SET LOCAL ROLE tidemark_owner" };
    transaction.batch_execute(role).await.map_err(refused(migration.name))?;
    transaction.batch_execute(migration.sql).await.map_err(refused(migration.name))?;
    transaction.batch_execute("SET LOCAL ROLE tidemark_owner").await.map_err(refused(migration.name))?;
    transaction
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS tidemark.schema_migrations (
                version integer PRIMARY KEY,
                name text NOT NULL,
                hash text NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
            );
            ALTER TABLE tidemark.schema_migrations ENABLE ROW LEVEL SECURITY",
        )
        .await
        .map_err(refused(migration.name))?;
    transaction
        .query_typed(
            "INSERT INTO tidemark.schema_migrations (version, name, hash) VALUES ($1, $2, $3)",
            &[(&migration.version, Type::INT4), (&migration.name, Type::TEXT), (&migration.hash(), Type::TEXT)],
        )
        .await
        .map_err(refused(migration.name))?;
    transaction.batch_execute("RESET ROLE").await.map_err(refused(migration.name))
}
