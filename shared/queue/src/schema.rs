//! Whether the schema and this build speak to each other: asked once on every new connection.
//!
//! A schema that is older than the build lacks what the build calls. A newer one is fine unless it says that it has left the
//! build behind, so that two versions can live side by side while the newer one is deployed.

use tidemark_migrations::LATEST_VERSION;
use tokio_postgres::Client;

use crate::Error;
use crate::statements::SCHEMA_VERSION;
use crate::step::missing_row;

/// Why the schema and this build do not speak to each other. Versions are numbers of migrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaMismatch {
    /// There is no schema, or none that can say its version.
    #[error("the database is not migrated; run `tidemark migrate`")]
    Missing,
    /// The schema is older than this build.
    #[error(
        "the schema is older than this build: it has version {found}, and the build needs {needed}; run the `tidemark migrate` of \
         the same release"
    )]
    SchemaOlder {
        /// The schema's version.
        found: i32,
        /// The version that this build was made for.
        needed: i32,
    },
    /// This build is older than the schema, which does not speak to it any more.
    #[error(
        "this build is older than the schema: it was made for version {built_for}, and the schema, version {found}, speaks to \
         builds from version {minimum} on; deploy the release that the schema was migrated with"
    )]
    BuildOlder {
        /// The schema's version.
        found: i32,
        /// The oldest build that it speaks to.
        minimum: i32,
        /// The version that this build was made for.
        built_for: i32,
    },
}

/// Refuses a schema that does not speak to this build. One round trip.
///
/// # Errors
/// [`Error::SchemaMismatch`], or what the connection or the server says.
pub(crate) async fn check(client: &Client) -> Result<(), Error> {
    let rows = client.query_typed(SCHEMA_VERSION, &[]).await.map_err(|error| missing(error.into()))?;
    let row = rows.first().ok_or_else(missing_row)?;
    Ok(compare(row.try_get(0)?, row.try_get(1)?)?)
}

/// A schema or function that is not there (3F000, 42883, 42P01) says that nothing was migrated.
fn missing(error: Error) -> Error {
    match &error {
        Error::Database { code, .. } if matches!(code.as_str(), "3F000" | "42883" | "42P01") => {
            SchemaMismatch::Missing.into()
        }
        _ => error,
    }
}

fn compare(found: i32, minimum: i32) -> Result<(), SchemaMismatch> {
    if found < LATEST_VERSION {
        return Err(SchemaMismatch::SchemaOlder { found, needed: LATEST_VERSION });
    }
    if minimum > LATEST_VERSION {
        return Err(SchemaMismatch::BuildOlder { found, minimum, built_for: LATEST_VERSION });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_schema_is_fine_until_it_says_that_it_has_left_this_build_behind() {
        let build = LATEST_VERSION;
        for minimum in [1, build] {
            for found in [build, build + 7] {
                assert_eq!(compare(found, minimum), Ok(()));
            }
        }
        let left_behind = SchemaMismatch::BuildOlder { found: build + 7, minimum: build + 1, built_for: build };
        assert_eq!(compare(build + 7, build + 1), Err(left_behind));
    }

    #[test]
    fn an_older_schema_is_refused_whatever_it_says() {
        let found = LATEST_VERSION - 1;
        assert_eq!(compare(found, 1), Err(SchemaMismatch::SchemaOlder { found, needed: LATEST_VERSION }));
    }
}
