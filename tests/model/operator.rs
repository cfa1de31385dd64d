//! The operator, and the passing of time: settings, resumes, expired leases, ended backoffs.

use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::history::Allowed;
use crate::operation::{Operation, USERS};
use crate::snapshot::Snapshot;
use crate::world::World;

impl World {
    /// Carries one of the operator's steps out; none of them moves a run.
    pub(crate) async fn operate(&mut self, operation: &Operation) -> Result<(), String> {
        let before = self.before().await;
        match *operation {
            Operation::Expire { run, is_orphan } => self.expire(&before, run, is_orphan).await?,
            Operation::Resume { user, run_first } => self.resume(&before, user, run_first).await?,
            Operation::EndBackoff { user } => {
                // As if the time had passed: a moment ago instead of later.
                let statement = "UPDATE public.user_stats_projection_state
                    SET retry_not_before = clock_timestamp() - interval '1 millisecond'
                    WHERE user_id = $1 AND retry_not_before IS NOT NULL";
                self.operator_runs(statement, &[&self.users[user]]).await?;
            }
            Operation::Pause { function, is_enabled } => {
                let statement = [
                    "UPDATE public.stats_projection_worker_settings SET claim_enabled = $1",
                    "UPDATE public.stats_projection_worker_settings SET compute_enabled = $1",
                    "UPDATE public.stats_projection_worker_settings SET publish_enabled = $1",
                ][function];
                self.operator_runs(statement, &[&is_enabled]).await?;
            }
            // Fewer slots than leases would break the invariant without anybody's fault.
            Operation::SetMaxActive { slots } if before.live().count() <= usize::try_from(slots).unwrap() => {
                let statement = "UPDATE public.stats_projection_worker_settings SET max_active = $1";
                self.operator_runs(statement, &[&slots]).await?;
            }
            Operation::SetBackoff { is_long } => {
                let statement = "UPDATE public.stats_projection_worker_settings SET backoff_seconds = $1";
                self.operator_runs(statement, &[&if is_long { 3600_i32 } else { 0 }]).await?;
            }
            _ => {}
        }
        self.check(&before, &Allowed::default()).await?;
        Ok(())
    }

    async fn expire(&mut self, before: &Snapshot, run: usize, is_orphan: bool) -> Result<(), String> {
        let locks = self.locks();
        let has_worker =
            |id: i64| self.workers.iter().any(|worker| worker.stage.lease().is_some_and(|lease| lease.run_id == id));
        let live: Vec<i64> = before.live().map(|(id, _run)| id).filter(|id| !locks.runs.contains(id)).collect();
        let orphans: Vec<i64> = live.iter().copied().filter(|id| !has_worker(*id)).collect();
        let choice = if is_orphan && !orphans.is_empty() { orphans } else { live };
        let Some(id) = choice.get(run % choice.len().max(1)) else { return Ok(()) };
        let statement = "UPDATE public.user_stats_projection_runs
            SET lease_expires_at = clock_timestamp() - interval '1 second' WHERE id = $1";
        self.operator_runs(statement, &[id]).await?;
        self.count("lease expired");
        Ok(())
    }

    /// The two plain updates of the manual resume, for the user meant or the next one who has a failed job.
    async fn resume(&mut self, before: &Snapshot, meant: usize, run_first: bool) -> Result<(), String> {
        let has_failed = |user: &Uuid| before.jobs.values().any(|job| job.user == *user && job.status == "failed");
        let user =
            (0..USERS).map(|step| self.users[(meant + step) % USERS]).find(has_failed).unwrap_or(self.users[meant]);
        let job = "UPDATE public.user_exercise_stats_refresh_jobs SET status = 'pending', attempts = 0
            WHERE user_id = $1 AND status = 'failed' AND absorbed_into_job_id IS NULL";
        let run = "UPDATE public.user_stats_projection_runs SET retry_not_before = NULL
            WHERE user_id = $1 AND phase = 'failed' AND retry_not_before IS NOT NULL";
        for statement in if run_first { [run, job] } else { [job, run] } {
            if self.operator_runs(statement, &[&user]).await? > 0 {
                self.count("resumed");
            }
        }
        Ok(())
    }

    /// Runs a statement as the operator. One that would wait for a worker is given up: an operator tries again.
    async fn operator_runs(
        &self,
        statement: &str,
        parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<u64, String> {
        match self.operator.execute(statement, parameters).await {
            Ok(rows) => Ok(rows),
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Ok(0),
            Err(error) => Err(format!("the operator was refused: {error:?}")),
        }
    }
}
