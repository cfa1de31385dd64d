//! To be written.

use std::process::ExitCode;

use crate::database::Source;
use crate::output::Output;

/// Options.
#[derive(Debug, clap::Args)]
pub(crate) struct PauseOptions {}
/// Options.
#[derive(Debug, clap::Args)]
pub(crate) struct ResumeOptions {}

/// Runs the command.
pub(crate) async fn pause(_options: &PauseOptions, _source: &Source, _output: Output) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}

/// Runs the command.
pub(crate) async fn resume(_options: &ResumeOptions, _source: &Source, _output: Output) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
