//! The migrations, in order. A published one never changes; its hash is stored with it and compared.

use sha2::{Digest, Sha256};

/// One step of the schema.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Its place in the order, from 1 without gaps.
    pub version: i32,
    /// What it brings.
    pub name: &'static str,
    /// The statements, run in one transaction.
    pub sql: &'static str,
    /// Whether it runs as the migrating user instead of `tidemark_owner`, who does not exist before the first.
    pub as_migrator: bool,
}

impl Migration {
    /// SHA-256 of the statements, in hexadecimal.
    #[must_use]
    pub fn hash(&self) -> String {
        format!("{:x}", Sha256::digest(self.sql.as_bytes()))
    }
}

macro_rules! migrations {
    ($($version:literal $name:literal $file:literal $as_migrator:literal),+ $(,)?) => {
        const MIGRATIONS: &[Migration] = &[$(Migration {
            version: $version,
            name: $name,
            sql: include_str!(concat!("../sql/", $file)),
            as_migrator: $as_migrator,
        }),+];
    };
}

migrations! {
    1 "roles" "0001_roles.sql" true,
    2 "settings" "0002_settings.sql" false,
    3 "source" "0003_source.sql" false,
    4 "pipeline" "0004_pipeline.sql" false,
    5 "projections" "0005_projections.sql" false,
    6 "marking" "0006_marking.sql" false,
    7 "transitions" "0007_transitions.sql" false,
    8 "publish" "0008_publish.sql" false,
    9 "saving" "0009_saving.sql" false,
    10 "source_reading" "0010_source_reading.sql" false,
    11 "status" "0011_status.sql" false,
    12 "job_tables" "0012_job_tables.sql" false,
    13 "job_enqueue" "0013_job_enqueue.sql" false,
    14 "job_claim" "0014_job_claim.sql" false,
    15 "job_ends" "0015_job_ends.sql" false,
    16 "job_views" "0016_job_views.sql" false,
    17 "schedules" "0017_schedules.sql" false,
    18 "work" "0018_work.sql" false,
    19 "reading" "0019_reading.sql" false,
    20 "rebuilding" "0020_rebuilding.sql" false,
    21 "verifying" "0021_verifying.sql" false,
    22 "audit" "0022_audit.sql" false,
    23 "status_history" "0023_status_history.sql" false,
    24 "cron" "0024_cron.sql" false,
    25 "grants" "0025_grants.sql" false,
}

/// All migrations in the order in which they are applied.
#[must_use]
pub fn migrations() -> &'static [Migration] {
    MIGRATIONS
}

/// The version that a database has after all migrations. A constant, so that a function's binary can hold the number without
/// the statements.
pub const LATEST_VERSION: i32 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// [`LATEST_VERSION`].
#[must_use]
pub fn latest_version() -> i32 {
    LATEST_VERSION
}

/// A short hash over every migration; two builds with the same fingerprint make the same schema.
#[must_use]
pub fn fingerprint() -> String {
    let mut hasher = Sha256::new();
    for migration in MIGRATIONS {
        hasher.update(migration.sql.as_bytes());
        hasher.update([0]);
    }
    let mut text = format!("{:x}", hasher.finalize());
    text.truncate(16);
    text
}
