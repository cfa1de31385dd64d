//! `tidemark alerts test`.

use std::env::VarError;
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;
use serde::Serialize;
use tidemark_alerts::outbound::{Client, Outcome, Reach};
use tidemark_alerts::{Alert, Delivery, Digest, Targets, deliver};

use crate::failure::Failure;
use crate::output::Output;
use crate::table::{Column, table};

/// Where alerts go; the work function reads the same variable.
const ALERT_TARGETS: &str = "ALERT_TARGETS";

/// What to do where it holds nothing of use.
const SET_IT: &str =
    "set ALERT_TARGETS as the work function has it, as teams=https://…,slack=https://… (docs/ALERTS.md tells the rest)";

/// How long one target may take.
const TARGET_LIMIT: Duration = Duration::from_secs(10);

/// Options of `tidemark alerts test`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    ALERT_TARGETS=slack=https://hooks.slack.com/services/… tidemark alerts test\n\n\
    Needs no database. Targets are named, their URLs are shown nowhere. Exit status 1 where one did not get it.")]
pub(crate) struct TestOptions {}

/// What became of the test at one target.
#[derive(Debug, Serialize)]
struct Tried {
    target: String,
    delivered: bool,
    /// Why not: a word that docs/ALERTS.md explains.
    reason: Option<String>,
    #[serde(skip)]
    may_work_later: bool,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Answer {
    targets: Vec<Tried>,
}

/// Runs the command.
pub(crate) async fn run(output: Output) -> anyhow::Result<ExitCode> {
    let targets = targets()?;
    let client = Client::new(Reach::Configured)
        .map_err(|reason| Failure::new(format!("TLS cannot be used: {reason}"), "use an official build of tidemark"))?;
    let digest = Digest::new(vec![test_alert()]).ok_or_else(|| anyhow::anyhow!("the test holds no alert"))?;
    let deliveries = deliver(targets.iter(), &digest, &client, TARGET_LIMIT).await;
    let answer = Answer { targets: deliveries.into_iter().map(Tried::from_delivery).collect() };
    output.answer(&answer, || answer.draw())?;
    let Some(failed) = answer.targets.iter().find(|tried| !tried.delivered) else {
        return Ok(ExitCode::SUCCESS);
    };
    output.note(&format!("next: {}", failed.next()));
    Ok(ExitCode::FAILURE)
}

fn targets() -> Result<Targets, Failure> {
    let document = match std::env::var(ALERT_TARGETS) {
        Ok(document) => SecretString::from(document),
        Err(VarError::NotPresent) => return Err(Failure::usage("ALERT_TARGETS is not set", SET_IT)),
        Err(VarError::NotUnicode(_)) => return Err(Failure::usage("ALERT_TARGETS is not UTF-8 text", SET_IT)),
    };
    let targets = Targets::parse(&document)
        .map_err(|error| Failure::usage(format!("ALERT_TARGETS cannot be used: {error}"), SET_IT))?;
    if targets.is_empty() {
        return Err(Failure::usage("ALERT_TARGETS names no target: alerts are turned off", SET_IT));
    }
    Ok(targets)
}

/// Its number differs from test to test, so that no receiver takes it for one that it has seen.
fn test_alert() -> Alert {
    let now = Timestamp::now();
    Alert {
        id: now.as_millisecond(),
        kind: "test".to_owned(),
        subject: "tidemark alerts test".to_owned(),
        error_code: String::new(),
        occurrences: 1,
        raised_at: now,
        last_raised_at: now,
        resolved_at: None,
    }
}

impl Tried {
    fn from_delivery(delivery: Delivery) -> Self {
        let (reason, may_work_later) = match delivery.outcome {
            Outcome::Delivered => (None, false),
            Outcome::Retry { reason, .. } => (Some(reason.to_string()), true),
            Outcome::Permanent { reason } => (Some(reason.to_string()), false),
        };
        Self { target: delivery.target, delivered: reason.is_none(), reason, may_work_later }
    }

    fn next(&self) -> String {
        let name = &self.target;
        if self.may_work_later {
            format!("check that {name} can be reached from here and answers, then run the test again")
        } else {
            format!("check the URL of {name} in ALERT_TARGETS; docs/ALERTS.md tells what each answer means")
        }
    }
}

impl Answer {
    fn draw(&self) -> String {
        let columns = [Column::Words("target"), Column::Words("outcome")];
        let rows = self.targets.iter().map(|tried| {
            let outcome = match (&tried.reason, tried.may_work_later) {
                (None, _) => "delivered".to_owned(),
                (Some(reason), true) => format!("failed ({reason}); an alert would be tried again"),
                (Some(reason), false) => format!("failed ({reason}); an alert would be given up"),
            };
            vec![tried.target.clone(), outcome]
        });
        table(&columns, rows)
    }
}
