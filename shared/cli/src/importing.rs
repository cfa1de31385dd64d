//! From an export file to stored workouts, with a progress bar.

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use tidemark_importers::storing::{self, Account, StoreOptions};
use tidemark_importers::{FILE_BYTES_MAX, Import, ImportError, ParseOptions};
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::failure::Failure;
use crate::refusal::explain;

const ZONE_IS_KNOWN: &str = include_str!("sql/zone_is_known.sql");

/// Reads and parses an export. A malformed one is refused as a whole.
pub(crate) fn read(file: &Path, options: &ParseOptions) -> anyhow::Result<Import> {
    let cannot = |error: std::io::Error| {
        Failure::new(format!("{} cannot be read: {error}", file.display()), "check the path and its permissions")
    };
    // Looked at before it is opened: a pipe without a writer would be waited for without end.
    let metadata = std::fs::metadata(file).map_err(cannot)?;
    if !metadata.is_file() {
        let kind = if metadata.is_dir() { "a folder" } else { "a pipe or device" };
        return Err(Failure::new(
            format!("{} is {kind} and no file; nothing was imported", file.display()),
            "give the path of one exported CSV file",
        )
        .into());
    }
    if metadata.len() > FILE_BYTES_MAX as u64 {
        let bytes = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        return Err(Failure::new(
            format!("{}: {}", file.display(), ImportError::TooLarge { bytes }),
            "nothing was imported; export a shorter period",
        )
        .into());
    }
    let bytes = std::fs::read(file).map_err(cannot)?;
    tidemark_importers::parse(&bytes, options).map_err(|error| {
        Failure::new(
            format!("{}: {error}", file.display()),
            "nothing was imported; mend the file or export it again, then repeat the import",
        )
        .into()
    })
}

/// Refuses what is surely no zone, before any database is asked or started.
pub(crate) fn check_zone_name(zone: &str) -> anyhow::Result<()> {
    if jiff::tz::TimeZone::get(zone).is_ok() { Ok(()) } else { Err(unknown_zone(zone)) }
}

/// Refuses a zone that the database does not know as wrong usage.
pub(crate) async fn check_zone(client: &Client, zone: &str) -> anyhow::Result<()> {
    let rows = client.query_typed(ZONE_IS_KNOWN, &[(&zone, Type::TEXT)]).await.map_err(explain)?;
    if rows.first().is_some_and(|row| row.get(0)) {
        return Ok(());
    }
    Err(unknown_zone(zone))
}

fn unknown_zone(zone: &str) -> anyhow::Error {
    Failure::usage(
        format!("no time zone `{zone}` is known; nothing was imported"),
        "give --zone a name of the IANA time zone database, such as Europe/Berlin or Asia/Seoul",
    )
    .into()
}

/// Stores the import for `user`.
pub(crate) async fn store(
    client: &mut Client,
    user: Uuid,
    import: &Import,
    options: StoreOptions<'_>,
) -> anyhow::Result<Account> {
    let bar = progress(import.workouts.iter().map(|workout| workout.sets.len() as u64).sum());
    let account = storing::store(client, user, import, options, |sets| bar.inc(sets)).await.map_err(explain)?;
    bar.finish_and_clear();
    Ok(account)
}

fn progress(sets: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("importing {bar:40} {pos}/{len} sets {per_sec}")
        .unwrap_or_else(|_template| ProgressStyle::default_bar());
    ProgressBar::new(sets).with_style(style)
}
