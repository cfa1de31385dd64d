//! `tidemark tick --lambda`: ticks of functions that something else runs, as the schedule in the cloud gives them.

use std::process::ExitCode;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde::Serialize;
use tidemark_alerts::outbound::{Client, Outcome, Post, Reach};
use tidemark_queue::Function;
use tokio::task::JoinSet;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Output;

/// How long a function may take. A local Lambda answers when the invocation has ended; nobody waits for it before the next tick.
const ANSWER_LIMIT: Duration = Duration::from_secs(900);

/// Nobody waits for what the function answers.
const ASYNCHRONOUS: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-amz-invocation-type"), HeaderValue::from_static("Event"));

/// What became of the ticks.
#[derive(Debug, Default, Serialize)]
struct Answer {
    /// Ticks that were asked for.
    ticks: u64,
    /// Those that were answered well by the time of the end.
    answered: u64,
    /// Those that were not.
    failed: u64,
    /// Why the last of these was not: a word that docs/ALERTS.md explains.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Asks the Lambda at `url` to invoke `functions` at each of the next `seconds` whole seconds, or until it is interrupted.
pub(super) async fn run(url: &str, functions: &[Function], seconds: u64, output: Output) -> anyhow::Result<ExitCode> {
    let client = Client::new(Reach::Configured)
        .map_err(|reason| Failure::new(format!("TLS cannot be used: {reason}"), "use an official build of tidemark"))?;
    let client = std::sync::Arc::new(client);
    let mut interrupt = Interrupt::listen()?;
    let (mut answer, mut under_way) = (Answer::default(), JoinSet::new());
    let mut planned_at = Timestamp::from_second(Timestamp::now().as_second() + 1)?;
    for _second in 0..seconds {
        let wait = Duration::try_from(planned_at.duration_since(Timestamp::now())).unwrap_or_default();
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = interrupt.recv() => break,
        }
        for function in functions {
            let url = format!("{}/2015-03-31/functions/{function}/invocations", url.trim_end_matches('/'));
            let client = std::sync::Arc::clone(&client);
            under_way.spawn(async move { invoke(&client, url, planned_at).await });
            answer.ticks += 1;
        }
        while let Some(outcome) = under_way.try_join_next() {
            answer.count(outcome?);
        }
        planned_at += SignedDuration::from_secs(1);
    }
    tokio::select! {
        () = async { while let Some(Ok(outcome)) = under_way.join_next().await { answer.count(outcome); } } => {}
        () = interrupt.recv() => {}
    }
    output.answer(&answer, || answer.to_string())?;
    if answer.failed == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    output.note("next: start `cargo lambda watch`, and give its address as in --lambda http://127.0.0.1:9000");
    Ok(ExitCode::FAILURE)
}

async fn invoke(client: &Client, url: String, planned_at: Timestamp) -> Outcome {
    let body = format!(r#"{{"planned_at": "{planned_at}"}}"#);
    let key = planned_at.to_string();
    let url = SecretString::from(url);
    let post = Post { url: &url, idempotency_key: &key, body: body.into(), limit: ANSWER_LIMIT };
    client.post_with_headers(&post, &HeaderMap::from_iter([ASYNCHRONOUS])).await
}

impl Answer {
    fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Delivered => self.answered += 1,
            Outcome::Retry { reason, .. } | Outcome::Permanent { reason } => {
                self.failed += 1;
                self.reason = Some(reason.to_string());
            }
        }
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} ticks, {} answered, {} failed", self.ticks, self.answered, self.failed)?;
        self.reason.as_ref().map_or(Ok(()), |reason| write!(formatter, " ({reason})"))
    }
}
