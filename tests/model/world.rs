//! The sessions of everybody, and the steps of the pipeline.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidemark_queue::Lease;
use tidemark_stats::{DEFINITION_VERSION, Projections};
use tidemark_testkit::invariants::INVARIANTS;
use tidemark_tests::{Pipeline, published, source};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Json;
use tokio_postgres::{Client, Row, Statement};
use uuid::Uuid;

use crate::history::{Allowed, History};
use crate::operation::{Call, Operation};
use crate::oracle::{self, Locks};
use crate::snapshot::{Reader, Snapshot};
use crate::worker::{Stage, Worker};

/// Nothing here waits this long unless it hangs.
const DEADLINE: Duration = Duration::from_secs(10);

/// Empties everything but the schema. Triggers are off: a reset is no change.
const RESET: &str = "SET session_replication_role = replica;
    DELETE FROM tidemark.staged_results; DELETE FROM public.user_stats_projection_runs;
    DELETE FROM public.user_exercise_stats_refresh_jobs; DELETE FROM public.user_exercise_stats_dirty;
    DELETE FROM public.user_stats_projection_state; DELETE FROM tidemark.queue_tally; DELETE FROM public.alert_outbox;
    DELETE FROM public.user_exercise_stats; DELETE FROM public.user_exercise_rep_maxes;
    DELETE FROM public.user_exercise_stats_weekly; DELETE FROM public.user_stats_summary;
    DELETE FROM public.workout_sets; DELETE FROM public.workouts; DELETE FROM public.exercises;
    DELETE FROM public.bodyweight_log; DELETE FROM public.training_profiles;
    DELETE FROM public.stats_projection_worker_settings; DELETE FROM public.stats_projection_worker_settings_history;
    INSERT INTO public.stats_projection_worker_settings (backoff_seconds, max_attempts) VALUES (0, 2);
    RESET session_replication_role";

/// Everybody and everything.
pub(crate) struct World {
    pub(crate) pipeline: Pipeline,
    pub(crate) users: [Uuid; 3],
    pub(crate) workers: Vec<Worker>,
    /// The people's session.
    pub(crate) application: Client,
    application_backend: i32,
    /// The operator's session.
    pub(crate) operator: Client,
    /// A worker that calls with leases of others.
    zombie: Worker,
    pub(crate) last_workout: u128,
    history: History,
    reader: Reader,
    invariants: Statement,
    counts: BTreeMap<&'static str, usize>,
    latest: Option<Snapshot>,
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
        for _ in 0..3 {
            workers.push(Worker::new(&pipeline).await);
        }
        let queries: Vec<String> = INVARIANTS
            .iter()
            .map(|(name, query)| {
                format!("SELECT '{name}: ' || coalesce(found.what, '') FROM ({query}) AS found (what)")
            })
            .collect();
        Self {
            users: [1, 2, 3].map(Uuid::from_u128),
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
            Operation::Call { lease, call } => self.call(lease, call).await,
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
            "resumed",
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

    async fn claim(&mut self) -> Result<(), String> {
        let before = self.before().await;
        let expected = oracle::claim(&before, &self.locks());
        let query = "SELECT outcome, claimed, recovered, absorbed, exhausted FROM tidemark.claim_v1(gen_random_uuid())";
        let row = self.zombie.client.query_one(query, &[]).await.map_err(|error| format!("claim: {error:?}"))?;
        let count = |index: usize| usize::try_from(row.get::<_, i32>(index)).unwrap();
        let found = (row.get::<_, &str>(0), count(1), count(2), count(3), count(4));
        let wanted = (
            expected.outcome,
            expected.started.len(),
            expected.recovered.len(),
            expected.absorbed.len(),
            expected.exhausted,
        );
        if found != wanted {
            return Err(format!("the claim answered {found:?}, not {wanted:?}; {expected:?}; {before:#?}"));
        }
        let moved = expected.recovered.iter().map(|id| (*id, "failed")).collect();
        let allowed = Allowed { moved, started: expected.started.clone(), changes_source: false };
        let after = self.check(&before, &allowed).await?;
        for id in &expected.absorbed {
            if after.jobs[id].status != "absorbed" {
                return Err(format!("job {id} was not absorbed: {:?}", after.jobs[id]));
            }
        }
        for (what, is_so) in [
            ("claimed", !expected.started.is_empty()),
            ("recovered", !expected.recovered.is_empty()),
            ("exhausted", expected.exhausted > 0),
            ("absorbed", !expected.absorbed.is_empty()),
        ] {
            if is_so {
                self.count(what);
            }
        }
        Ok(())
    }

    async fn compute_invocation(&mut self) -> Result<(), String> {
        let before = self.before().await;
        let locks = self.locks();
        let mut allowed = Allowed::default();
        if before.enabled[1] {
            for (id, run) in oracle::takeable(&before, &locks, "claimed") {
                allowed.moved.insert(id, "computed");
                let figures = source::compute(&self.pipeline.admin, run.user).await;
                self.history.staged.insert(id, figures);
            }
        }
        let summary = self.pipeline.compute().await;
        if summary.succeeded != allowed.moved.len() as u64 || summary.failed + summary.lost > 0 {
            return Err(format!("compute answered {summary:?}, {} runs were there", allowed.moved.len()));
        }
        self.check(&before, &allowed).await.map(|_after| ())
    }

    async fn publish_invocation(&mut self) -> Result<(), String> {
        let before = self.before().await;
        let locks = self.locks();
        let mut allowed = Allowed::default();
        if before.enabled[2] {
            allowed.moved = oracle::takeable(&before, &locks, "computed").map(|(id, _run)| (id, "published")).collect();
        }
        let summary = self.pipeline.publish().await;
        if summary.succeeded != allowed.moved.len() as u64 || summary.failed + summary.lost > 0 {
            return Err(format!("publish answered {summary:?}, {} runs were there", allowed.moved.len()));
        }
        self.check(&before, &allowed).await?;
        for id in allowed.moved.into_keys() {
            self.check_published(id).await?;
        }
        Ok(())
    }

    /// What is published must be what the run has staged, also where it staged only what was dirty.
    pub(crate) async fn check_published(&mut self, run: i64) -> Result<(), String> {
        let staged = self.history.staged.remove(&run).ok_or("published without having been staged")?;
        let user = self.history.leases.iter().find(|lease| lease.run_id == run).unwrap().user_id;
        let differences = published::differences(&self.pipeline.admin, user, &staged).await;
        self.count("published");
        if differences.is_empty() { Ok(()) } else { Err(format!("{user}: {}", differences.join("\n"))) }
    }

    async fn advance(&mut self, index: usize, prefers_publish: bool) -> Result<(), String> {
        match self.workers[index].stage.clone() {
            Stage::Idle => self.take(index, prefers_publish).await,
            Stage::ToCompute(lease) => self.hold(index, lease).await,
            Stage::Holding(lease) => self.stage(index, lease).await,
            Stage::Staged(lease, figures) => {
                let before = self.before().await;
                self.commit(index).await?;
                self.history.staged.insert(lease.run_id, *figures);
                self.count("staged");
                self.check(&before, &moved(lease, "computed")).await.map(|_after| ())
            }
            Stage::ToPublish(lease) => self.publish(index, lease).await,
            Stage::Published(lease) => {
                let before = self.before().await;
                self.commit(index).await?;
                self.check(&before, &moved(lease, "published")).await?;
                self.check_published(lease.run_id).await
            }
        }
    }

    async fn commit(&mut self, index: usize) -> Result<(), String> {
        self.workers[index].stage = Stage::Idle;
        self.workers[index].client.batch_execute("COMMIT").await.map_err(|error| format!("COMMIT: {error:?}"))
    }

    async fn take(&mut self, index: usize, prefers_publish: bool) -> Result<(), String> {
        let before = self.before().await;
        let locks = self.locks();
        let expected = |is_publish: bool| match is_publish {
            true if before.enabled[2] => oracle::take(&before, &locks, "computed"),
            false if before.enabled[1] => oracle::take(&before, &locks, "claimed"),
            _ => None,
        };
        // A worker does what it prefers, where that is there or nothing is.
        let is_publish =
            prefers_publish ^ (expected(prefers_publish).is_none() && expected(!prefers_publish).is_some());
        let (query, taken, enabled) = if is_publish {
            ("SELECT * FROM tidemark.publish_take_v1(gen_random_uuid())", "publishing", before.enabled[2])
        } else {
            ("SELECT * FROM tidemark.compute_take_v1(gen_random_uuid())", "computing", before.enabled[1])
        };
        let expected = expected(is_publish);
        let row = self.workers[index].client.query_one(query, &[]).await.map_err(|error| format!("{error:?}"))?;
        let lease = lease(&row);
        if lease.map(|lease| lease.run_id) != expected || (!enabled && row.get::<_, &str>(0) != "paused") {
            return Err(format!("{} {lease:?} was taken, not {expected:?}", row.get::<_, &str>(0)));
        }
        let mut allowed = Allowed::default();
        if let Some(lease) = lease {
            allowed = moved(lease, taken);
            self.workers[index].stage = if is_publish { Stage::ToPublish(lease) } else { Stage::ToCompute(lease) };
        }
        self.check(&before, &allowed).await.map(|_after| ())
    }

    async fn hold(&mut self, index: usize, lease: Lease) -> Result<(), String> {
        let before = self.before().await;
        let (is_locked, expected) =
            (self.locks().runs.contains(&lease.run_id), oracle::accepts(&before, &lease, Call::Hold, false));
        let worker = &mut self.workers[index];
        let found = call_in_transaction(&worker.client, "REPEATABLE READ", Call::Hold, lease, None).await?;
        judge(found, expected, is_locked)?;
        worker.stage = if found == Some(true) { Stage::Holding(lease) } else { Stage::Idle };
        if found != Some(true) {
            worker.client.batch_execute("ROLLBACK").await.unwrap();
        }
        self.check(&before, &Allowed::default()).await.map(|_after| ())
    }

    /// Reads in the worker's own snapshot, which may be older than what was saved since, and stages.
    async fn stage(&mut self, index: usize, lease: Lease) -> Result<(), String> {
        let before = self.before().await;
        let expected = oracle::accepts(&before, &lease, Call::Stage, true);
        let is_expired = before.runs[&lease.run_id].is_expired;
        let figures = self.read_and_stage(&self.workers[index].client, lease).await?;
        if figures.is_some() != expected {
            return Err(format!("staging was accepted: {}, not {expected}", figures.is_some()));
        }
        self.workers[index].stage = match figures {
            Some(figures) => Stage::Staged(lease, Box::new(figures)),
            None => Stage::Idle,
        };
        if !self.workers[index].stage.is_open() {
            self.workers[index].client.batch_execute("ROLLBACK").await.unwrap();
        } else if is_expired {
            self.count("staged past the expiry");
        }
        self.check(&before, &Allowed::default()).await.map(|_after| ())
    }

    /// The figures, where staging was accepted.
    async fn read_and_stage(&self, client: &Client, lease: Lease) -> Result<Option<Projections>, String> {
        // The worker may call functions only, so that the superuser reads the tables, in the worker's own snapshot.
        let exported: String = client.query_one("SELECT pg_export_snapshot()", &[]).await.unwrap().get(0);
        let reading = &self.pipeline.admin;
        let begin = format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT '{exported}'");
        reading.batch_execute(&begin).await.unwrap();
        let figures = source::compute(reading, lease.user_id).await;
        let document = document(reading, lease.user_id, &figures).await;
        reading.batch_execute("COMMIT").await.unwrap();
        let accepted = call(client, Call::Stage, lease, Some(document)).await?;
        Ok((accepted == Some(true)).then_some(figures))
    }

    async fn publish(&mut self, index: usize, lease: Lease) -> Result<(), String> {
        let before = self.before().await;
        let locks = self.locks();
        let is_locked = locks.runs.contains(&lease.run_id);
        let expected = oracle::accepts(&before, &lease, Call::Publish, false);
        let worker = &mut self.workers[index];
        let found = call_in_transaction(&worker.client, "READ COMMITTED", Call::Publish, lease, None).await?;
        judge(found, expected, is_locked)?;
        worker.stage = if found == Some(true) { Stage::Published(lease) } else { Stage::Idle };
        if found != Some(true) {
            worker.client.batch_execute("ROLLBACK").await.unwrap();
        }
        self.check(&before, &Allowed::default()).await.map(|_after| ())
    }

    /// The worker meant, or the next one that has a run.
    fn busy(&self, meant: usize) -> usize {
        let after = (0..3).map(|step| (meant + step) % 3);
        after.into_iter().find(|index| self.workers[*index].stage.lease().is_some()).unwrap_or(meant)
    }

    async fn crash(&mut self, index: usize) -> Result<(), String> {
        let before = self.before().await;
        if self.workers[index].stage.is_open() {
            let query = "SELECT pg_terminate_backend($1, 5000)";
            let is_gone: bool = self.pipeline.one(query, &[&self.workers[index].backend]).await.get(0);
            assert!(is_gone, "a terminated backend goes");
            self.workers[index] = Worker::new(&self.pipeline).await;
            self.count("crash in a transaction");
        }
        self.workers[index].stage = Stage::Idle;
        self.check(&before, &Allowed::default()).await.map(|_after| ())
    }

    async fn fail(&mut self, index: usize) -> Result<(), String> {
        let Some(lease) = self.workers[index].stage.lease() else { return Ok(()) };
        if self.workers[index].stage.is_open() {
            self.workers[index].client.batch_execute("ROLLBACK").await.unwrap();
        }
        self.workers[index].stage = Stage::Idle;
        let before = self.before().await;
        let is_locked = self.locks().runs.contains(&lease.run_id);
        let expected = oracle::accepts(&before, &lease, Call::Fail, false);
        let found = call(&self.workers[index].client, Call::Fail, lease, None).await?;
        judge(found, expected, is_locked)?;
        self.check(&before, &if found == Some(true) { moved(lease, "failed") } else { Allowed::default() }).await?;
        self.count("failed");
        Ok(())
    }

    /// A call out of turn, committed at once.
    async fn call(&mut self, lease: usize, kind: Call) -> Result<(), String> {
        let Some(&lease) = self.history.leases.get(lease % self.history.leases.len().max(1)) else { return Ok(()) };
        let before = self.before().await;
        let is_locked = self.locks().runs.contains(&lease.run_id);
        let expected = oracle::accepts(&before, &lease, kind, false);
        if expected && kind == Call::Stage && !is_locked {
            return self.stage_out_of_turn(&before, lease).await;
        }
        let document = (kind == Call::Stage).then(|| json!({}));
        let found = call(&self.zombie.client, kind, lease, document).await?;
        // Asking for the phase waits for nobody.
        judge(found, expected, is_locked && kind != Call::Phase)?;
        let phase = match (kind, found) {
            (Call::Publish, Some(true)) => Some("published"),
            (Call::Fail, Some(true)) => Some("failed"),
            _ => None,
        };
        let allowed = phase.map_or_else(Allowed::default, |phase| moved(lease, phase));
        self.check(&before, &allowed).await?;
        self.count(match found {
            Some(true) => "call accepted",
            Some(false) => "call refused",
            None => "row held by another",
        });
        if phase == Some("published") { self.check_published(lease.run_id).await } else { Ok(()) }
    }

    /// Somebody with the right lease does a worker's whole work before the worker itself.
    async fn stage_out_of_turn(&mut self, before: &Snapshot, lease: Lease) -> Result<(), String> {
        let hold = oracle::accepts(before, &lease, Call::Hold, false);
        let found = call_in_transaction(&self.zombie.client, "REPEATABLE READ", Call::Hold, lease, None).await?;
        judge(found, hold, false)?;
        if found != Some(true) {
            self.zombie.client.batch_execute("ROLLBACK").await.unwrap();
            return self.check(before, &Allowed::default()).await.map(|_after| ());
        }
        let figures = self.read_and_stage(&self.zombie.client, lease).await?.ok_or("staging was refused")?;
        self.zombie.client.batch_execute("COMMIT").await.map_err(|error| format!("COMMIT: {error:?}"))?;
        self.history.staged.insert(lease.run_id, figures);
        self.count("call accepted");
        self.check(before, &moved(lease, "computed")).await.map(|_after| ())
    }

    /// The lease passes while a compute holds its run: it keeps it, and recovery leaves it alone.
    async fn hold_beyond_expiry(&mut self, index: usize) -> Result<(), String> {
        let Stage::ToCompute(lease) = self.workers[index].stage else { return Ok(()) };
        if self.locks().runs.contains(&lease.run_id) {
            return Ok(());
        }
        let soon = "UPDATE public.user_stats_projection_runs
            SET lease_expires_at = clock_timestamp() + interval '25 milliseconds'
            WHERE id = $1 AND phase = 'computing' AND lease_token = $2 AND lease_expires_at > clock_timestamp()";
        if self.operator.execute(soon, &[&lease.run_id, &lease.token]).await.unwrap() == 0 {
            return Ok(());
        }
        let found =
            call_in_transaction(&self.workers[index].client, "REPEATABLE READ", Call::Hold, lease, None).await?;
        self.workers[index].stage = if found == Some(true) { Stage::Holding(lease) } else { Stage::Idle };
        if found != Some(true) {
            self.workers[index].client.batch_execute("ROLLBACK").await.unwrap();
        }
        let began = Instant::now();
        self.latest = None;
        while !self.read().await.runs[&lease.run_id].is_expired {
            assert!(began.elapsed() < DEADLINE, "time passes");
        }
        self.claim().await
    }

    /// Returns once the people's session waits for a lock, or has its answer.
    pub(crate) async fn until_blocked_or(&self, is_answered: &Cell<bool>) -> Result<(), String> {
        let began = Instant::now();
        let query = "SELECT cardinality(pg_blocking_pids($1)) > 0";
        loop {
            let is_blocked: bool = self.pipeline.one(query, &[&self.application_backend]).await.get(0);
            if is_blocked || is_answered.get() {
                return Ok(());
            }
            if began.elapsed() > DEADLINE {
                return Err("a save neither ends nor waits".to_owned());
            }
            tokio::task::yield_now().await;
        }
    }

    /// Every worker gone, every lease over, everything resumed: everybody becomes fresh, and a full recomputation of
    /// everybody changes nothing.
    async fn quiesce(&mut self) -> Result<(), String> {
        for index in 0..self.workers.len() {
            self.crash(index).await?;
        }
        let put_right = "UPDATE public.stats_projection_worker_settings
            SET claim_enabled = true, compute_enabled = true, publish_enabled = true;
            UPDATE public.user_stats_projection_runs SET lease_expires_at = clock_timestamp() - interval '1 second'
            WHERE phase IN ('claimed', 'computing', 'computed', 'publishing');
            UPDATE public.user_exercise_stats_refresh_jobs SET status = 'pending', attempts = 0
            WHERE status = 'failed' AND absorbed_into_job_id IS NULL;
            UPDATE public.user_stats_projection_runs SET retry_not_before = NULL WHERE phase = 'failed'";
        self.operator.batch_execute(put_right).await.map_err(|error| format!("putting right: {error:?}"))?;
        self.pipeline.refresh().await;
        // A recovered last attempt is over only now.
        self.operator.batch_execute(put_right).await.map_err(|error| format!("putting right: {error:?}"))?;
        self.pipeline.refresh().await;
        self.must_be_fresh().await?;

        let newest = "SELECT coalesce(max(id), 0) FROM public.user_stats_projection_runs";
        let newest: i64 = self.pipeline.one(newest, &[]).await.get(0);
        let known: Vec<Uuid> = self.history.acknowledged.keys().copied().collect();
        self.pipeline.one("SELECT public.request_stats_refresh($1)", &[&known]).await;
        self.pipeline.refresh().await;
        self.must_be_fresh().await?;
        let changed = "SELECT count(*), coalesce(sum(rows_changed + rows_deleted), 0)
            FROM public.user_stats_projection_runs WHERE id > $1 AND phase = 'published'";
        let row = self.pipeline.one(changed, &[&newest]).await;
        let found: (i64, i64) = (row.get(0), row.get(1));
        let wanted = (i64::try_from(known.len()).unwrap(), 0);
        if found == wanted { Ok(()) } else { Err(format!("recomputing everybody: {found:?}, not {wanted:?}")) }
    }

    async fn must_be_fresh(&mut self) -> Result<(), String> {
        let after = self.read().await;
        for (user, state) in &after.states {
            let acknowledged = self.history.acknowledged.get(user).copied().unwrap_or(0);
            if state.applied < state.requested || state.applied < acknowledged {
                return Err(format!("{user} was promised {acknowledged} and is {state:?}; {:?}", after.jobs));
            }
            let expected = source::compute(&self.pipeline.admin, *user).await;
            let differences = published::differences(&self.pipeline.admin, *user, &expected).await;
            if !differences.is_empty() {
                return Err(format!("{user}: {}", differences.join("\n")));
            }
        }
        let dirty = "SELECT count(*) FROM public.user_exercise_stats_dirty";
        let dirty: i64 = self.pipeline.one(dirty, &[]).await.get(0);
        let broken = self.pipeline.admin.query(&self.invariants, &[]).await.unwrap();
        let broken: Vec<&str> = broken.iter().map(|row| row.get(0)).collect();
        if dirty == 0 && broken.is_empty() {
            Ok(())
        } else {
            Err(format!("{dirty} dirty marks; {}", broken.join("\n")))
        }
    }
}

fn moved(lease: Lease, phase: &'static str) -> Allowed {
    Allowed { moved: BTreeMap::from([(lease.run_id, phase)]), ..Allowed::default() }
}

fn lease(row: &Row) -> Option<Lease> {
    (row.get::<_, &str>(0) == "taken").then(|| Lease {
        run_id: row.get(1),
        user_id: row.get(2),
        attempt: row.get(3),
        generation: row.get(4),
        token: row.get(5),
    })
}

/// A held row is waited for in vain, else the call is accepted exactly where the oracle says so.
fn judge(found: Option<bool>, expected: bool, is_locked: bool) -> Result<(), String> {
    let wanted = (!is_locked).then_some(expected);
    if found == wanted { Ok(()) } else { Err(format!("accepted: {found:?}, not {wanted:?}")) }
}

async fn call_in_transaction(
    client: &Client,
    level: &str,
    kind: Call,
    lease: Lease,
    document: Option<Value>,
) -> Result<Option<bool>, String> {
    client.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}")).await.unwrap();
    call(client, kind, lease, document).await
}

/// Whether the call was accepted; none where the row was held by somebody else.
async fn call(client: &Client, kind: Call, lease: Lease, document: Option<Value>) -> Result<Option<bool>, String> {
    let (run, attempt, token) = (&lease.run_id, &lease.attempt, &lease.token);
    let document = Json(document.unwrap_or_default());
    let answered = match kind {
        Call::Hold => client.query_one("SELECT tidemark.compute_hold_v1($1, $2, $3)", &[run, attempt, token]).await,
        Call::Stage => {
            let query = "SELECT tidemark.compute_stage_v1($1, $2, $3, 1, $4, $5)";
            client.query_one(query, &[run, attempt, token, &DEFINITION_VERSION, &document]).await
        }
        Call::Publish => {
            let query = "SELECT outcome = 'published' FROM tidemark.publish_v1($1, $2, $3)";
            client.query_one(query, &[run, attempt, token]).await
        }
        Call::Fail => {
            let query = "SELECT tidemark.run_fail_v1($1, $2, $3, 'XX000', 'a fault of the model') <> 'lost'";
            client.query_one(query, &[run, attempt, token]).await
        }
        Call::Phase => {
            let query = "SELECT tidemark.run_phase_v1($1, $2, $3) <> 'lost'";
            client.query_one(query, &[run, attempt, token]).await
        }
    };
    match answered {
        Ok(row) => Ok(Some(row.get(0))),
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Ok(None),
        Err(error) => Err(format!("{kind:?}: {error:?}")),
    }
}

/// The document of what is dirty in the reader's snapshot, put together independently of the pipeline's own code.
async fn document(client: &Client, user: Uuid, figures: &Projections) -> Value {
    let query = "WITH RECURSIVE dirty AS (
            SELECT exercise_id FROM public.user_exercise_stats_dirty WHERE user_id = $1
            UNION
            SELECT exercise.merged_into FROM dirty
            JOIN public.exercises AS exercise ON exercise.user_id = $1 AND exercise.id = dirty.exercise_id
            WHERE exercise.merged_into IS NOT NULL
        )
        SELECT coalesce(array_agg(exercise_id), '{}'),
            NOT EXISTS (SELECT FROM public.user_stats_projection_state
                WHERE user_id = $1 AND applied_generation > 0 AND definition_version = $2)
            OR EXISTS (SELECT FROM dirty WHERE exercise_id = '00000000-0000-0000-0000-000000000000')
        FROM dirty";
    let row = client.query_one(query, &[&user, &DEFINITION_VERSION]).await.unwrap();
    let (dirty, everything): (Vec<Uuid>, bool) = (row.get(0), row.get(1));
    let mut document = json!(figures);
    document["exercise_ids"] = if everything { Value::Null } else { json!(dirty) };
    if !everything {
        for table in ["exercises", "rep_maxes", "weekly"] {
            let rows = document[table].as_array_mut().unwrap();
            rows.retain(|row| dirty.iter().any(|id| row["exercise_id"] == json!(id)));
        }
    }
    document
}
