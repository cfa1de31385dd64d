//! The rows of the pipeline as everybody sees them between two steps.

use std::collections::BTreeMap;

use futures_util::future::join4;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

const SETTINGS: &str = "SELECT claim_enabled, compute_enabled, publish_enabled, max_active, max_attempts, (
        SELECT coalesce(sum(hashtextextended(listed.row, 0)), 0)::text
        FROM (
            SELECT workouts::text FROM public.workouts
            UNION ALL SELECT workout_sets::text FROM public.workout_sets
            UNION ALL SELECT exercises::text FROM public.exercises
            UNION ALL SELECT bodyweight_log::text FROM public.bodyweight_log
            UNION ALL SELECT training_profiles::text FROM public.training_profiles
        ) AS listed (row)
    )
    FROM public.stats_projection_worker_settings";
const STATES: &str = "SELECT user_id, requested_generation, applied_generation, pending_generation, pending_priority,
        live_run_id, retry_not_before IS NOT NULL, coalesce(retry_not_before <= clock_timestamp(), false)
    FROM public.user_stats_projection_state";
const RUNS: &str =
    "SELECT id, user_id, job_id, attempt, generation, phase, lease_token, lease_expires_at <= clock_timestamp()
    FROM public.user_stats_projection_runs ORDER BY id";
const JOBS: &str = "SELECT id, user_id, generation, priority, status, attempts
    FROM public.user_exercise_stats_refresh_jobs ORDER BY id";

/// One user's state row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) requested: i64,
    pub(crate) applied: i64,
    pub(crate) pending_generation: Option<i64>,
    pub(crate) pending_priority: Option<i16>,
    pub(crate) live_run: Option<i64>,
    pub(crate) in_backoff: bool,
    pub(crate) backoff_is_over: bool,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) user: Uuid,
    pub(crate) job: i64,
    pub(crate) attempt: i32,
    pub(crate) generation: i64,
    pub(crate) phase: String,
    pub(crate) token: Uuid,
    pub(crate) is_expired: bool,
}

impl Run {
    pub(crate) fn is_live(&self) -> bool {
        ["claimed", "computing", "computed", "publishing"].contains(&self.phase.as_str())
    }
}

/// One job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) user: Uuid,
    pub(crate) generation: i64,
    pub(crate) priority: i16,
    pub(crate) status: String,
    pub(crate) attempts: i32,
}

/// Everything that the oracle decides on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Claim, compute, publish.
    pub(crate) enabled: [bool; 3],
    pub(crate) max_active: usize,
    pub(crate) max_attempts: i32,
    /// A digest of every row of the source.
    pub(crate) source: String,
    pub(crate) states: BTreeMap<Uuid, State>,
    pub(crate) runs: BTreeMap<i64, Run>,
    pub(crate) jobs: BTreeMap<i64, Job>,
}

impl Snapshot {
    pub(crate) fn live(&self) -> impl Iterator<Item = (i64, &Run)> {
        self.runs.iter().filter(|(_id, run)| run.is_live()).map(|(id, run)| (*id, run))
    }
}

/// Reads snapshots in one round trip.
pub(crate) struct Reader {
    settings: Statement,
    states: Statement,
    runs: Statement,
    jobs: Statement,
}

impl Reader {
    pub(crate) async fn new(client: &Client) -> Self {
        let prepare = async |text: &str| client.prepare(text).await.unwrap();
        Self {
            settings: prepare(SETTINGS).await,
            states: prepare(STATES).await,
            runs: prepare(RUNS).await,
            jobs: prepare(JOBS).await,
        }
    }

    pub(crate) async fn read(&self, client: &Client) -> Snapshot {
        let (settings, states, runs, jobs) = join4(
            client.query_one(&self.settings, &[]),
            client.query(&self.states, &[]),
            client.query(&self.runs, &[]),
            client.query(&self.jobs, &[]),
        )
        .await;
        let settings = settings.unwrap();
        Snapshot {
            enabled: [settings.get(0), settings.get(1), settings.get(2)],
            max_active: usize::try_from(settings.get::<_, i32>(3)).unwrap(),
            max_attempts: settings.get(4),
            source: settings.get(5),
            states: states.unwrap().iter().map(|row| (row.get(0), state(row))).collect(),
            runs: runs.unwrap().iter().map(|row| (row.get(0), run(row))).collect(),
            jobs: jobs.unwrap().iter().map(|row| (row.get(0), job(row))).collect(),
        }
    }
}

fn state(row: &tokio_postgres::Row) -> State {
    State {
        requested: row.get(1),
        applied: row.get(2),
        pending_generation: row.get(3),
        pending_priority: row.get(4),
        live_run: row.get(5),
        in_backoff: row.get(6),
        backoff_is_over: row.get(7),
    }
}

fn run(row: &tokio_postgres::Row) -> Run {
    Run {
        user: row.get(1),
        job: row.get(2),
        attempt: row.get(3),
        generation: row.get(4),
        phase: row.get(5),
        token: row.get(6),
        is_expired: row.get(7),
    }
}

fn job(row: &tokio_postgres::Row) -> Job {
    Job { user: row.get(1), generation: row.get(2), priority: row.get(3), status: row.get(4), attempts: row.get(5) }
}
