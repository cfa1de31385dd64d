//! The schema, forward only, and the one way to apply it. See `migrations/README.md` for what is safe.

mod catalogue;
mod runner;

pub use catalogue::{LATEST_VERSION, Migration, fingerprint, latest_version, migrations};
pub use runner::{MigrateError, Report, current_version, migrate, plan};
