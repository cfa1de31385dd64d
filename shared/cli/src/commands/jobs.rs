//! `tidemark jobs`: the general queue, job by job.

mod cancel;
mod enqueue;
mod list;
mod requeue;
mod show;

use std::process::ExitCode;

use uuid::Uuid;

use crate::database::Source;
use crate::output::Output;

/// Options of `tidemark jobs`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark jobs enqueue --type 3 --payload '{\"url\": \"https://example.com/hook\", \"body\": {}}'\n  \
    tidemark jobs list --status dead\n  \
    tidemark jobs requeue --all-dead --type 3")]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List jobs, the newest first, or those of one status, type or key
    List(list::ListOptions),
    /// Show everything that is known of one job
    Show(show::ShowOptions),
    /// Enqueue one job
    Enqueue(enqueue::EnqueueOptions),
    /// Let dead jobs wait again, with all their attempts before them
    Requeue(requeue::RequeueOptions),
    /// Cancel jobs that wait, and ask those that run to stop
    Cancel(cancel::CancelOptions),
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    match &options.action {
        Action::List(list) => list::run(list, source, output).await,
        Action::Show(show) => show::run(show, source, output).await,
        Action::Enqueue(enqueue) => enqueue::run(enqueue, source, output).await,
        Action::Requeue(requeue) => requeue::run(requeue, source, output).await,
        Action::Cancel(cancel) => cancel::run(cancel, source, output).await,
    }
}

/// Each id once, in the order in which they were typed first.
fn distinct(ids: &[Uuid]) -> Vec<Uuid> {
    let mut distinct = Vec::with_capacity(ids.len());
    for id in ids {
        if !distinct.contains(id) {
            distinct.push(*id);
        }
    }
    distinct
}

/// A number of jobs in words.
fn jobs(number: u64) -> String {
    if number == 1 { "one job".to_owned() } else { format!("{number} jobs") }
}
