//! One file per command.

pub(crate) mod alerts;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod doctor;
pub(crate) mod import;
pub(crate) mod jobs;
pub(crate) mod local;
pub(crate) mod migrate;
pub(crate) mod pause;
pub(crate) mod refresh;
pub(crate) mod settings;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod tick;

use std::process::ExitCode;

use crate::arguments::{Arguments, Command};
use crate::database::Source;
use crate::output::Output;

/// Runs the command that was asked for.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let output = Output::new(arguments.json);
    let source = Source::new(arguments.database_url);
    match arguments.command {
        Command::Local(options) => local::run(&options, &source, output).await,
        Command::Migrate(options) => migrate::run(&options, &source, output).await,
        Command::Import(options) => import::run(&options, &source, output).await,
        Command::Stats(options) => stats::run(&options, &source, output).await,
        Command::Status(options) => status::run(&options, &source, output).await,
        Command::Settings(options) => settings::run(&options, &source, output).await,
        Command::Pause(options) => pause::pause(&options, &source, output).await,
        Command::Resume(options) => pause::resume(&options, &source, output).await,
        Command::Refresh(options) => refresh::run(&options, &source, output).await,
        Command::Jobs(options) => jobs::run(&options, &source, output).await,
        Command::Alerts(options) => alerts::run(&options, &source, output).await,
        Command::Audit(options) => audit::run(&options, &source, output).await,
        Command::Bench(options) => bench::run(&options, output).await,
        Command::Doctor(options) => doctor::run(&options, &source, output).await,
        Command::Tick(options) => tick::run(&options, &source, output).await,
    }
}
