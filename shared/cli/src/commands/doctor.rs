//! `tidemark doctor`: what could be wrong, looked at one after the other, each with its remedy.

use std::process::ExitCode;

use serde::Serialize;
use tidemark_status::Document;
use tokio_postgres::Client;

use crate::database::{Database, Source};
use crate::doctor::finding::{Finding, State};
use crate::doctor::settings::FunctionTimeout;
use crate::doctor::{clock, queue, roles, schema, server, settings, vacuum};
use crate::output::Output;
use crate::refusal::explain_queue;
use crate::settings_change;

/// Options of `tidemark doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark doctor\n  \
    tidemark doctor --json | jq '.checks[] | select(.state != \"ok\")'\n  \
    tidemark doctor --function-timeout compute=300\n\n\
    Changes nothing. Exit status 1 where a check failed; warnings alone are no failure.")]
pub(crate) struct Options {
    /// A function that is deployed with another timeout than template.yaml gives it, as compute=300
    #[arg(long = "function-timeout", value_name = "FUNCTION=SECS")]
    function_timeouts: Vec<FunctionTimeout>,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Examined {
    /// Whether no check failed.
    ok: bool,
    checks: Vec<Finding>,
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    let checks = match database.admin().await {
        Ok(client) => examine(&database, &client, options).await,
        Err(error) => vec![Finding::not_made("connection", &error)],
    };
    let examined = Examined { ok: checks.iter().all(|finding| finding.state != State::Failed), checks };
    output.answer(&examined, || examined.draw())?;
    Ok(if examined.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn examine(database: &Database, client: &Client, options: &Options) -> Vec<Finding> {
    let mut checks = made("connection", server::check(client).await);
    checks.extend(made("clock", clock::check(client).await));
    let schema = schema::check(client).await;
    let is_known = schema.iter().all(|finding| finding.state == State::Ok);
    checks.extend(schema);
    if !is_known {
        // What follows reads tables and functions that may not be there.
        return checks;
    }
    checks.extend(made("roles", roles::check(client).await));
    checks.extend(made(
        "settings",
        settings_change::read(client).await.map(|row| settings::check(&row, &options.function_timeouts)),
    ));
    checks.extend(made("old snapshots", vacuum::check(client).await));
    checks.extend(made("attention", document(database).await.map(|document| queue::check(&document))));
    checks.extend(made("alerts", queue::check_alerts(client).await));
    checks
}

async fn document(database: &Database) -> anyhow::Result<Document> {
    let mut connection = database.worker("doctor-command")?;
    let value = tidemark_status::read(&mut connection).await.map_err(explain_queue)?;
    Ok(Document::from_value(&value)?)
}

/// The findings; where the check could not be made, that.
fn made(check: &'static str, outcome: anyhow::Result<Vec<Finding>>) -> Vec<Finding> {
    outcome.unwrap_or_else(|error| vec![Finding::not_made(check, &error)])
}

impl Examined {
    fn draw(&self) -> String {
        let width = self.checks.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
        let lines = self.checks.iter().map(|finding| {
            let line = format!("{:<7}  {:<width$}  {}", finding.state.word(), finding.check, finding.what);
            finding.next.as_ref().map_or_else(|| line.clone(), |next| format!("{line}\n{:9}next: {next}", ""))
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        format!("{text}\n\n{}", self.summary())
    }

    fn summary(&self) -> String {
        let number = |state: State| self.checks.iter().filter(|finding| finding.state == state).count();
        match (number(State::Failed), number(State::Warning)) {
            (0, 0) => "All is well.".to_owned(),
            (failed, warnings) => {
                format!("{failed} failed, {warnings} to look at; docs/OPERATIONS.md goes by symptom.")
            }
        }
    }
}
