//! `tidemark jobs requeue`.

use std::process::ExitCode;
use std::time::Duration;

use indicatif::ProgressBar;
use jiff::Timestamp;
use serde::Serialize;
use tidemark_queue::jobs::Status;
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::{distinct, jobs};
use crate::audit::{self, Change, Why};
use crate::database::Source;
use crate::failure::Failure;
use crate::output::Output;
use crate::refusal::explain;
use crate::statements::{JOBS_DEAD_BATCH, JOBS_DEAD_COUNTS, JOBS_REQUEUE};

/// Jobs per statement: whoever enqueues with one of their keys waits until it ends.
const JOBS_PER_STATEMENT: i64 = 200;

/// Jobs of a bulk requeue that are named on the screen; of more, only the number is told.
const NAMED_MAX: usize = 20;

/// Options of `tidemark jobs requeue`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark jobs requeue 0196b2f0-7c1e-7d3a-9c55-1f2e3d4c5b6a\n  \
    tidemark jobs requeue --all-dead --type 7         says how many there are\n  \
    tidemark jobs requeue --all-dead --type 7 --yes   lets them wait again\n\n\
    Mend the cause first: `tidemark jobs list --status dead` shows the errors. A job whose key an active job has stays \
    dead. --all-dead leaves out jobs that somebody cancelled; name those.")]
pub(crate) struct RequeueOptions {
    /// Which jobs
    #[arg(value_name = "JOB_ID", required_unless_present = "all_dead")]
    job_ids: Vec<Uuid>,
    /// Every dead job that nobody cancelled
    #[arg(long, conflicts_with = "job_ids")]
    all_dead: bool,
    /// With --all-dead: those of this type only
    #[arg(long = "type", value_name = "N", requires = "all_dead", conflicts_with = "job_ids", value_parser = clap::value_parser!(i32).range(1..))]
    job_type: Option<i32>,
    /// With --all-dead: do it
    #[arg(long, requires = "all_dead", conflicts_with = "job_ids")]
    yes: bool,
    #[command(flatten)]
    why: Why,
}

/// What became of one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Answer {
    job_id: Uuid,
    /// `pending`, `twin`, `not_dead` or `unknown`.
    outcome: &'static str,
    /// The active job that has its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    active_job_id: Option<Uuid>,
    /// What it is instead of dead.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
}

/// The answer.
#[derive(Debug, Default, Serialize)]
struct Requeued {
    /// How many wait again.
    requeued: u64,
    /// Dead jobs that were left because somebody had cancelled them.
    cancelled_left: u64,
    /// What became of each named job; with --all-dead, of those that do not wait again.
    jobs: Vec<Answer>,
}

/// Dead jobs of one type.
#[derive(Debug)]
struct Dead {
    job_type: i32,
    number: u64,
    cancelled: u64,
    counted_at: Timestamp,
}

/// Runs the command.
pub(crate) async fn run(options: &RequeueOptions, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    let mut client = database.admin().await?;
    if options.all_dead {
        let requeued = all_dead(options, &mut client).await?;
        output.answer(&requeued, || requeued.describe_all())?;
        return Ok(ExitCode::SUCCESS);
    }
    let ids = distinct(&options.job_ids);
    let mut remembered = Change::because("jobs requeue", audit::listed(&ids), &options.why);
    let answers = requeue(&mut client, &ids, &mut remembered).await?;
    let requeued = Requeued { requeued: pending(&answers), cancelled_left: 0, jobs: answers };
    output.answer(&requeued, || requeued.jobs.iter().map(Answer::describe).collect::<Vec<_>>().join("\n"))?;
    let left = requeued.jobs.iter().any(|answer| answer.outcome != "pending");
    if left {
        output.note("next: `tidemark jobs show JOB_ID` shows what a job is; only a dead one can be requeued");
    }
    Ok(if left { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Requeues these jobs; answers in the order of the ids.
async fn requeue(client: &mut Client, ids: &[Uuid], remembered: &mut Change) -> anyhow::Result<Vec<Answer>> {
    let transaction = client.transaction().await.map_err(explain)?;
    let rows = transaction.query_typed(JOBS_REQUEUE, &[(&ids, Type::UUID_ARRAY)]).await.map_err(explain)?;
    let mut answers = Vec::with_capacity(rows.len());
    for row in rows {
        let (outcome, status): (&str, Option<i16>) = (row.try_get(1)?, row.try_get(3)?);
        let outcome = match outcome {
            "pending" => "pending",
            "twin" => "twin",
            _ if status.is_some() => "not_dead",
            _ => "unknown",
        };
        let state = status.and_then(Status::of_number).map(Status::word);
        answers.push(Answer { job_id: row.try_get(0)?, outcome, active_job_id: row.try_get(2)?, state });
    }
    remembered.record(&transaction, pending(&answers)).await.map_err(explain)?;
    transaction.commit().await.map_err(explain)?;
    answers.sort_by_key(|answer| ids.iter().position(|id| *id == answer.job_id));
    Ok(answers)
}

async fn all_dead(options: &RequeueOptions, client: &mut Client) -> anyhow::Result<Requeued> {
    let counts = count(options.job_type, client).await?;
    let number = counts.iter().map(|dead| dead.number).sum::<u64>();
    let mut requeued =
        Requeued { cancelled_left: counts.iter().map(|dead| dead.cancelled).sum(), ..Requeued::default() };
    let Some(until) = counts.first().map(|dead| dead.counted_at).filter(|_time| number > 0) else {
        return Ok(requeued);
    };
    if !options.yes {
        return Err(not_yet(options.job_type, number, &counts).into());
    }
    let progress = ProgressBar::new(number).with_message("requeueing");
    progress.enable_steady_tick(Duration::from_millis(100));
    let chosen = options.job_type.map_or_else(String::new, |number| format!(" --type {number}"));
    let mut remembered = Change::because("jobs requeue", format!("--all-dead{chosen}"), &options.why);
    let mut cursor = Cursor { job_type: options.job_type, after: None, after_id: Uuid::nil(), until };
    loop {
        let ids = cursor.next(client).await?;
        if ids.is_empty() {
            progress.finish_and_clear();
            return Ok(requeued);
        }
        let answers = requeue(client, &ids, &mut remembered).await?;
        requeued.requeued += pending(&answers);
        progress.inc(ids.len() as u64);
        requeued.jobs.extend(answers.into_iter().filter(|answer| answer.outcome != "pending"));
    }
}

/// Goes through the dead jobs in the order in which they died. None is looked at twice: what dies again meanwhile did so later
/// than the count, and what stays dead is passed.
#[derive(Debug)]
struct Cursor {
    job_type: Option<i32>,
    after: Option<Timestamp>,
    after_id: Uuid,
    until: Timestamp,
}

impl Cursor {
    /// The next batch; empty at the end.
    async fn next(&mut self, client: &Client) -> anyhow::Result<Vec<Uuid>> {
        let parameters = [
            (&self.job_type as _, Type::INT4),
            (&self.after as _, Type::TIMESTAMPTZ),
            (&self.after_id as _, Type::UUID),
            (&self.until as _, Type::TIMESTAMPTZ),
            (&JOBS_PER_STATEMENT as _, Type::INT8),
        ];
        let rows = client.query_typed(JOBS_DEAD_BATCH, &parameters).await.map_err(explain)?;
        let ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<Uuid>, _>>()?;
        if let (Some(row), Some(id)) = (rows.last(), ids.last()) {
            (self.after, self.after_id) = (Some(row.try_get(1)?), *id);
        }
        Ok(ids)
    }
}

/// How many jobs are dead, by type.
async fn count(job_type: Option<i32>, client: &Client) -> anyhow::Result<Vec<Dead>> {
    let rows = client.query_typed(JOBS_DEAD_COUNTS, &[(&job_type, Type::INT4)]).await.map_err(explain)?;
    let mut counts = Vec::with_capacity(rows.len());
    for row in rows {
        let number = |index: usize| row.try_get::<_, i64>(index).map(i64::unsigned_abs);
        counts.push(Dead {
            job_type: row.try_get(0)?,
            number: number(1)?,
            cancelled: number(2)?,
            counted_at: row.try_get(3)?,
        });
    }
    Ok(counts)
}

/// The counts, for whoever has not said yes.
fn not_yet(job_type: Option<i32>, number: u64, counts: &[Dead]) -> Failure {
    let by_type: Vec<String> = counts
        .iter()
        .filter(|dead| dead.number > 0)
        .map(|dead| format!("{} of type {}", dead.number, dead.job_type))
        .collect();
    let type_option = job_type.map(|number| format!(" --type {number}")).unwrap_or_default();
    Failure::usage(
        format!("{} would wait again: {}; nothing was changed", jobs(number), by_type.join(", ")),
        format!("mend the cause, then `tidemark jobs requeue --all-dead{type_option} --yes`"),
    )
}

fn pending(answers: &[Answer]) -> u64 {
    answers.iter().filter(|answer| answer.outcome == "pending").count() as u64
}

impl Answer {
    fn describe(&self) -> String {
        let id = self.job_id;
        match (self.outcome, self.active_job_id, self.state) {
            ("pending", ..) => format!("{id}: pending"),
            ("twin", Some(active), _) => format!("{id}: stays dead, a twin of job {active}, which is active"),
            ("not_dead", _, Some(state)) => format!("{id}: not dead: it is {state}"),
            ("unknown", ..) => format!("{id}: there is no such job"),
            _ => format!("{id}: stays as it is"),
        }
    }
}

impl Requeued {
    fn describe_all(&self) -> String {
        let mut lines = Vec::new();
        lines.push(match self.requeued {
            0 => "nothing was requeued".to_owned(),
            1 => "one job waits again".to_owned(),
            number => format!("{number} jobs wait again"),
        });
        if self.cancelled_left > 0 {
            lines.push(format!("left as they are, cancelled by somebody: {}", jobs(self.cancelled_left)));
        }
        lines.extend(self.jobs.iter().take(NAMED_MAX).map(Answer::describe));
        if self.jobs.len() > NAMED_MAX {
            lines.push(format!("and {} more that do not wait again", self.jobs.len() - NAMED_MAX));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(outcome: &'static str, active: Option<u128>, state: Option<&'static str>) -> Answer {
        Answer { job_id: Uuid::from_u128(7), outcome, active_job_id: active.map(Uuid::from_u128), state }
    }

    #[test]
    fn each_answer_says_what_became_of_the_job() {
        let answers = [
            answer("pending", None, None),
            answer("twin", Some(9), None),
            answer("not_dead", None, Some("running")),
            answer("unknown", None, None),
        ];
        insta::assert_snapshot!(answers.iter().map(Answer::describe).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn of_many_that_stay_dead_only_some_are_named() {
        let requeued = Requeued { requeued: 3, cancelled_left: 1, jobs: vec![answer("twin", Some(9), None); 25] };
        let text = requeued.describe_all();
        assert!(text.starts_with("3 jobs wait again\nleft as they are, cancelled by somebody: one job\n"), "{text}");
        assert!(text.ends_with("and 5 more that do not wait again"), "{text}");
    }

    #[test]
    fn whoever_has_not_said_yes_learns_how_many_there_are() {
        let dead = |job_type, number| Dead { job_type, number, cancelled: 0, counted_at: Timestamp::UNIX_EPOCH };
        let failure = not_yet(None, 5, &[dead(3, 4), dead(4, 0), dead(7, 1)]);
        assert_eq!(failure.what, "5 jobs would wait again: 4 of type 3, 1 of type 7; nothing was changed");
        assert_eq!(failure.next, "mend the cause, then `tidemark jobs requeue --all-dead --yes`");
        assert_eq!(failure.code, 2);
    }
}
