//! `tidemark import`: one workout export for one user.

use std::path::PathBuf;
use std::process::ExitCode;

use tidemark_importers::ParseOptions;
use tidemark_importers::storing::StoreOptions;
use tidemark_stats::Unit;
use uuid::Uuid;

use crate::database::Source;
use crate::importing;
use crate::output::Output;

/// Options of `tidemark import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    tidemark import hevy.csv --user 7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f --zone Europe/Berlin\n\n\
    Formats are recognised by content: Strong, Hevy, FitNotes, StrongLifts, Fitbod, GymBook. Importing a file again adds what
    is new in it.")]
pub(crate) struct Options {
    /// The export
    file: PathBuf,
    /// Whose workouts these are
    #[arg(long, value_name = "UUID")]
    user: Uuid,
    /// Unit of the weights, for files that do not say [default: kg]
    #[arg(long, value_name = "kg|lb")]
    unit: Option<Unit>,
    /// Time zone of the file's local times [default: the zone of the user's profile, else UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Take the file's version of workouts that were imported before and are different now
    #[arg(long)]
    replace: bool,
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let import = importing::read(&options.file, &ParseOptions { unit: options.unit })?;
    let database = source.open()?;
    let mut client = database.admin().await?;
    if let Some(zone) = &options.zone {
        importing::check_zone(&client, zone).await?;
    }
    let stored_as = StoreOptions { zone: options.zone.as_deref(), replace: options.replace };
    let account = importing::store(&mut client, options.user, &import, stored_as).await?;
    output.answer(&account, || account.describe())?;
    Ok(ExitCode::SUCCESS)
}
