//! The sessions, and what is checked after each step.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use tidemark_queue::jobs::{self, ClaimRequest, Fence, NewJob, Outcome, Renewal, Status};
use tidemark_testkit::invariants::{JOB_INVARIANTS, violations_of};
use tidemark_tests::Pipeline;
use tokio_postgres::Client;
use uuid::Uuid;

use super::oracle::Oracle;
use super::step::{Ending, Step, Wanted};

/// Takes every job away.
const EMPTY: &str = "TRUNCATE tidemark.job_body, tidemark.job_key, tidemark.job_ready, tidemark.job_lane, tidemark.job_scheduled,
    tidemark.job_grouped, tidemark.job_group, tidemark.job_lease, tidemark.job_note, tidemark.job_finished, public.job_limits, public.alert_outbox";
const EVERY_JOB: &str = "SELECT job_id, status, attempts, priority, cancel_requested, worker_id FROM public.jobs";
/// Longer than a case.
const LATER: Duration = Duration::from_secs(3_600);

/// The queue, and what is known of it.
pub(crate) struct World {
    mutation: Option<&'static str>,
    queue: Option<(Pipeline, Client)>,
    oracle: Oracle,
    /// Claims of the past and the present.
    fences: Vec<Fence>,
    worker_id: Uuid,
    counts: BTreeMap<&'static str, u64>,
    steps: u64,
}

fn new_job(wanted: &Wanted) -> NewJob {
    let mut job = NewJob::new(wanted.job_type, json!({})).priority(wanted.priority).max_attempts(wanted.max_attempts);
    job.dedupe_key = wanted.key.map(|key| format!("key {key}"));
    job.group_key = wanted.group.map(|group| format!("group {group}"));
    if wanted.is_delayed { job.delay(LATER) } else { job }
}

fn outcome(ending: Ending) -> Outcome {
    match ending {
        Ending::Done => Outcome::Done(Some(json!(1))),
        Ending::Fail => Outcome::Failed { code: "x".to_owned(), message: "x".to_owned() },
        Ending::FailPermanently => Outcome::FailedPermanently { code: "x".to_owned(), message: "x".to_owned() },
        Ending::Snooze => Outcome::Snoozed(LATER),
        Ending::Release => Outcome::Released,
    }
}

fn must<T: PartialEq + std::fmt::Debug>(what: &str, answer: T, expected: T) -> Result<(), String> {
    if answer == expected { Ok(()) } else { Err(format!("{what} answered {answer:?} instead of {expected:?}")) }
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            mutation: None,
            queue: None,
            oracle: Oracle::default(),
            fences: Vec::new(),
            worker_id: Uuid::new_v4(),
            counts: BTreeMap::new(),
            steps: 0,
        }
    }

    /// One whose database has a part of the protocol taken out.
    pub(crate) fn mutated(mutation: &'static str) -> Self {
        Self { mutation: Some(mutation), ..Self::new() }
    }

    /// Opens the sessions, on the runtime that will use them.
    pub(crate) async fn connect(&mut self) {
        let pipeline = Pipeline::new().await;
        // Waiting must not change an order while a case lasts, and a backoff must not pass by itself.
        pipeline.set("job_aging_seconds", "86400").await;
        pipeline.set("job_backoff_seconds", "3600").await;
        pipeline.set("job_backoff_max_seconds", "86400").await;
        if let Some(mutation) = self.mutation {
            pipeline.admin.batch_execute(mutation).await.unwrap();
        }
        let worker = pipeline.database.worker().await;
        self.queue = Some((pipeline, worker));
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    pub(crate) fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// A model that never gets anywhere proves nothing.
    pub(crate) fn must_have_seen_everything(&self) {
        for what in [
            "inserted",
            "coalesced",
            "claimed",
            "suspect",
            "done",
            "dead",
            "pending",
            "lost",
            "reaped",
            "requeued",
            "twin",
        ] {
            assert!(self.counts.get(what).is_some_and(|count| *count >= 1), "never {what}: {:?}", self.counts);
        }
    }

    fn note(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn parts(&self) -> (&Pipeline, &Client) {
        let (pipeline, worker) = self.queue.as_ref().unwrap();
        (pipeline, worker)
    }

    /// Lives through the steps on an empty queue, then lets everything come to its end.
    pub(crate) async fn live_through(&mut self, steps: &[Step]) -> Result<(), String> {
        self.parts().0.admin.batch_execute(EMPTY).await.unwrap();
        (self.oracle, self.fences) = (Oracle::default(), Vec::new());
        for step in steps {
            self.take(step).await.map_err(|reason| format!("{step:?}: {reason}"))?;
            self.check().await.map_err(|reason| format!("after {step:?}: {reason}"))?;
            self.steps += 1;
        }
        self.come_to_an_end().await
    }

    async fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Enqueue(wanted) => self.enqueue(&[*wanted], false).await,
            Step::EnqueueMany(wanted) => self.enqueue(wanted, true).await,
            Step::EnqueueRolledBack(wanted) => self.enqueue_rolled_back(wanted).await,
            Step::Claim { limit, job_type, start, keeps_worker } => {
                self.claim(*limit, *job_type, *start, *keeps_worker).await
            }
            Step::End { picks } => self.end(picks).await,
            Step::Zombie { pick, ending, forges_lease } => self.zombie(*pick, *ending, *forges_lease).await,
            Step::Renew { pick } => self.renew(*pick).await,
            Step::Start { pick } => self.start(*pick).await,
            Step::Progress { pick } => self.progress(*pick).await,
            Step::Expire { pick } => self.expire(*pick).await,
            Step::Reap { limit } => self.reap(*limit).await,
            Step::PassDelays => self.pass_delays().await,
            Step::Cancel { pick } => self.cancel(*pick).await,
            Step::Requeue { picks } => self.requeue(picks).await,
            Step::Move { pick, priority } => self.move_job(*pick, *priority).await,
            Step::LimitGroups { concurrency } => self.limit_groups(*concurrency).await,
        }
    }

    async fn enqueue(&mut self, wanted: &[Wanted], at_once: bool) -> Result<(), String> {
        let new: Vec<NewJob> = wanted.iter().map(new_job).collect();
        let (_, worker) = self.parts();
        let answers = if at_once {
            jobs::enqueue_many(worker, &new).await.map_err(|error| error.to_string())?
        } else {
            vec![jobs::enqueue(worker, &new[0]).await.map_err(|error| error.to_string())?]
        };
        for (wanted, answer) in wanted.iter().zip(answers) {
            let holder = self.oracle.holder(wanted.key);
            must("an enqueue", answer.inserted, holder.is_none())?;
            if let Some(holder) = holder {
                must("a coalesced enqueue", answer.job_id, holder)?;
                self.note("coalesced");
                continue;
            }
            let query = "SELECT position FROM tidemark.job_body WHERE job_id = $1";
            let position = self.parts().0.one(query, &[&answer.job_id]).await.get(0);
            self.oracle.insert(answer.job_id, *wanted, position);
            self.note("inserted");
        }
        Ok(())
    }

    async fn enqueue_rolled_back(&mut self, wanted: &Wanted) -> Result<(), String> {
        let (_, worker) = self.queue.as_mut().unwrap();
        let transaction = worker.transaction().await.unwrap();
        let answer = jobs::enqueue(&transaction, &new_job(wanted)).await.map_err(|error| error.to_string())?;
        transaction.rollback().await.unwrap();
        must("an enqueue", answer.inserted, self.oracle.holder(wanted.key).is_none())
    }

    async fn claim(
        &mut self,
        limit: u32,
        job_type: Option<i32>,
        start: Option<u32>,
        keeps_worker: bool,
    ) -> Result<(), String> {
        if !keeps_worker {
            self.worker_id = Uuid::new_v4();
        }
        let job_types = job_type.map(|job_type| vec![job_type]);
        let request = ClaimRequest { job_types, start, ..ClaimRequest::new(self.worker_id, limit) };
        let claimed = jobs::claim(self.parts().1, &request).await.map_err(|error| error.to_string())?;
        self.oracle.claim(&claimed, limit, job_type, start)?;
        for job in &claimed {
            self.fences.push(job.fence);
            self.note(if job.suspect { "suspect" } else { "claimed" });
        }
        Ok(())
    }

    /// A claim that holds.
    fn held(&self, pick: usize) -> Option<Fence> {
        let held: Vec<Fence> = self.oracle.jobs.values().filter_map(|job| job.fence).collect();
        (!held.is_empty()).then(|| held[pick % held.len()])
    }

    fn any_job(&self, pick: usize) -> Option<Uuid> {
        let ids: Vec<&Uuid> = self.oracle.jobs.keys().collect();
        (!ids.is_empty()).then(|| *ids[pick % ids.len()])
    }

    async fn end_all(&mut self, worker_id: Uuid, endings: &[(Fence, Ending)]) -> Result<(), String> {
        let sent: Vec<jobs::Ending> =
            endings.iter().map(|(fence, ending)| jobs::Ending { fence: *fence, outcome: outcome(*ending) }).collect();
        let ended = jobs::end(self.parts().1, worker_id, &sent, &[]).await.map_err(|error| error.to_string())?;
        for ((fence, ending), ended) in endings.iter().zip(ended) {
            must("an end", ended, self.oracle.end(fence, *ending))?;
            self.note(match ended {
                jobs::Ended::Done => "done",
                jobs::Ended::Dead => "dead",
                jobs::Ended::Pending => "pending",
                jobs::Ended::Lost => "lost",
            });
        }
        Ok(())
    }

    /// Ends several jobs of the worker of the first.
    async fn end(&mut self, picks: &[(usize, Ending)]) -> Result<(), String> {
        let mut endings: Vec<(Fence, Ending)> = Vec::new();
        for (pick, ending) in picks {
            let Some(fence) = self.held(*pick) else { return Ok(()) };
            if endings.first().is_none_or(|(first, _)| first.worker_id == fence.worker_id) {
                endings.push((fence, *ending));
            }
        }
        let worker_id = endings[0].0.worker_id;
        self.end_all(worker_id, &endings).await
    }

    async fn zombie(&mut self, pick: usize, ending: Ending, forges_lease: bool) -> Result<(), String> {
        if self.fences.is_empty() {
            return Ok(());
        }
        let mut fence = self.fences[pick % self.fences.len()];
        let mut endings = Vec::new();
        if forges_lease {
            // A claim of the past beside a live one of the same worker.
            if let Some(live) = self.held(pick).filter(|live| live.job_id != fence.job_id) {
                fence.worker_id = live.worker_id;
                endings.push((live, Ending::Done));
            }
            fence.attempt += i32::from(pick.is_multiple_of(2));
        }
        endings.push((fence, ending));
        self.end_all(fence.worker_id, &endings).await
    }

    async fn renew(&mut self, pick: usize) -> Result<(), String> {
        if self.fences.is_empty() {
            return Ok(());
        }
        let fence = self.fences[pick % self.fences.len()];
        let (_, worker) = self.parts();
        let answer =
            jobs::renew_lease(worker, fence.worker_id, &[fence], None).await.map_err(|error| error.to_string())?;
        let job = &self.oracle.jobs[&fence.job_id];
        let is_alive = job.fence == Some(fence) && !self.oracle.leases[&fence.lease_id].is_over;
        let is_seen = match answer.as_slice() {
            [Renewal::Until { cancel_requested, .. }] => Some(*cancel_requested),
            _ => None,
        };
        must("a renewal", is_seen, is_alive.then_some(job.is_cancel_requested))
    }

    async fn start(&mut self, pick: usize) -> Result<(), String> {
        let Some(fence) = self.held(pick) else { return Ok(()) };
        let (_, worker) = self.parts();
        jobs::start(worker, fence.worker_id, &[fence.job_id]).await.map_err(|error| error.to_string())?;
        if let Some(started) = &mut self.oracle.leases.get_mut(&fence.lease_id).unwrap().started {
            started.insert(fence.job_id);
        }
        Ok(())
    }

    async fn progress(&mut self, pick: usize) -> Result<(), String> {
        let Some(fence) = self.held(pick) else { return Ok(()) };
        let (_, worker) = self.parts();
        let stored = jobs::set_progress(worker, &fence, &json!(pick)).await.map_err(|error| error.to_string())?;
        must("progress", stored, !self.oracle.leases[&fence.lease_id].is_over)
    }

    async fn expire(&mut self, pick: usize) -> Result<(), String> {
        let Some(fence) = self.held(pick) else { return Ok(()) };
        let statement =
            "UPDATE tidemark.job_lease SET lease_until = clock_timestamp() - interval '1 second' WHERE lease_id = $1";
        must("the lease", self.parts().0.run(statement, &[&fence.lease_id]).await, 1)?;
        self.oracle.leases.get_mut(&fence.lease_id).unwrap().is_over = true;
        Ok(())
    }

    async fn reap(&mut self, limit: u32) -> Result<(), String> {
        let reaped = jobs::reap(self.parts().1, limit).await.map_err(|error| error.to_string())?;
        let expected = self.oracle.reap(limit as usize);
        for _ in &reaped {
            self.note("reaped");
        }
        must("a reap", reaped.iter().map(|job| (job.job_id, job.status)).collect(), expected)
    }

    async fn pass_delays(&mut self) -> Result<(), String> {
        let statement =
            "UPDATE tidemark.job_scheduled SET due_at = least(due_at, clock_timestamp() - interval '1 millisecond')";
        self.parts().0.run(statement, &[]).await;
        self.oracle.pass_delays();
        Ok(())
    }

    async fn cancel(&mut self, pick: usize) -> Result<(), String> {
        let Some(job_id) = self.any_job(pick) else { return Ok(()) };
        let answer = jobs::cancel(self.parts().1, job_id).await.map_err(|error| error.to_string())?;
        must("a cancel", answer, self.oracle.cancel(job_id))
    }

    async fn requeue(&mut self, picks: &[usize]) -> Result<(), String> {
        let mut ids: Vec<Uuid> = picks.iter().filter_map(|pick| self.any_job(*pick)).collect();
        // The order in which the keys are taken.
        ids.sort_by_key(|job_id| (self.oracle.jobs[job_id].wanted.key.map_or(u8::MAX, |key| key), *job_id));
        ids.dedup();
        let answers = jobs::requeue(self.parts().1, &ids).await.map_err(|error| error.to_string())?;
        for (job_id, answer) in ids.into_iter().zip(answers) {
            must("a requeue", answer, self.oracle.requeue(job_id))?;
            match answer {
                jobs::Requeued::Pending => self.note("requeued"),
                jobs::Requeued::Twin { .. } => self.note("twin"),
                jobs::Requeued::NotDead => {}
            }
        }
        Ok(())
    }

    async fn move_job(&mut self, pick: usize, priority: i32) -> Result<(), String> {
        let Some(job_id) = self.any_job(pick) else { return Ok(()) };
        let statement = "UPDATE public.jobs SET priority = $2 WHERE job_id = $1";
        let answer = self.parts().0.admin.execute(statement, &[&job_id, &priority]).await;
        let job = self.oracle.jobs.get_mut(&job_id).unwrap();
        let is_accepted = job.status == Status::Pending || job.wanted.priority == priority;
        let answer = answer.map_err(|error| error.code().map_or("", tokio_postgres::error::SqlState::code).to_owned());
        must("a move", answer, if is_accepted { Ok(1) } else { Err("55000".to_owned()) })?;
        if is_accepted {
            job.wanted.priority = priority;
        }
        Ok(())
    }

    async fn limit_groups(&mut self, concurrency: Option<i32>) -> Result<(), String> {
        let (pipeline, _) = self.parts();
        pipeline.run("DELETE FROM public.job_limits", &[]).await;
        if let Some(concurrency) = concurrency {
            let statement = "INSERT INTO public.job_limits (job_type, group_concurrency) VALUES (1001, $1), (1002, $1)";
            pipeline.run(statement, &[&concurrency]).await;
        }
        self.oracle.concurrency = concurrency;
        Ok(())
    }

    /// Every job is where the oracle says, and every invariant holds.
    async fn check(&self) -> Result<(), String> {
        let (pipeline, _) = self.parts();
        let rows = pipeline.admin.query(EVERY_JOB, &[]).await.unwrap();
        must("the number of jobs", rows.len(), self.oracle.jobs.len())?;
        for row in rows {
            let job_id: Uuid = row.get(0);
            let job = self.oracle.jobs.get(&job_id).ok_or_else(|| format!("{job_id} is unknown"))?;
            let seen: (i16, i32, i32, bool) = (row.get(1), row.get(2), row.get(3), row.get(4));
            let expected = (job.status.number(), job.attempts, job.wanted.priority, job.is_cancel_requested);
            must(&format!("the row of {job_id}"), seen, expected)?;
            if let Some(fence) = job.fence {
                must("its worker", row.get::<_, Option<Uuid>>(5), Some(self.oracle.leases[&fence.lease_id].worker_id))?;
            }
        }
        let violations = violations_of(JOB_INVARIANTS, &pipeline.admin).await;
        if violations.is_empty() { Ok(()) } else { Err(violations.join("\n")) }
    }

    /// With nothing in the way everything is worked off in a bounded number of claims.
    async fn come_to_an_end(&mut self) -> Result<(), String> {
        self.limit_groups(None).await?;
        let leases: Vec<Fence> = self.oracle.jobs.values().filter_map(|job| job.fence).collect();
        for place in 0..leases.len() {
            self.expire(place).await?;
        }
        self.reap(1_000).await?;
        self.pass_delays().await?;
        for _ in 0..=self.oracle.jobs.len() {
            self.claim(100, None, None, false).await?;
            let held: Vec<(Fence, Ending)> =
                self.oracle.jobs.values().filter_map(|job| job.fence).map(|fence| (fence, Ending::Done)).collect();
            if held.is_empty() {
                break;
            }
            self.end_all(self.worker_id, &held).await?;
        }
        let left =
            self.oracle.jobs.values().filter(|job| matches!(job.status, Status::Pending | Status::Running)).count();
        must("the backlog", left, 0)?;
        self.check().await
    }
}
