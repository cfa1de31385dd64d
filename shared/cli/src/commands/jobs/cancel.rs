//! `tidemark jobs cancel`.

use std::process::ExitCode;

use serde::Serialize;
use tidemark_queue::jobs;
use uuid::Uuid;

use super::distinct;
use crate::audit::{Change, Why};
use crate::database::Source;
use crate::output::Output;
use crate::refusal::{explain, explain_call};

/// Options of `tidemark jobs cancel`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    tidemark jobs cancel 0196b2f0-7c1e-7d3a-9c55-1f2e3d4c5b6a\n\n\
    A job that waits is dead at once, with code cancelled. A job that runs is asked to stop: its handler sees that at the \
    next renewal of its lease. Neither is tried again, and nobody is alerted.")]
pub(crate) struct CancelOptions {
    /// Which jobs
    #[arg(value_name = "JOB_ID", required = true)]
    job_ids: Vec<Uuid>,
    #[command(flatten)]
    why: Why,
}

/// What became of one job.
#[derive(Debug, Serialize)]
struct Cancelled {
    job_id: Uuid,
    outcome: Outcome,
}

/// As it is written in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Dead,
    Requested,
    Finished,
    Unknown,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Answer {
    jobs: Vec<Cancelled>,
}

/// Runs the command.
pub(crate) async fn run(options: &CancelOptions, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    let mut client = database.admin().await?;
    let mut cancelled = Vec::new();
    for job_id in distinct(&options.job_ids) {
        let transaction = client.transaction().await.map_err(explain)?;
        let outcome = jobs::cancel(&transaction, job_id).await.map_err(explain_call)?.into();
        let one = Cancelled { job_id, outcome };
        let mut remembered = Change::because("jobs cancel", job_id.to_string(), &options.why);
        remembered.record(&transaction, u64::from(one.is_cancelled())).await.map_err(explain)?;
        transaction.commit().await.map_err(explain)?;
        cancelled.push(one);
    }
    let answer = Answer { jobs: cancelled };
    output.answer(&answer, || answer.jobs.iter().map(Cancelled::describe).collect::<Vec<_>>().join("\n"))?;
    let all = answer.jobs.iter().all(Cancelled::is_cancelled);
    if !all {
        output.note("next: `tidemark jobs list --status pending` and `--status running` show what can be cancelled");
    }
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl From<jobs::Cancelled> for Outcome {
    fn from(cancelled: jobs::Cancelled) -> Self {
        match cancelled {
            jobs::Cancelled::Dead => Self::Dead,
            jobs::Cancelled::Requested => Self::Requested,
            jobs::Cancelled::Finished => Self::Finished,
            jobs::Cancelled::Unknown => Self::Unknown,
        }
    }
}

impl Cancelled {
    fn is_cancelled(&self) -> bool {
        matches!(self.outcome, Outcome::Dead | Outcome::Requested)
    }

    fn describe(&self) -> String {
        let words = match self.outcome {
            Outcome::Dead => "cancelled",
            Outcome::Requested => "runs; asked to stop, and not tried again",
            Outcome::Finished => "was over already",
            Outcome::Unknown => "there is no such job",
        };
        format!("{}: {words}", self.job_id)
    }
}
