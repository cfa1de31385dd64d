//! The sessions of everybody, one case from its beginning to its end, and what is checked after each step.

use std::collections::BTreeMap;
use std::time::Duration;

use tidemark_testkit::invariants::INVARIANTS;
use tidemark_tests::Pipeline;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use crate::history::{Allowed, History};
use crate::operation::{Operation, USERS, WORKERS};
use crate::oracle::Locks;
use crate::snapshot::{Reader, Snapshot};
use crate::worker::{Stage, Worker};

/// Nothing here waits this long unless it hangs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// Empties everything but the schema. Triggers are off: a reset is no change.
const RESET: &str = "SET session_replication_role = replica;
    DELETE FROM tidemark.staged_results; DELETE FROM public.user_stats_projection_runs;
    DELETE FROM public.user_exercise_stats_refresh_jobs; DELETE FROM public.user_exercise_stats_dirty;
    DELETE FROM public.user_stats_projection_state; DELETE FROM tidemark.queue_tally; DELETE FROM public.alert_outbox;
    DELETE FROM public.user_exercise_stats; DELETE FROM public.user_exercise_rep_maxes;
    DELETE FROM public.user_exercise_stats_weekly; DELETE FROM public.user_muscle_stats_weekly; DELETE FROM public.user_stats_summary;
    DELETE FROM public.workout_sets; DELETE FROM public.workouts; DELETE FROM public.exercises;
    DELETE FROM public.bodyweight_log; DELETE FROM public.training_profiles;
    DELETE FROM public.stats_projection_worker_settings; DELETE FROM public.stats_projection_worker_settings_history;
    INSERT INTO public.stats_projection_worker_settings (backoff_seconds, max_attempts, max_active) VALUES (0, 2, 2);
    RESET session_replication_role";

/// Everybody and everything.
pub(crate) struct World {
    pub(crate) pipeline: Pipeline,
    pub(crate) users: [Uuid; USERS],
    pub(crate) workers: Vec<Worker>,
    /// The people's session.
    pub(crate) application: Client,
    pub(crate) application_backend: i32,
    /// The operator's session.
    pub(crate) operator: Client,
    /// A worker that calls with leases of others.
    pub(crate) zombie: Worker,
    pub(crate) last_workout: u128,
    pub(crate) history: History,
    reader: Reader,
    pub(crate) invariants: Statement,
    counts: BTreeMap<&'static str, usize>,
    pub(crate) latest: Option<Snapshot>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let pipeline = Pipeline::new().await;
        // Compiling the invariants takes longer than asking them.
        pipeline.admin.batch_execute("SET jit = off").await.unwrap();
        let application = pipeline.database.admin().await;
        let application_backend = application.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
        let operator = pipeline.database.admin().await;
        operator.batch_execute("SET lock_timeout = '15ms'").await.unwrap();
        let mut workers = Vec::new();
        for _ in 0..WORKERS {
            workers.push(Worker::new(&pipeline).await);
        }
        let queries: Vec<String> = INVARIANTS
            .iter()
            .map(|(name, query)| {
                format!("SELECT '{name}: ' || coalesce(found.what, '') FROM ({query}) AS found (what)")
            })
            .collect();
        Self {
            users: [1, 2, 3, 4].map(Uuid::from_u128),
            zombie: Worker::new(&pipeline).await,
            last_workout: 0,
            history: History::default(),
            reader: Reader::new(&pipeline.admin).await,
            invariants: pipeline.admin.prepare(&queries.join(" UNION ALL ")).await.unwrap(),
            counts: BTreeMap::new(),
            latest: None,
            pipeline,
            workers,
            application,
            application_backend,
            operator,
        }
    }

    /// One case from an empty database to the end, where everybody must become fresh.
    pub(crate) async fn live_through(&mut self, operations: &[Operation]) -> Result<(), String> {
        self.begin_again().await;
        for (place, operation) in operations.iter().enumerate() {
            self.step(operation).await.map_err(|error| format!("step {place}, {operation:?}: {error}"))?;
        }
        self.quiesce().await.map_err(|error| format!("at the end: {error}"))
    }

    async fn begin_again(&mut self) {
        for index in 0..self.workers.len() {
            if self.workers[index].client.batch_execute("ROLLBACK").await.is_err() {
                self.workers[index] = Worker::new(&self.pipeline).await;
            }
            self.workers[index].stage = Stage::Idle;
        }
        self.zombie.client.batch_execute("ROLLBACK").await.unwrap();
        self.application.batch_execute("ROLLBACK").await.unwrap();
        self.pipeline.admin.batch_execute(RESET).await.unwrap();
        self.history = History::default();
        self.last_workout = 0;
        self.latest = None;
    }

    async fn step(&mut self, operation: &Operation) -> Result<(), String> {
        match *operation {
            Operation::Source(change) => self.change(&change).await,
            Operation::Claim => self.claim().await,
            Operation::ComputeInvocation => self.compute_invocation().await,
            Operation::PublishInvocation => self.publish_invocation().await,
            Operation::Advance { worker, steps, prefers_publish } => {
                for _step in 0..steps {
                    self.advance(worker, prefers_publish).await?;
                }
                Ok(())
            }
            Operation::Crash { worker } => self.crash(self.busy(worker)).await,
            Operation::Fail { worker } => self.fail(self.busy(worker)).await,
            Operation::Call { lease, is_live, call, forgery } => {
                let lease = self.some_lease(lease, is_live, forgery).await;
                if let Some(lease) = lease { self.call(lease, call).await } else { Ok(()) }
            }
            Operation::HoldBeyondExpiry { worker } => self.hold_beyond_expiry(worker).await,
            _ => self.operate(operation).await,
        }
    }

    pub(crate) async fn read(&self) -> Snapshot {
        self.reader.read(&self.pipeline.admin).await
    }

    /// The rows before a step, which are those after the one before it. Only [`Self::hold_beyond_expiry`] lets time pass.
    pub(crate) async fn before(&mut self) -> Snapshot {
        match self.latest.take() {
            Some(latest) => latest,
            None => self.read().await,
        }
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// What happened how often.
    pub(crate) fn counts(&self) -> String {
        let counts: Vec<String> = self.counts.iter().map(|(what, count)| format!("{what} {count}")).collect();
        counts.join(", ")
    }

    /// A run of the model that never reached one of these has tested less than it says.
    pub(crate) fn must_have_done_everything(&self) {
        for what in [
            "published",
            "staged",
            "recovered",
            "exhausted",
            "crash in a transaction",
            "call accepted",
            "call refused",
            "row held by another",
            "a save waited for a publish",
            "staged past the expiry",
        ] {
            assert!(self.counts.contains_key(what), "no case reached: {what}; {}", self.counts());
        }
    }

    /// Reads the rows after a step, compares them with what was allowed, and asks every invariant.
    pub(crate) async fn check(&mut self, before: &Snapshot, allowed: &Allowed) -> Result<Snapshot, String> {
        let after = self.read().await;
        self.history.check(before, &after, allowed)?;
        self.latest = Some(after.clone());
        let broken = self.pipeline.admin.query(&self.invariants, &[]).await.unwrap();
        let broken: Vec<&str> = broken.iter().map(|row| row.get(0)).collect();
        if broken.is_empty() { Ok(after) } else { Err(broken.join("\n")) }
    }

    /// The rows that the workers' open transactions hold.
    pub(crate) fn locks(&self) -> Locks {
        let mut locks = Locks::default();
        for worker in self.workers.iter().filter(|worker| worker.stage.is_open()) {
            let lease = worker.stage.lease().unwrap();
            locks.runs.insert(lease.run_id);
            if matches!(worker.stage, Stage::Published(_)) {
                locks.users.insert(lease.user_id);
            }
        }
        locks
    }
}
