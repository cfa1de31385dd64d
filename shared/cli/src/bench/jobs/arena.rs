//! Where contenders are measured: databases of one durable server, copied from templates that were filled once.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::system::System;
use crate::database::Database;

/// Jobs of one seeding statement.
const SEED_STEP: i32 = 10_000;
/// The copy that is measured.
pub(super) const COPY: &str = "bench_copy";
const DROP_COPY: &str = "DROP DATABASE IF EXISTS bench_copy WITH (FORCE)";
const WAL_BYTES: &str = "SELECT (pg_catalog.pg_current_wal_insert_lsn() - '0/0'::pg_catalog.pg_lsn)::bigint";

/// The server, and how to make databases in it.
#[derive(Clone, Copy)]
pub(super) struct Arena<'a> {
    database: &'a Database,
}

impl<'a> Arena<'a> {
    /// An arena on the server of `database`.
    pub(super) fn new(database: &'a Database) -> Self {
        Self { database }
    }

    /// Makes the template of a contender, with `jobs` pending jobs.
    pub(super) async fn prepare(&self, system: &System, jobs: i32) -> anyhow::Result<()> {
        self.server().await?.batch_execute(system.make).await?;
        let client = self.database.admin_of(system.template).await?;
        if let Some(schema) = system.schema {
            client.batch_execute(schema).await?;
        }
        let mut left = jobs;
        while left > 0 {
            let step = left.min(SEED_STEP);
            client.query_typed(system.seed, &[(&step, Type::INT4)]).await?;
            left -= step;
        }
        client.batch_execute("VACUUM ANALYZE").await?;
        Ok(())
    }

    /// A fresh copy of the contender's template, in place of the last copy. A checkpoint keeps what others left to be written out of
    /// the measurement.
    pub(super) async fn copy(&self, system: &System) -> anyhow::Result<()> {
        let server = self.server().await?;
        for statement in [DROP_COPY, system.copy, "CHECKPOINT"] {
            server.batch_execute(statement).await?;
        }
        Ok(())
    }

    /// A connection to the copy.
    pub(super) async fn connect(&self) -> anyhow::Result<Client> {
        self.database.admin_of(COPY).await
    }

    /// All WAL that the server has written so far.
    pub(super) async fn wal_bytes(&self) -> anyhow::Result<i64> {
        Ok(self.server().await?.query_one(WAL_BYTES, &[]).await?.get(0))
    }

    async fn server(&self) -> anyhow::Result<Client> {
        self.database.admin_of("postgres").await
    }
}
