//! `tidemark jobs enqueue`.

use std::io::Read;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::audit::{Change, Why};
use crate::database::Source;
use crate::failure::Failure;
use crate::output::Output;
use crate::refusal::explain;
use crate::statements::JOB_ENQUEUE;

/// Bytes read of a payload from stdin. The database takes 1 MiB; more than this is another file than was meant.
const STDIN_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// What to do about a payload that is no JSON.
const QUOTE_IT: &str =
    "give JSON in single quotes, as in --payload '{\"user\": 1}', or --payload - to read it from stdin";

/// Options of `tidemark jobs enqueue`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark jobs enqueue --type 7 --payload '{\"user\": 1}'\n  \
    tidemark jobs enqueue --type 7 --payload '{\"user\": 1}' --dedupe report:1 --delay 60\n  \
    jq -c . report.json | tidemark jobs enqueue --type 7 --payload -\n\n\
    With an active job (pending or running) of the same dedupe key nothing is inserted; the answer names that job.")]
pub(crate) struct EnqueueOptions {
    /// Which handler it is for
    #[arg(long = "type", value_name = "N", allow_negative_numbers = true)]
    job_type: i32,
    /// What the handler gets, at most 1 MiB of JSON; - reads it from stdin
    #[arg(long, value_name = "JSON", default_value = "{}", allow_hyphen_values = true)]
    payload: String,
    /// At most one job with this key is active at a time
    #[arg(long, value_name = "KEY")]
    dedupe: Option<String>,
    /// Lower goes first
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true)]
    priority: i32,
    /// Not before so many seconds have passed
    #[arg(long, value_name = "SECS", default_value_t = 0.0, allow_negative_numbers = true)]
    delay: f64,
    /// How often it is tried before it is dead
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true)]
    max_attempts: i32,
    /// Jobs of a group take turns with other groups, and may be limited in how many run at once
    #[arg(long, value_name = "KEY")]
    group: Option<String>,
    #[command(flatten)]
    why: Why,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Enqueued {
    job_id: Uuid,
    inserted: bool,
}

/// Runs the command.
pub(crate) async fn run(options: &EnqueueOptions, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let payload = match options.payload.as_str() {
        "-" => from_stdin()?,
        typed => typed.to_owned(),
    };
    check_json(&payload)?;
    let database = source.open()?;
    let mut client = database.admin().await?;
    let parameters = [
        (&options.job_type as _, Type::INT4),
        (&payload as _, Type::TEXT),
        (&options.dedupe as _, Type::TEXT),
        (&options.priority as _, Type::INT4),
        (&options.delay as _, Type::FLOAT8),
        (&options.max_attempts as _, Type::INT4),
        (&options.group as _, Type::TEXT),
    ];
    let transaction = client.transaction().await.map_err(refused)?;
    let rows = transaction.query_typed(JOB_ENQUEUE, &parameters).await.map_err(refused)?;
    let row = rows.first().ok_or_else(|| anyhow::anyhow!("the database did not say what became of the job"))?;
    let enqueued = Enqueued { job_id: row.try_get(0)?, inserted: row.try_get(1)? };
    let subject = format!("{}, type {}", enqueued.job_id, options.job_type);
    let mut remembered = Change::because("jobs enqueue", subject, &options.why);
    remembered.record(&transaction, u64::from(enqueued.inserted)).await.map_err(refused)?;
    transaction.commit().await.map_err(refused)?;
    output.answer(&enqueued, || enqueued.describe(options.delay))?;
    Ok(ExitCode::SUCCESS)
}

fn from_stdin() -> anyhow::Result<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(STDIN_BYTES_MAX + 1).read_to_string(&mut text);
    if read.is_err() {
        return Err(Failure::usage("the payload on stdin cannot be read as UTF-8 text", QUOTE_IT).into());
    }
    if text.len() as u64 > STDIN_BYTES_MAX {
        return Err(Failure::usage(
            "the payload on stdin is larger than 8 MiB, and a payload has at most 1 MiB",
            "store the data elsewhere and enqueue where it is",
        )
        .into());
    }
    Ok(text)
}

/// Syntax only: figures are not looked at, so that none is changed.
fn check_json(payload: &str) -> Result<(), Failure> {
    match serde_json::from_str::<&RawValue>(payload) {
        Ok(_json) => Ok(()),
        Err(error) => Err(Failure::usage(
            format!("the payload is not JSON (line {}, column {})", error.line(), error.column()),
            QUOTE_IT,
        )),
    }
}

/// Says what a refusal of the database means. The server's text may hold the payload, so only its code is shown.
fn refused(error: tokio_postgres::Error) -> anyhow::Error {
    let Some(database) = error.as_db_error() else {
        return Failure::new(
            "the connection to the database broke; whether the job was enqueued is not known",
            "see `tidemark jobs list`; with --dedupe KEY it is safe to run the command again",
        )
        .into();
    };
    let code = database.code();
    if *code == SqlState::INVALID_PARAMETER_VALUE {
        return Failure::usage(
            database.message(),
            "nothing was enqueued; `tidemark jobs enqueue --help` shows every option",
        )
        .into();
    }
    if *code == SqlState::UNTRANSLATABLE_CHARACTER {
        return Failure::usage(
            "the payload holds U+0000, which PostgreSQL cannot store as JSON",
            "nothing was enqueued; take the character out, or encode that text, as base64 does",
        )
        .into();
    }
    let unfit = [SqlState::INVALID_TEXT_REPRESENTATION, SqlState::NUMERIC_VALUE_OUT_OF_RANGE];
    if unfit.contains(code) || *code == SqlState::STATEMENT_TOO_COMPLEX || *code == SqlState::PROGRAM_LIMIT_EXCEEDED {
        return Failure::usage(
            format!("the payload is JSON that PostgreSQL cannot store ({})", code.code()),
            "nothing was enqueued; look for a number of absurd size, half of a surrogate pair, or very deep nesting",
        )
        .into();
    }
    explain(error)
}

impl Enqueued {
    fn describe(&self, delay: f64) -> String {
        match self.inserted {
            true if delay > 0.0 => format!("enqueued job {}, due in {delay} s", self.job_id),
            true => format!("enqueued job {}", self.job_id),
            false => format!(
                "nothing was enqueued: job {} has this dedupe key and is still active\n\
                 `tidemark jobs show {}` shows it, `tidemark jobs cancel {}` ends it",
                self.job_id, self.job_id, self.job_id
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_json_is_told_by_its_place_and_never_by_its_content() {
        for payload in ["", "{user: 1}", "{\"canary\"", "nul", "{} canary", "'{}'", "\u{feff}{}"] {
            let failure = check_json(payload).expect_err(payload);
            assert_eq!(failure.code, 2);
            assert!(!failure.what.contains("canary") && failure.what.contains("line 1"), "{}", failure.what);
        }
    }

    #[test]
    fn any_json_is_json() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        for payload in ["{}", "null", "7", " [1e400, 12345678901234567890123] ", deep.as_str()] {
            assert!(check_json(payload).is_ok(), "{payload}");
        }
    }
}
