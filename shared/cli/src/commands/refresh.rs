//! To be written.

use std::process::ExitCode;

use crate::database::Source;
use crate::output::Output;

/// Options.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

/// Runs the command.
pub(crate) async fn run(_options: &Options, _source: &Source, _output: Output) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
