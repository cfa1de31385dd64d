//! A handler that does what its payload says and lets tests watch and hold it.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tidemark_handlers::{Context, End, Handler};
use tidemark_queue::Error;
use tokio::sync::watch;
use uuid::Uuid;

/// The type of its jobs.
pub(crate) const PROBE: i32 = 100;

/// Nothing here takes this long unless it hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// What a job is told to do.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    Done(Value),
    /// Diagnoses each of these, then ends as degraded.
    Degraded(Vec<String>),
    /// Ends as done with a text that the database cannot store.
    DoneWithNul,
    Fail(String),
    /// Fails with bytes that are no text.
    FailWithNul,
    Permanent(String),
    /// Seconds.
    Snooze(u64),
    Panic(String),
    /// Waits until the test lets go, then ends as done.
    Hold,
    /// Stores progress, waits until the test lets go, stores more, and ends with what the second answered.
    HoldBetweenProgress,
    /// Occupies its thread until the job is cancelled.
    Block,
}

/// The handler, and the test's view of it.
#[derive(Clone)]
pub(crate) struct Probe(Arc<Shared>);

struct Shared {
    seen: watch::Sender<Seen>,
    released: watch::Sender<bool>,
}

/// What handlers have done so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Jobs whose handler began, in order; once for each attempt.
    pub(crate) begun: Vec<Uuid>,
    /// Jobs whose handler was dropped before it ended.
    pub(crate) cancelled: Vec<Uuid>,
    pub(crate) running: usize,
    /// The most that ran at once.
    pub(crate) peak: usize,
    /// For each job that began: how many ran then, itself included.
    pub(crate) beside: Vec<usize>,
}

impl Probe {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared { seen: watch::Sender::new(Seen::default()), released: watch::Sender::new(false) }))
    }

    /// Lets everything that is held go on, now and from now on.
    pub(crate) fn release(&self) {
        self.0.released.send_replace(true);
    }

    pub(crate) fn seen(&self) -> Seen {
        self.0.seen.borrow().clone()
    }

    /// Waits for a state of the handlers.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Seen) -> bool) {
        let mut seen = self.0.seen.subscribe();
        let waited = tokio::time::timeout(LIMIT, seen.wait_for(|seen| holds(seen))).await;
        assert!(waited.is_ok(), "waited in vain until {what}: {:?}", self.seen());
    }

    pub(crate) async fn until_begun(&self, number: usize) {
        self.until(&format!("{number} have begun"), |seen| seen.begun.len() >= number).await;
    }

    async fn released(&self) {
        let mut released = self.0.released.subscribe();
        released.wait_for(|released| *released).await.expect("the probe lives");
    }
}

/// Notes the end of a handler, whichever it is.
struct Presence<'a> {
    probe: &'a Probe,
    job_id: Uuid,
    ended: bool,
}

impl<'a> Presence<'a> {
    fn begin(probe: &'a Probe, job_id: Uuid) -> Self {
        probe.0.seen.send_modify(|seen| {
            seen.begun.push(job_id);
            seen.running += 1;
            seen.peak = seen.peak.max(seen.running);
            seen.beside.push(seen.running);
        });
        Self { probe, job_id, ended: false }
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.probe.0.seen.send_modify(|seen| {
            seen.running -= 1;
            if !self.ended {
                seen.cancelled.push(self.job_id);
            }
        });
    }
}

impl Handler for Probe {
    type Payload = Act;

    async fn handle(&self, context: &Context<Act>) -> End {
        let mut presence = Presence::begin(self, context.job_id());
        let end = self.act(context).await;
        presence.ended = true;
        end
    }
}

impl Probe {
    async fn act(&self, context: &Context<Act>) -> End {
        match context.payload() {
            Act::Done(value) => End::Done(value.clone()),
            Act::Degraded(errors) => {
                for error in errors {
                    context.diagnose("probe", error);
                }
                End::Degraded(serde_json::json!({"kept": true}))
            }
            Act::DoneWithNul => End::Done(Value::from("a\0b")),
            Act::Fail(message) => End::failed("probe_failed", message.clone()),
            Act::FailWithNul => End::failed("probe\0failed", String::from_utf8_lossy(b"\xf1a\0b")),
            Act::Permanent(message) => End::permanent("probe_refused", message.clone()),
            Act::Snooze(seconds) => End::Snooze(Duration::from_secs(*seconds)),
            Act::Panic(message) => panic!("{message}"),
            Act::Hold => {
                self.released().await;
                End::Done(Value::Null)
            }
            Act::HoldBetweenProgress => {
                context.progress(serde_json::json!({"step": 1})).await.expect("the lease lives");
                self.released().await;
                match context.progress(serde_json::json!({"step": 2})).await {
                    Err(Error::Stale) => End::Done(Value::from("stale")),
                    other => End::Done(Value::from(format!("{other:?}"))),
                }
            }
            Act::Block => {
                while !context.is_cancelled() {
                    std::thread::yield_now();
                }
                End::Done(Value::from("too late"))
            }
        }
    }
}
