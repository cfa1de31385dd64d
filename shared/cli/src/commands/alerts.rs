//! `tidemark alerts`: what was raised, and whether alerts arrive.

mod list;
mod test;

use std::process::ExitCode;

use crate::database::Source;
use crate::output::Output;

/// Options of `tidemark alerts`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark alerts list\n  \
    ALERT_TARGETS=slack=https://hooks.slack.com/services/… tidemark alerts test")]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List open alerts and what to do about each
    List(list::ListOptions),
    /// Send a test alert to every target of ALERT_TARGETS
    Test(test::TestOptions),
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    match &options.action {
        Action::List(list) => list::run(list, source, output).await,
        Action::Test(_) => test::run(output).await,
    }
}
