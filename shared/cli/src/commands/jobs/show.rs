//! `tidemark jobs show`.

use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::value::RawValue;
use tidemark_queue::jobs::Status;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::database::Source;
use crate::failure::Failure;
use crate::output::Output;
use crate::refusal::explain;
use crate::statements::JOB_SHOWN;
use crate::status_screen::readable_time;

/// Options of `tidemark jobs show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark jobs show 0196b2f0-7c1e-7d3a-9c55-1f2e3d4c5b6a\n  \
    tidemark jobs show 0196b2f0-7c1e-7d3a-9c55-1f2e3d4c5b6a --json | jq .result.diagnostics")]
pub(crate) struct ShowOptions {
    /// Which job
    #[arg(value_name = "JOB_ID")]
    job_id: Uuid,
}

/// Runs the command.
pub(crate) async fn run(options: &ShowOptions, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    let client = database.admin().await?;
    let rows = client.query_typed(JOB_SHOWN, &[(&options.job_id, Type::UUID)]).await.map_err(explain)?;
    let Some(row) = rows.first() else {
        return Err(unknown(options.job_id).into());
    };
    let document = RawValue::from_string(row.try_get("document")?)?;
    let screen = Shown::from_row(options.job_id, row)?.draw();
    output.answer(&document, || screen)?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(job_id: Uuid) -> Failure {
    Failure::new(
        format!("there is no job {job_id}"),
        "check the id with `tidemark jobs list`; finished jobs are kept for history_retention_days (`tidemark settings`)",
    )
}

/// Everything that is shown of a job.
#[derive(Debug, Default)]
struct Shown {
    job_id: Uuid,
    job_type: i32,
    status: Option<Status>,
    priority: i32,
    attempts: i32,
    max_attempts: i32,
    dedupe_key: Option<String>,
    group_key: Option<String>,
    worker_id: Option<Uuid>,
    created_at: Timestamp,
    run_after: Timestamp,
    run_started_at: Option<Timestamp>,
    lease_until: Option<Timestamp>,
    updated_at: Timestamp,
    cancel_requested: bool,
    lease_expired: bool,
    error_code: Option<String>,
    last_error: String,
    payload: String,
    progress: Option<String>,
    result: Option<String>,
}

impl Shown {
    fn from_row(job_id: Uuid, row: &Row) -> anyhow::Result<Self> {
        Ok(Self {
            job_id,
            job_type: row.try_get("job_type")?,
            status: Status::of_number(row.try_get("status")?),
            priority: row.try_get("priority")?,
            attempts: row.try_get("attempts")?,
            max_attempts: row.try_get("max_attempts")?,
            dedupe_key: row.try_get("dedupe_key")?,
            group_key: row.try_get("group_key")?,
            worker_id: row.try_get("worker_id")?,
            created_at: row.try_get("created_at")?,
            run_after: row.try_get("run_after")?,
            run_started_at: row.try_get("run_started_at")?,
            lease_until: row.try_get("lease_until")?,
            updated_at: row.try_get("updated_at")?,
            cancel_requested: row.try_get("cancel_requested")?,
            lease_expired: row.try_get("lease_expired")?,
            error_code: row.try_get("error_code")?,
            last_error: row.try_get("last_error")?,
            payload: row.try_get("payload")?,
            progress: row.try_get("progress")?,
            result: row.try_get("result")?,
        })
    }

    fn draw(&self) -> String {
        let mut lines = vec![format!("job {}, type {}: {}", self.job_id, self.job_type, self.state())];
        let mut line = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                // A line break in a key or an error must not look like a line of ours.
                lines.push(format!(" {name:<11} {}", value.replace('\n', "\n             ")));
            }
        };
        let time = |time: Timestamp| readable_time(&time.to_string());
        line("attempts", Some(format!("{} of {}", self.attempts, self.max_attempts)));
        line("priority", Some(self.priority.to_string()));
        line("dedupe key", self.dedupe_key.clone());
        line("group", self.group_key.clone());
        line("created", Some(time(self.created_at)));
        line("due", (self.status == Some(Status::Pending)).then(|| time(self.run_after)));
        line("started", self.run_started_at.map(time));
        line("lease until", self.lease_until.map(time));
        line("ended", self.is_over().then(|| time(self.updated_at)));
        line("worker", self.worker_id.map(|id| id.to_string()));
        line("error code", self.error_code.clone());
        line("last error", Some(self.last_error.clone()).filter(|text| !text.is_empty()));
        let documents =
            [("payload", Some(&self.payload)), ("progress", self.progress.as_ref()), ("result", self.result.as_ref())];
        for (name, document) in documents {
            if let Some(document) = document {
                lines.push(format!("\n{name}\n{document}"));
            }
        }
        if let Some(next) = self.next() {
            lines.push(format!("\nnext: {next}"));
        }
        lines.join("\n")
    }

    fn is_over(&self) -> bool {
        matches!(self.status, Some(Status::Done | Status::Dead))
    }

    fn state(&self) -> String {
        let word = self.status.map_or("of an unknown status", Status::word);
        match self.status {
            Some(Status::Running) if self.lease_expired => format!("{word}, its lease has expired"),
            Some(Status::Running) if self.cancel_requested => format!("{word}, asked to stop"),
            _ => word.to_owned(),
        }
    }

    fn next(&self) -> Option<String> {
        match self.status? {
            Status::Dead if self.error_code.as_deref() == Some("cancelled") => {
                Some(format!("`tidemark jobs requeue {}` lets it wait again", self.job_id))
            }
            Status::Dead => {
                Some(format!("mend the cause, then `tidemark jobs requeue {}` lets it wait again", self.job_id))
            }
            Status::Running if self.lease_expired => Some(
                "the next tick of work takes it back; if this stays, check its ticks with `tidemark status`".to_owned(),
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    #[test]
    fn a_dead_job_is_shown_with_its_error_and_what_to_do() {
        let created_at = time("2026-03-01T10:00:00Z");
        let shown = Shown {
            job_id: Uuid::from_u128(0x0196_b2f0_7c1e_7d3a_9c55_1f2e_3d4c_5b6a),
            job_type: 7,
            status: Some(Status::Dead),
            priority: 100,
            attempts: 3,
            max_attempts: 3,
            dedupe_key: Some("report:7".to_owned()),
            created_at,
            run_after: created_at,
            run_started_at: Some(time("2026-03-01T10:00:30Z")),
            updated_at: time("2026-03-01T10:01:00Z"),
            error_code: Some("deadline_exceeded".to_owned()),
            last_error: "the handler was over its deadline".to_owned(),
            payload: "{\n    \"user\": 1\n}".to_owned(),
            progress: Some("{\n    \"pages\": 3\n}".to_owned()),
            ..Shown::default()
        };
        insta::assert_snapshot!(shown.draw());
    }

    #[test]
    fn a_running_job_is_shown_with_its_lease() {
        let created_at = time("2026-03-01T10:00:00Z");
        let shown = Shown {
            job_id: Uuid::from_u128(0x0196_b2f0_7c1e_7d3a_9c55_1f2e_3d4c_5b6a),
            job_type: 7,
            status: Some(Status::Running),
            priority: 100,
            attempts: 1,
            max_attempts: 3,
            group_key: Some("tenant-9".to_owned()),
            worker_id: Some(Uuid::from_u128(0x11)),
            created_at,
            run_after: created_at,
            run_started_at: Some(time("2026-03-01T10:00:30Z")),
            lease_until: Some(time("2026-03-01T10:01:30Z")),
            updated_at: time("2026-03-01T10:00:30Z"),
            cancel_requested: true,
            payload: "{}".to_owned(),
            ..Shown::default()
        };
        insta::assert_snapshot!(shown.draw());
    }

    #[test]
    fn a_line_break_in_a_key_does_not_look_like_a_line_of_ours() {
        let at = time("2026-03-01T10:00:00Z");
        let key = Some("x\n last error  all fine".to_owned());
        let shown = Shown { dedupe_key: key, created_at: at, run_after: at, updated_at: at, ..Shown::default() };
        assert!(shown.draw().lines().all(|line| !line.starts_with(" last error")), "{}", shown.draw());
    }
}
