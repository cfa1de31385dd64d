//! The end of a case: everything is put right, and everybody must become fresh.

use tidemark_tests::{published, source};
use uuid::Uuid;

use crate::world::World;

impl World {
    /// Every worker gone, every lease over, everything resumed: everybody becomes fresh, and a full recomputation of
    /// everybody changes nothing.
    pub(crate) async fn quiesce(&mut self) -> Result<(), String> {
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
        self.figures_must_be_right().await?;

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

    async fn figures_must_be_right(&self) -> Result<(), String> {
        for user in self.history.acknowledged.keys() {
            let expected = source::compute(&self.pipeline.admin, *user).await;
            let differences = published::differences(&self.pipeline.admin, *user, &expected).await;
            if !differences.is_empty() {
                return Err(format!("{user}: {}", differences.join("\n")));
            }
        }
        Ok(())
    }

    /// Nobody is stale or behind a promise, nothing is dirty, every invariant holds.
    async fn must_be_fresh(&mut self) -> Result<(), String> {
        let after = self.read().await;
        for (user, state) in &after.states {
            let acknowledged = self.history.acknowledged.get(user).copied().unwrap_or(0);
            if state.applied < state.requested || state.applied < acknowledged {
                return Err(format!("{user} was promised {acknowledged} and is {state:?}; {:?}", after.jobs));
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
