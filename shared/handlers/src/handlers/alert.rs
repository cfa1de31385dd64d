//! Delivers alerts: what nobody was told of, as one digest to each target.

mod memory;
mod outbox;

use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use tidemark_alerts::outbound::{Client, Outcome};
use tidemark_alerts::{Alert, Digest, Target, Targets, deliver};

use crate::{Context, End, Failure, Handler};
use memory::Memory;

/// The type of its jobs.
pub const JOB_TYPE: i32 = 1;

/// Alerts of one digest: what is remembered of them has to fit into a job's progress.
const BATCH: i32 = 100;
/// How long one target may take.
const TARGET_LIMIT: Duration = Duration::from_secs(10);
/// Kept for telling the database: no digest is sent with less time left.
const TIME_TO_END: Duration = Duration::from_secs(5);
/// A target that asks for no rest at all gets this one: a snooze costs no attempt.
const REST_MIN: Duration = Duration::from_secs(1);
/// The longest that new alerts wait for the others because one target asked to be left alone.
const REST_MAX: Duration = Duration::from_secs(300);

/// Sends what nobody was told of to every target, each on its own, and marks it as told once every target has it.
///
/// Which target has what is remembered in the job's progress, so that a repetition goes to the others alone. A target that
/// refuses for good is a diagnostic of the result. For one that may work later the job comes again: when it asked to be left
/// alone, with the attempt given back, otherwise after a backoff. With the last attempt targets that are still away are given
/// up, if another has anything; with none the job is dead, and a new one follows after ten minutes.
///
/// The result counts: `{"alerts": told ones, "messages": digests sent, "targets": configured ones}`.
pub struct AlertHandler {
    targets: Option<Targets>,
    client: Client,
}

/// Nothing: what is to be told stands in the outbox.
#[derive(Deserialize)]
pub struct NoPayload {}

/// What one attempt has done so far.
#[derive(Default)]
struct Told {
    alerts: usize,
    messages: usize,
    degraded: bool,
}

/// Targets that do not have everything yet, and how long they asked to be left alone, where they did.
type Away<'a> = Vec<(&'a Target, Option<Duration>)>;

impl Handler for AlertHandler {
    type Payload = NoPayload;

    async fn handle(&self, context: &Context<NoPayload>) -> End {
        let mut told = Told::default();
        match self.tell(context, &mut told).await {
            Ok(Some(end)) => end,
            Ok(None) => {
                let targets = self.targets().count();
                let result = json!({"alerts": told.alerts, "messages": told.messages, "targets": targets});
                if told.degraded { End::Degraded(result) } else { End::Done(result) }
            }
            Err(failure) => End::Failed(failure),
        }
    }
}

impl AlertHandler {
    /// A handler that delivers to `targets`; with none, alerts are marked as told and stay in the outbox for whoever looks.
    #[must_use]
    pub fn new(targets: Option<Targets>, client: Client) -> Self {
        Self { targets, client }
    }

    fn targets(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().flatten()
    }

    /// Tells batch after batch. `None` when there is nothing left or no time; otherwise how the job comes again.
    async fn tell(&self, context: &Context<NoPayload>, told: &mut Told) -> Result<Option<End>, Failure> {
        let database = context.database();
        let progress = database.progress_of(context.job_id()).await?;
        let mut memory: Memory = progress.and_then(|progress| progress.decode().ok()).unwrap_or_default();
        let time_to_end = time_to_end(context);
        while context.time_left() > time_to_end {
            let alerts = outbox::untold(database, BATCH).await?;
            if alerts.is_empty() {
                break;
            }
            memory.keep_only(&alerts);
            let mut away = self.send(context, &alerts, &mut memory, told).await;
            context.progress(json!(memory)).await?;
            if context.is_last_attempt() && memory.has_anybody() {
                give_up(context, &mut away, &mut memory, told);
            }
            let everywhere = |alert: &&Alert| {
                self.targets().all(|target| memory.lacking(target.name(), std::slice::from_ref(alert)).is_empty())
            };
            let done: Vec<&Alert> = alerts.iter().filter(everywhere).collect();
            outbox::mark_told(database, &done).await?;
            told.alerts += done.len();
            if !away.is_empty() {
                return Ok(Some(come_again(&away)));
            }
        }
        Ok(None)
    }

    /// Sends each target what it lacks, to all at once. Returns those that do not have everything yet.
    async fn send<'a>(
        &'a self,
        context: &Context<NoPayload>,
        alerts: &[Alert],
        memory: &mut Memory,
        told: &mut Told,
    ) -> Away<'a> {
        let limit = TARGET_LIMIT.min(context.time_left().saturating_sub(time_to_end(context) / 2));
        let now = Timestamp::now();
        let sending = self.targets().map(|target| {
            let lacking = memory.lacking(target.name(), alerts);
            let rest = memory.rests_for(target.name(), now);
            async move {
                let digest = Digest::new(lacking.clone()).filter(|_digest| rest.is_none());
                let outcome = match &digest {
                    Some(digest) => deliver([target], digest, &self.client, limit).await.pop(),
                    None => None,
                };
                (target, lacking, rest, outcome.map(|delivery| delivery.outcome))
            }
        });
        let mut away = Away::new();
        for (target, lacking, rest, outcome) in join_all(sending).await {
            let name = target.name();
            match outcome {
                None if lacking.is_empty() => {}
                None => away.push((target, rest)),
                Some(Outcome::Delivered) => {
                    told.messages += 1;
                    memory.delivered(name, &lacking);
                }
                Some(Outcome::Permanent { reason }) => {
                    tracing::warn!(alert.target = name, reason = %reason, "an alert target refuses for good");
                    context.diagnose(name, reason);
                    told.degraded = true;
                    memory.refused(name);
                }
                Some(Outcome::Retry { after, reason }) => {
                    tracing::warn!(alert.target = name, reason = %reason, "an alert target is away");
                    if let Some(until) = after.and_then(|after| now.checked_add(after).ok()) {
                        memory.rests(name, until);
                    }
                    away.push((target, after));
                }
            }
        }
        away
    }
}

/// Less where the handler has little time in all.
fn time_to_end(context: &Context<NoPayload>) -> Duration {
    TIME_TO_END.min(context.time_left() / 2)
}

/// With the last attempt: what somebody has is told.
fn give_up(context: &Context<NoPayload>, away: &mut Away<'_>, memory: &mut Memory, told: &mut Told) {
    for (target, _rest) in away.drain(..) {
        context.diagnose(target.name(), "given up: it was away at the last attempt");
        memory.refused(target.name());
        told.degraded = true;
    }
}

/// A snooze where every target that is away asked for a rest; a failure otherwise.
fn come_again(away: &Away<'_>) -> End {
    let rests: Option<Vec<Duration>> = away.iter().map(|(_target, rest)| *rest).collect();
    if let Some(longest) = rests.and_then(|rests| rests.into_iter().max()) {
        return End::Snooze(longest.clamp(REST_MIN, REST_MAX));
    }
    let names: Vec<&str> = away.iter().map(|(target, _rest)| target.name()).collect();
    End::failed("target_away", format!("alert targets that could not be reached: {}", names.join(", ")))
}
