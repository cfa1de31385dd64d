//! What goes wrong: sessions that end, runs that are given up, leases that pass, calls by whoever has no right to.

use std::time::Instant;

use serde_json::json;
use tidemark_queue::Lease;
use uuid::Uuid;

use crate::calls::{call, call_in_transaction, judge, moved};
use crate::history::Allowed;
use crate::operation::{Call, Forgery, WORKERS};
use crate::oracle;
use crate::snapshot::Snapshot;
use crate::worker::{Stage, Worker};
use crate::world::{DEADLINE, World};

impl World {
    /// The worker meant, or the next one that has a run.
    pub(crate) fn busy(&self, meant: usize) -> usize {
        let after = (0..WORKERS).map(|step| (meant + step) % WORKERS);
        after.into_iter().find(|index| self.workers[*index].stage.lease().is_some()).unwrap_or(meant)
    }

    pub(crate) async fn crash(&mut self, index: usize) -> Result<(), String> {
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

    pub(crate) async fn fail(&mut self, index: usize) -> Result<(), String> {
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

    /// A lease of a live run, or any that was ever granted, with or without something wrong about it.
    pub(crate) async fn some_lease(&mut self, place: usize, is_live: bool, forgery: Forgery) -> Option<Lease> {
        let before = self.before().await;
        let is_wanted = |lease: &&Lease| !is_live || before.runs[&lease.run_id].is_live();
        let wanted: Vec<&Lease> = self.history.leases.iter().filter(is_wanted).collect();
        let mut lease = **wanted.get(place % wanted.len().max(1))?;
        self.latest = Some(before);
        match forgery {
            Forgery::Nothing => {}
            Forgery::Token => lease.token = Uuid::new_v4(),
            Forgery::Attempt => lease.attempt += 1,
        }
        Some(lease)
    }

    /// A call out of turn, committed at once.
    pub(crate) async fn call(&mut self, lease: Lease, kind: Call) -> Result<(), String> {
        let before = self.before().await;
        let kind = match (kind, before.runs[&lease.run_id].phase.as_str()) {
            (Call::Fitting, "computing") => Call::Stage,
            (Call::Fitting, "publishing") => Call::Publish,
            (Call::Fitting, _) => Call::Phase,
            (other, _) => other,
        };
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
    pub(crate) async fn hold_beyond_expiry(&mut self, meant: usize) -> Result<(), String> {
        let index = (0..WORKERS)
            .map(|step| (meant + step) % WORKERS)
            .find(|index| matches!(self.workers[*index].stage, Stage::ToCompute(_)))
            .unwrap_or(meant);
        if matches!(self.workers[index].stage, Stage::Idle) {
            self.advance(index, false).await?;
        }
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
}
