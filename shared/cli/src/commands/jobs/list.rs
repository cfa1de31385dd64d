//! `tidemark jobs list`.

use std::process::ExitCode;

use serde::Serialize;
use serde_json::value::RawValue;
use tidemark_queue::jobs::Status;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, IsolationLevel, Transaction};
use uuid::Uuid;

use crate::database::Source;
use crate::job_line::{self, JobLine};
use crate::job_status;
use crate::output::Output;
use crate::refusal::explain;
use crate::statements::{
    JOBS_DEAD, JOBS_DESCRIBED, JOBS_DONE, JOBS_NEWEST, JOBS_OF_KEY, JOBS_OF_STATUS, JOBS_PENDING, JOBS_READING,
    JOBS_RUNNING,
};

/// Where no index leads to a job, so many are looked at for each that is wanted. That bounds a search for what is rare.
const LOOKED_AT_PER_JOB: i64 = 200;

/// Options of `tidemark jobs list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark jobs list                              the newest jobs, whatever became of them\n  \
    tidemark jobs list --status pending --type 7    what is claimed next\n  \
    tidemark jobs list --status dead --json | jq -r '.jobs[] | [.job_id, .error_code] | @tsv'\n\n\
    A list reads only what it shows, however long the queue is. With --json each job is its row of public.jobs.")]
pub(crate) struct ListOptions {
    /// Those of this status only: what is pending as it will be claimed, what runs the longest running first, what is over
    /// the latest first
    #[arg(long, value_parser = job_status::typed())]
    status: Option<Status>,
    /// Those of this type only
    #[arg(long = "type", value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    job_type: Option<i32>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=1000))]
    limit: i64,
    /// Those with this dedupe key only, the newest first
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

/// What is printed for machines.
#[derive(Debug, Serialize)]
struct Listed {
    jobs: Vec<Box<RawValue>>,
    /// Whether there may be more than these.
    more: bool,
}

/// Runs the command.
pub(crate) async fn run(options: &ListOptions, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    let mut client = database.admin().await?;
    let (lines, more) = read(options, &mut client, output.is_json()).await?;
    let screen = screen(options, &lines, more);
    let jobs = lines.into_iter().filter_map(|line| line.document).collect();
    output.answer(&Listed { jobs, more }, || screen)?;
    Ok(ExitCode::SUCCESS)
}

/// The jobs, and whether there may be more.
async fn read(options: &ListOptions, client: &mut Client, documents: bool) -> anyhow::Result<(Vec<JobLine>, bool)> {
    // One snapshot: a job that moves on between the two statements would be listed as what it was not asked for.
    let begin = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = begin.start().await.map_err(explain)?;
    transaction.batch_execute(JOBS_READING).await.map_err(explain)?;
    let mut ids = found(options, &transaction).await.map_err(explain)?;
    let wanted = usize::try_from(options.limit)?;
    let more = ids.len() > wanted;
    ids.truncate(wanted);
    let parameters = [(&ids as _, Type::UUID_ARRAY), (&documents as _, Type::BOOL)];
    let rows = transaction.query_typed(JOBS_DESCRIBED, &parameters).await.map_err(explain)?;
    let lines = rows.iter().map(JobLine::from_row).collect::<anyhow::Result<Vec<_>>>()?;
    Ok((lines, more))
}

/// Ids of the jobs, in the order of the list; one more than wanted where there are more.
async fn found(options: &ListOptions, transaction: &Transaction<'_>) -> Result<Vec<Uuid>, tokio_postgres::Error> {
    let number = options.limit + 1;
    if let Some(key) = &options.key {
        return of_key(key, options, number, transaction).await;
    }
    match options.status {
        Some(status) => of_status(status, options.job_type, number, transaction).await,
        None => newest(options.job_type, number, transaction).await,
    }
}

/// The newest jobs of any status. Of a type that is rare among the newest jobs these are the heads of each status instead.
async fn newest(
    job_type: Option<i32>,
    number: i64,
    transaction: &Transaction<'_>,
) -> Result<Vec<Uuid>, tokio_postgres::Error> {
    let looked_at = if job_type.is_some() { number * LOOKED_AT_PER_JOB } else { number };
    let parameters = [(&job_type as _, Type::INT4), (&number as _, Type::INT8), (&looked_at as _, Type::INT8)];
    let mut found = ids(&transaction.query_typed(JOBS_NEWEST, &parameters).await?)?;
    let wanted = usize::try_from(number).unwrap_or(usize::MAX);
    if found.len() == wanted || job_type.is_none() {
        return Ok(found);
    }
    for status in Status::ALL {
        found.extend(of_status(status, job_type, number, transaction).await?);
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.dedup();
    found.truncate(wanted);
    Ok(found)
}

async fn of_key(
    key: &str,
    options: &ListOptions,
    number: i64,
    transaction: &Transaction<'_>,
) -> Result<Vec<Uuid>, tokio_postgres::Error> {
    let looked_at = if options.status.is_some() { number * LOOKED_AT_PER_JOB } else { number };
    let parameters = [(&key as _, Type::TEXT), (&options.job_type as _, Type::INT4), (&looked_at as _, Type::INT8)];
    let newest = ids(&transaction.query_typed(JOBS_OF_KEY, &parameters).await?)?;
    let Some(status) = options.status.map(Status::number) else {
        return Ok(newest);
    };
    let parameters = [(&newest as _, Type::UUID_ARRAY), (&status as _, Type::INT2), (&number as _, Type::INT8)];
    ids(&transaction.query_typed(JOBS_OF_STATUS, &parameters).await?)
}

async fn of_status(
    status: Status,
    job_type: Option<i32>,
    number: i64,
    transaction: &Transaction<'_>,
) -> Result<Vec<Uuid>, tokio_postgres::Error> {
    let looked_at = number * LOOKED_AT_PER_JOB;
    let parameters = [(&job_type as _, Type::INT4), (&number as _, Type::INT8), (&looked_at as _, Type::INT8)];
    let (statement, parameters) = match status {
        Status::Pending => (JOBS_PENDING, &parameters[..]),
        Status::Running => (JOBS_RUNNING, &parameters[..2]),
        Status::Done => (JOBS_DONE, &parameters[..]),
        Status::Dead => (JOBS_DEAD, &parameters[..]),
    };
    ids(&transaction.query_typed(statement, parameters).await?)
}

fn ids(rows: &[tokio_postgres::Row]) -> Result<Vec<Uuid>, tokio_postgres::Error> {
    rows.iter().map(|row| row.try_get(0)).collect()
}

fn screen(options: &ListOptions, lines: &[JobLine], more: bool) -> String {
    if lines.is_empty() {
        return nothing(options);
    }
    let mut screen = job_line::table_of(lines);
    if more {
        screen.push_str("\n\nThere are more: --limit N lists up to 1000, --status, --type and --key narrow it down.");
    }
    if lines.iter().any(|line| line.status == Some(Status::Dead)) {
        screen.push_str("\n\n`tidemark jobs show JOB_ID` says why a job is dead, `tidemark jobs requeue JOB_ID` lets it wait again.");
    }
    screen
}

fn nothing(options: &ListOptions) -> String {
    let all = options.status.is_none() && options.job_type.is_none() && options.key.is_none();
    if all {
        return "There are no jobs. `tidemark jobs enqueue --type N --payload JSON` adds one.".to_owned();
    }
    let status = options.status.map(|status| format!("{} ", status.word())).unwrap_or_default();
    let job_type = options.job_type.map(|number| format!(" of type {number}")).unwrap_or_default();
    let key = options.key.as_ref().map(|_key| " with this key").unwrap_or_default();
    format!("No {status}job{job_type}{key} was found. `tidemark jobs list` shows the newest jobs.")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tidemark_testkit::TestDatabase;
    use tokio_postgres::types::ToSql;

    use super::*;

    /// Jobs in every state and in six lanes, of which no claim has seen three.
    const LONG_QUEUE: &str = "
        INSERT INTO tidemark.job_body (job_type, priority, max_attempts, dedupe_key, payload)
            SELECT 7 + number % 3, 100 + number % 2, 3, CASE WHEN number % 2 = 0 THEN 'key' END, '{}'
            FROM generate_series(1, 40000) AS number;
        INSERT INTO tidemark.job_ready (job_type, priority, rank, job_id, waiting_since, attempts)
            SELECT job_type, priority, position, job_id, created_at, 0 FROM tidemark.job_body WHERE position % 4 = 0;
        INSERT INTO tidemark.job_scheduled (job_id, due_at, job_type, priority, position, waiting_since, attempts)
            SELECT job_id, created_at + interval '1 hour', job_type, priority, position, created_at, 0
            FROM tidemark.job_body WHERE position % 4 = 1;
        INSERT INTO tidemark.job_grouped (job_type, group_key, priority, position, job_id, waiting_since, attempts)
            SELECT job_type, 'group ' || position % 1000, priority, position, job_id, created_at, 0
            FROM tidemark.job_body WHERE position % 4 = 2;
        INSERT INTO tidemark.job_finished (job_id, status, attempts, finished_at, error_code, last_error)
            SELECT job_id, 3 + position / 4 % 2, 1, created_at, 'broken', 'broken'
            FROM tidemark.job_body WHERE position % 4 = 3;
        INSERT INTO tidemark.job_lane (job_type, priority) SELECT DISTINCT job_type, 100 FROM tidemark.job_ready";

    /// Pages of the database that a statement touches.
    async fn pages(statement: &str, parameters: &[(&(dyn ToSql + Sync), Type)], transaction: &Transaction<'_>) -> i64 {
        let explained = format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}");
        let rows = transaction.query_typed(&explained, parameters).await.expect("it can be explained");
        let plan: Value = rows[0].get(0);
        let of = |name: &str| plan[0]["Plan"][name].as_i64().expect("a number of pages");
        of("Shared Hit Blocks") + of("Shared Read Blocks")
    }

    #[tokio::test]
    async fn a_list_reads_heads_of_indexes_however_long_the_queue_is() {
        let database = TestDatabase::new().await;
        let mut client = database.admin().await;
        client.batch_execute(LONG_QUEUE).await.expect("a long queue");
        client.batch_execute("VACUUM ANALYZE").await.expect("the planner knows it");
        let transaction = client.transaction().await.expect("a transaction");
        transaction.batch_execute(JOBS_READING).await.expect("settings");
        let (none, of_type, number): (Option<i32>, Option<i32>, i64) = (None, Some(8), 20);
        // As in the product, but for a search among few: what is looked at is what the search costs.
        let looked_at: i64 = 40;
        for job_type in [&none, &of_type] {
            for (status, statement, places) in [
                ("pending", JOBS_PENDING, 3),
                ("done", JOBS_DONE, 3),
                ("dead", JOBS_DEAD, 3),
                ("running", JOBS_RUNNING, 2),
            ] {
                let parameters =
                    [(job_type as _, Type::INT4), (&number as _, Type::INT8), (&looked_at as _, Type::INT8)];
                let pages = pages(statement, &parameters[..places], &transaction).await;
                assert!(pages < 700, "{status} jobs of type {job_type:?}: {pages} pages");
            }
        }
        let few = [(&none as _, Type::INT4), (&number as _, Type::INT8), (&number as _, Type::INT8)];
        let newest = pages(JOBS_NEWEST, &few, &transaction).await;
        assert!(newest < 50, "{newest} pages for the newest jobs");
        let key = "key";
        let parameters = [(&key as _, Type::TEXT), (&none as _, Type::INT4), (&number as _, Type::INT8)];
        let of_key = pages(JOBS_OF_KEY, &parameters, &transaction).await;
        assert!(of_key < 50, "{of_key} pages for the newest jobs of a key");
        let ids = ids(&transaction.query_typed(JOBS_NEWEST, &few).await.expect("ids")).expect("ids");
        let parameters = [(&ids as _, Type::UUID_ARRAY), (&4_i16 as _, Type::INT2), (&number as _, Type::INT8)];
        let of_status = pages(JOBS_OF_STATUS, &parameters, &transaction).await;
        assert!(of_status < 1000, "{of_status} pages to sort out twenty jobs by status");
        let described = pages(JOBS_DESCRIBED, &[(&ids, Type::UUID_ARRAY), (&true, Type::BOOL)], &transaction).await;
        assert!(described < 1000, "{described} pages to describe twenty jobs");
    }
}
