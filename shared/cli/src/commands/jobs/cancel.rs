//! `tidemark jobs cancel`.

use std::process::ExitCode;

use serde::Serialize;
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::distinct;
use crate::database::Source;
use crate::output::Output;
use crate::refusal::explain;
use crate::statements::JOB_CANCEL;

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
}

/// What became of one job.
#[derive(Debug, Serialize)]
struct Cancelled {
    job_id: Uuid,
    /// `dead`, `requested`, `finished` or `unknown`.
    outcome: String,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Answer {
    jobs: Vec<Cancelled>,
}

/// Runs the command.
pub(crate) async fn run(options: &CancelOptions, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    let client = database.admin().await?;
    let mut jobs = Vec::new();
    for job_id in distinct(&options.job_ids) {
        jobs.push(Cancelled { job_id, outcome: cancel(&client, job_id).await? });
    }
    let answer = Answer { jobs };
    output.answer(&answer, || answer.jobs.iter().map(Cancelled::describe).collect::<Vec<_>>().join("\n"))?;
    let all = answer.jobs.iter().all(Cancelled::is_cancelled);
    if !all {
        output.note("next: `tidemark jobs list --status pending` and `--status running` show what can be cancelled");
    }
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn cancel(client: &Client, job_id: Uuid) -> anyhow::Result<String> {
    let rows = client.query_typed(JOB_CANCEL, &[(&job_id, Type::UUID)]).await.map_err(explain)?;
    let row = rows.first().ok_or_else(|| anyhow::anyhow!("the database did not say what became of job {job_id}"))?;
    Ok(row.try_get(0)?)
}

impl Cancelled {
    fn is_cancelled(&self) -> bool {
        matches!(self.outcome.as_str(), "dead" | "requested")
    }

    fn describe(&self) -> String {
        let words = match self.outcome.as_str() {
            "dead" => "cancelled",
            "requested" => "runs; asked to stop, and not tried again",
            "finished" => "was over already",
            "unknown" => "there is no such job",
            other => other,
        };
        format!("{}: {words}", self.job_id)
    }
}
