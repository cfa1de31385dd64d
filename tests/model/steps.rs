//! The steps of the pipeline: claims, whole invocations, and workers that go on by one step.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use tidemark_queue::Lease;
use tidemark_stats::{DEFINITION_VERSION, Projections};
use tidemark_tests::{published, source};
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use crate::calls::{call, call_in_transaction, judge, moved};
use crate::history::Allowed;
use crate::operation::Call;
use crate::oracle;
use crate::worker::Stage;
use crate::world::World;

impl World {
    pub(crate) async fn claim(&mut self) -> Result<(), String> {
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

    pub(crate) async fn compute_invocation(&mut self) -> Result<(), String> {
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

    pub(crate) async fn publish_invocation(&mut self) -> Result<(), String> {
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

    pub(crate) async fn advance(&mut self, index: usize, prefers_publish: bool) -> Result<(), String> {
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
    pub(crate) async fn read_and_stage(&self, client: &Client, lease: Lease) -> Result<Option<Projections>, String> {
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
            OR EXISTS (SELECT FROM dirty WHERE exercise_id = '00000000-0000-0000-0000-000000000000'),
            EXISTS (SELECT FROM dirty WHERE exercise_id NOT IN (SELECT id FROM public.exercises WHERE user_id = $1)),
            ARRAY(SELECT DISTINCT muscle FROM public.user_muscle_stats_weekly WHERE user_id = $1)
        FROM dirty";
    let row = client.query_one(query, &[&user, &DEFINITION_VERSION]).await.unwrap();
    let (dirty, everything, is_gone): (Vec<Uuid>, bool, bool) = (row.get(0), row.get(1), row.get(2));
    let mut muscles: BTreeSet<String> = row.get::<_, Vec<String>>(3).into_iter().collect();
    muscles.extend(figures.muscles.iter().map(|week| json!(week.muscle).as_str().unwrap().to_owned()));
    let mut document = json!(figures);
    document["exercise_ids"] = if everything { Value::Null } else { json!(dirty) };
    let mut weeks = Map::<String, Value>::new();
    for row in document["muscles"].as_array().unwrap() {
        let week = weeks.entry(row["week_start"].as_str().unwrap()).or_insert_with(|| json!([]));
        week.as_array_mut().unwrap().push(row.clone());
    }
    document["muscles"] = json!(weeks);
    // Of an exercise that is gone nobody knows which muscles it worked: the rows of all weeks are compared.
    let speaks_for_every_week = everything || is_gone;
    document["muscle_names"] = if speaks_for_every_week { Value::Null } else { json!(muscles) };
    if !everything {
        for table in ["exercises", "rep_maxes", "weekly"] {
            let rows = document[table].as_array_mut().unwrap();
            rows.retain(|row| dirty.iter().any(|id| row["exercise_id"] == json!(id)));
        }
    }
    document
}
