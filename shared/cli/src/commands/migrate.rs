//! `tidemark migrate`: bring the schema up to date, under a lock.

use std::process::ExitCode;

use anyhow::Context;
use tidemark_migrations::{MigrateError, Report};

use crate::database::{Database, Source};
use crate::failure::Failure;
use crate::output::Output;

/// Options of `tidemark migrate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tidemark migrate --dry-run --database-url postgres://owner@db.example.com/app")]
pub(crate) struct Options {
    /// Only say what would be applied
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    database.ensure_exists().await?;
    let report = if options.dry_run {
        let client = database.admin().await?;
        tidemark_migrations::plan(&client).await.map_err(explain)?
    } else {
        apply(&database).await?
    };
    output.answer(&report, || describe(&report, options.dry_run))?;
    Ok(ExitCode::SUCCESS)
}

/// Applies what is outstanding.
pub(crate) async fn apply(database: &Database) -> anyhow::Result<Report> {
    let mut client = database.admin().await?;
    tidemark_migrations::migrate(&mut client).await.map_err(explain).context("the schema was left as it was")
}

fn explain(error: MigrateError) -> anyhow::Error {
    let next = format!("{}; nothing was changed", error.next());
    let detail = match &error {
        MigrateError::Refused { source, .. } => source.as_db_error().map(|error| error.message().to_owned()),
        _ => None,
    };
    let what = detail.map_or_else(|| error.to_string(), |detail| format!("{error}: {detail}"));
    Failure::new(what, next).into()
}

fn describe(report: &Report, dry_run: bool) -> String {
    if report.applied.is_empty() {
        return format!("the schema is up to date (version {})", report.to);
    }
    let verb = if dry_run { "would be applied" } else { "applied" };
    format!("{} {verb}: version {} -> {}", report.applied.join(", "), report.from, report.to)
}
