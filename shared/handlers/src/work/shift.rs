//! A shift: claim, run side by side, record, until there is nothing left or no time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tidemark_queue::jobs::{self, ClaimRequest, ClaimedJob, Ended, Ending, Fence, Outcome};
use tidemark_queue::lease::SHORT_CALL_LIMIT;
use tidemark_queue::{Connection, Error, Invocation, Pace, Summary};
use tokio_postgres::Client;
use uuid::Uuid;

use super::crew::{CONCURRENCY, Crew, Finished, Running};
use super::heartbeat::{Beat, Heartbeat};
use super::held::Held;
use super::limits::Limits;
use super::record::record;
use super::waiting::Waiting;
use crate::context::JobInHand;
use crate::diagnostics::Diagnostics;
use crate::{Context, Database, Registry};

/// Most jobs in one claim. Payloads have up to 1 MiB, and all of a claim are in memory at once.
const BATCH_MAX: usize = 4 * CONCURRENCY;
/// A batch that is through after this time was small: the next one is twice as large.
const QUICK: Duration = Duration::from_millis(250);
/// How often an invocation that has places free, but found nothing more to claim, looks again while its handlers run.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How often a shift ticks again by itself: as often as a tick is noted.
const TICK_AGAIN: Duration = Duration::from_secs(5);

/// Stable codes of what is recorded for a handler that did not return.
mod code {
    pub(super) const CANCELLED: &str = "cancelled";
    pub(super) const DEADLINE_EXCEEDED: &str = "deadline_exceeded";
    pub(super) const INVALID_PAYLOAD: &str = "invalid_payload";
    pub(super) const PANIC: &str = "panic";
    pub(super) const UNKNOWN_TYPE: &str = "unknown_type";
}

/// The work of one invocation.
pub(super) struct Shift<'a> {
    connection: &'a mut Connection,
    invocation: &'a Invocation,
    registry: &'a Registry,
    limits: Limits,
    summary: &'a mut Summary,
    held: Held,
    heartbeat: Heartbeat,
    database: Database,
    waiting: Waiting,
    crew: Crew,
    /// Ended and not yet recorded.
    ended: Vec<(i32, Ending)>,
    /// Nothing is claimed any more: a lease could not be renewed, the database would not let us claim, or the function is paused.
    closing: bool,
    ticked_at: Instant,
    batch: usize,
    claimed_at: Instant,
    /// When to claim again; earlier there is nothing.
    look_at: Instant,
    pace: Pace,
}

impl<'a> Shift<'a> {
    pub(super) fn new(
        connection: &'a mut Connection,
        invocation: &'a Invocation,
        registry: &'a Registry,
        limits: Limits,
        summary: &'a mut Summary,
    ) -> Self {
        let held = Held::default();
        let heartbeat = Heartbeat::start(connection.sibling(), invocation.worker_id, limits.lease, held.clone());
        let database = Database::new(connection.sibling());
        let now = Instant::now();
        Self {
            connection,
            invocation,
            registry,
            limits,
            summary,
            held,
            heartbeat,
            database,
            waiting: Waiting::default(),
            crew: Crew::default(),
            ended: Vec::new(),
            closing: false,
            ticked_at: now,
            batch: CONCURRENCY,
            claimed_at: now,
            look_at: now,
            pace: Pace::new(),
        }
    }

    /// Works until there is nothing left, or no time.
    ///
    /// # Errors
    /// When ends could not be recorded: handlers that run are cancelled, and what they held comes back with its lease.
    pub(super) async fn run(mut self) -> Result<(), Error> {
        loop {
            if self.ticks_at().is_some_and(|instant| instant <= Instant::now()) {
                self.tick_again().await;
            }
            self.settle().await?;
            if !self.ended.is_empty() {
                continue;
            }
            if self.wants_more() {
                self.claim().await;
            } else if self.crew.len() > 0 {
                self.wait().await;
            } else if self.waiting.is_empty() && !self.linger().await {
                return Ok(());
            }
        }
    }

    /// Whether anything may be claimed, were there something.
    fn may_claim(&self) -> bool {
        !self.closing && self.limits.may_begin(self.invocation)
    }

    /// When to tick again.
    fn ticks_at(&self) -> Option<Instant> {
        self.may_claim().then_some(self.ticked_at + TICK_AGAIN)
    }

    async fn tick_again(&mut self) {
        match super::tick(self.connection, self.invocation, None, self.summary).await {
            Ok(begun) => self.closing |= begun.without_work.is_some(),
            Err(error) => {
                self.summary.note_error(&error);
                self.closing = true;
            }
        }
        // From the answer on, so that the next one is late enough to be noted.
        self.ticked_at = Instant::now();
    }

    /// Whether to claim now. What is claimed begins before more is claimed.
    fn wants_more(&self) -> bool {
        self.may_claim() && self.waiting.is_empty() && self.crew.free() > 0 && Instant::now() >= self.look_at
    }

    /// With nothing to do, waits a moment for work that is on its way. Says whether to look again.
    async fn linger(&mut self) -> bool {
        if !self.invocation.may_linger() || !self.may_claim() {
            return false;
        }
        self.pace.wait().await;
        self.look_at = Instant::now();
        true
    }

    /// Claims as many as there are places, and more while jobs are quick. The first of them begin at once.
    async fn claim(&mut self) {
        if self.claimed_at.elapsed() > QUICK {
            self.batch = CONCURRENCY;
        }
        let free = self.crew.free();
        let limit = (self.batch * free / CONCURRENCY).max(1);
        let request = ClaimRequest {
            worker_id: self.invocation.worker_id,
            limit: u32::try_from(limit).unwrap_or(1),
            job_types: None,
            lease: Some(self.limits.lease),
            start: u32::try_from(free).ok(),
        };
        let asked = Instant::now();
        let claimed = self
            .connection
            .run(SHORT_CALL_LIMIT, async |client: &mut Client| jobs::claim(client, &request).await)
            .await;
        match claimed {
            Ok(jobs) => self.take(jobs, free, limit, asked),
            Err(error) => {
                // What runs still ends and is recorded.
                self.summary.note_error(&error);
                self.closing = true;
            }
        }
    }

    fn take(&mut self, jobs: Vec<ClaimedJob>, free: usize, limit: usize, asked: Instant) {
        self.held.add(jobs.iter().map(|job| job.fence), asked);
        self.claimed_at = Instant::now();
        if jobs.len() == limit {
            self.batch = (self.batch * 2).min(BATCH_MAX);
        }
        // A claim that brings less than it asked for does not mean that there is no more: groups and the others share it.
        if jobs.is_empty() {
            self.look_at = self.claimed_at + LOOK_EVERY;
        } else {
            self.look_at = self.claimed_at;
            self.pace.reset();
        }
        let mut places = free;
        for job in jobs {
            // As the claim has noted it: suspects have not begun.
            if places > 0 && !job.suspect {
                places -= 1;
                self.start(job);
            } else {
                self.waiting.push(job);
            }
        }
    }

    /// Records what has ended and begins what waits, in one round trip.
    async fn settle(&mut self) -> Result<(), Error> {
        self.give_back();
        let next = self.waiting.take(self.crew.free(), self.crew.len());
        if self.ended.is_empty() && next.is_empty() {
            return Ok(());
        }
        let (job_types, endings): (Vec<i32>, Vec<Ending>) = std::mem::take(&mut self.ended).into_iter().unzip();
        let begin: Vec<Uuid> = next.iter().map(|job| job.fence.job_id).collect();
        let answers = record(self.connection, self.invocation, &endings, &begin).await?;
        for ((job_type, ending), ended) in job_types.into_iter().zip(&endings).zip(answers) {
            self.held.remove(ending.fence.job_id);
            account(self.summary, job_type, ending, ended);
        }
        for job in next {
            self.start(job);
        }
        Ok(())
    }

    /// Gives back what will not begin in time.
    fn give_back(&mut self) {
        let unstarted =
            if self.may_claim() { self.waiting.take_overdue(Instant::now()) } else { self.waiting.take_all() };
        if !unstarted.is_empty() {
            self.batch = CONCURRENCY;
        }
        self.ended.extend(unstarted.into_iter().map(|job| ended(job.job_type, job.fence, Outcome::Released)));
    }

    /// Begins one job, or ends it where no handler can take it.
    fn start(&mut self, job: ClaimedJob) {
        let Some(handler) = self.registry.handler(job.job_type) else {
            let message = format!("no handler takes jobs of type {}", job.job_type);
            let outcome = Outcome::Failed { code: code::UNKNOWN_TYPE.to_owned(), message };
            return self.ended.push(ended(job.job_type, job.fence, outcome));
        };
        let running = Running {
            fence: job.fence,
            job_type: job.job_type,
            alone: job.suspect,
            deadline: self.limits.deadline(self.invocation),
            cancelled: Arc::new(AtomicBool::new(false)),
            diagnostics: Diagnostics::default(),
        };
        let context = Context::new(JobInHand {
            fence: job.fence,
            max_attempts: job.max_attempts,
            deadline: running.deadline,
            cancelled: Arc::clone(&running.cancelled),
            diagnostics: running.diagnostics.clone(),
            database: self.database.clone(),
        });
        match handler.start(&job.payload, context) {
            Ok(work) => self.crew.start(running, work),
            Err(_invalid) => {
                let message = format!("the payload is not what jobs of type {} carry", job.job_type);
                let outcome = Outcome::FailedPermanently { code: code::INVALID_PAYLOAD.to_owned(), message };
                self.ended.push(ended(job.job_type, job.fence, outcome));
            }
        }
    }

    /// Waits until a handler ends, the heartbeat has something to say, or it is time for something else.
    async fn wait(&mut self) {
        let wake_at = self.wake_at();
        tokio::select! {
            Some((running, finished)) = self.crew.next() => self.finish(running, finished),
            Some(beat) = self.heartbeat.next() => self.hear(beat),
            () = until(wake_at) => {}
        }
        while let Some((running, finished)) = self.crew.next_now() {
            self.finish(running, finished);
        }
        for running in self.crew.dismiss_overdue(Instant::now()) {
            let message = format!("the handler did not end within {} ms", self.limits.handler.as_millis());
            let outcome = Outcome::Failed { code: code::DEADLINE_EXCEEDED.to_owned(), message };
            self.ended.push(ended(running.job_type, running.fence, outcome));
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let could_claim = self.may_claim() && self.crew.free() > 0 && self.waiting.is_empty();
        let looks_at = could_claim.then_some(self.look_at);
        [self.crew.next_deadline(), self.waiting.overdue_at(), looks_at, self.ticks_at()].into_iter().flatten().min()
    }

    fn finish(&mut self, running: Running, finished: Finished) {
        let outcome = match finished {
            Finished::With(end) => end.into_outcome(&running.diagnostics),
            Finished::Panicked => {
                let message = "the handler panicked; the log of this invocation says where".to_owned();
                Outcome::Failed { code: code::PANIC.to_owned(), message }
            }
        };
        self.ended.push(ended(running.job_type, running.fence, outcome));
    }

    fn hear(&mut self, beat: Beat) {
        match beat {
            Beat::Failing => self.closing = true,
            Beat::Lost(job_ids) => {
                for job_id in job_ids {
                    self.lose(job_id);
                }
            }
            Beat::CancelRequested(job_ids) => {
                for job_id in job_ids {
                    self.cancel(job_id);
                }
            }
        }
    }

    /// Stops working for a job whose lease is lost; nothing is written for it. Whoever has just ended is none of them.
    fn lose(&mut self, job_id: Uuid) {
        self.held.remove(job_id);
        let running = self.crew.dismiss_job(job_id).is_some();
        if running || self.waiting.take_job(job_id).is_some() {
            tracing::warn!(job.id = %job_id, "the lease was lost; nothing was written");
            self.summary.lost += 1;
            self.closing = true;
        }
    }

    fn cancel(&mut self, job_id: Uuid) {
        let running = self.crew.dismiss_job(job_id).map(|running| (running.job_type, running.fence));
        let waiting = self.waiting.take_job(job_id).map(|job| (job.job_type, job.fence));
        if let Some((job_type, fence)) = running.or(waiting) {
            let message = "cancelled while it was running".to_owned();
            let outcome = Outcome::FailedPermanently { code: code::CANCELLED.to_owned(), message };
            self.ended.push(ended(job_type, fence, outcome));
        }
    }
}

fn ended(job_type: i32, fence: Fence, outcome: Outcome) -> (i32, Ending) {
    (job_type, Ending { fence, outcome })
}

/// Waits until `instant`, or for ever.
async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => std::future::pending().await,
    }
}

/// Takes what became of one job into the summary and the log.
fn account(summary: &mut Summary, job_type: i32, ending: &Ending, ended: Ended) {
    use tidemark_queue::Outcome::Worked;
    let Fence { job_id, attempt, .. } = ending.fence;
    if ended == Ended::Lost {
        tracing::warn!(job.id = %job_id, job.type_number = job_type, job.attempt = attempt, "the lease was lost; nothing was written");
        summary.lost += 1;
        return;
    }
    match &ending.outcome {
        Outcome::Done(_) if ended == Ended::Done => summary.succeeded += 1,
        Outcome::Done(_) => summary.failed += 1,
        Outcome::Snoozed(_) | Outcome::Released => {}
        Outcome::Failed { code, .. } | Outcome::FailedPermanently { code, .. } => {
            summary.failed += 1;
            summary.error_code = Some(code.clone());
            // The message may say more than a log should know; it stands in the job's row.
            if ended == Ended::Dead && code != code::CANCELLED {
                tracing::error!(job.id = %job_id, job.type_number = job_type, job.attempt = attempt, error.code = code, "a job is dead");
            } else {
                tracing::warn!(job.id = %job_id, job.type_number = job_type, job.attempt = attempt, error.code = code, "a job failed");
            }
        }
    }
    if summary.outcome != tidemark_queue::Outcome::Failed {
        summary.outcome = Worked;
    }
}
