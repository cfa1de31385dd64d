//! What the lanes look at: jobs, runs and dirty marks of one user, as plain values.

use tokio_postgres::Row;
use uuid::Uuid;

use crate::Pipeline;

/// One row of the refresh jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its row.
    pub id: i64,
    /// The generation it asks for.
    pub generation: i64,
    /// 0 a save, 1 a rebuild.
    pub priority: i16,
    /// `pending`, `running`, `done`, `failed` or `absorbed`.
    pub status: String,
    /// How many runs it has had.
    pub attempts: i32,
    /// Code of the last failure, empty where there was none.
    pub error_code: String,
    /// The job that took its place.
    pub absorbed_into: Option<i64>,
}

/// One row of the projection runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its row.
    pub id: i64,
    /// The job of which it is an attempt.
    pub job_id: i64,
    /// Which attempt, from 1.
    pub attempt: i32,
    /// The generation that its publish applies.
    pub generation: i64,
    /// Where it stands.
    pub phase: String,
    /// The random token of its lease.
    pub token: Uuid,
    /// Code of its failure, empty where there was none.
    pub error_code: String,
    /// What its failure says.
    pub error_message: String,
    /// Seconds between its failure and the end of the backoff, where there is one.
    pub backoff_seconds: Option<f64>,
}

impl Pipeline {
    /// The user's jobs, oldest generation first.
    pub async fn jobs(&self, user: Uuid) -> Vec<Job> {
        let query = "SELECT id, generation, priority, status, attempts, error_code, absorbed_into_job_id
            FROM public.user_exercise_stats_refresh_jobs WHERE user_id = $1 ORDER BY generation, id";
        self.rows(query, user).await.iter().map(job).collect()
    }

    /// The user's runs in the order in which they were minted.
    pub async fn runs(&self, user: Uuid) -> Vec<Run> {
        let query = "SELECT id, job_id, attempt, generation, phase, lease_token, error_code, error_message,
                extract(epoch FROM retry_not_before - failed_at)::double precision
            FROM public.user_stats_projection_runs WHERE user_id = $1 ORDER BY id";
        self.rows(query, user).await.iter().map(run).collect()
    }

    /// The newest of the user's runs.
    ///
    /// # Panics
    /// When there is none.
    pub async fn last_run(&self, user: Uuid) -> Run {
        self.runs(user).await.pop().expect("the user has a run")
    }

    /// The user's dirty marks: name of the exercise (`*` for the user as a whole, `?` where it is gone) and generation.
    pub async fn dirty(&self, user: Uuid) -> Vec<(String, i64)> {
        let query = "SELECT CASE
                    WHEN dirty.exercise_id = '00000000-0000-0000-0000-000000000000' THEN '*'
                    ELSE coalesce(exercise.name, '?')
                END AS name, dirty.generation
            FROM public.user_exercise_stats_dirty AS dirty
            LEFT JOIN public.exercises AS exercise ON exercise.user_id = dirty.user_id AND exercise.id = dirty.exercise_id
            WHERE dirty.user_id = $1 ORDER BY 1, 2";
        self.rows(query, user).await.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    /// Names of the dirty exercises only.
    pub async fn dirty_names(&self, user: Uuid) -> Vec<String> {
        self.dirty(user).await.into_iter().map(|(name, _generation)| name).collect()
    }

    /// Whether the user has an open alert about used up attempts.
    pub async fn is_alerted(&self, user: Uuid) -> bool {
        let query = "SELECT EXISTS (SELECT FROM public.alert_outbox
            WHERE kind = 'refresh_exhausted' AND subject = $1::uuid::text AND resolved_at IS NULL)";
        self.one(query, &[&user]).await.get(0)
    }

    /// Lets the lease of the user's live run end a second ago.
    pub async fn expire(&self, user: Uuid) {
        let statement = "UPDATE public.user_stats_projection_runs
            SET lease_expires_at = clock_timestamp() - interval '1 second'
            WHERE user_id = $1 AND phase IN ('claimed', 'computing', 'computed', 'publishing')";
        assert_eq!(self.run(statement, &[&user]).await, 1, "the user has one live run");
    }

    /// Ends the user's backoff as an operator does.
    pub async fn end_backoff(&self, user: Uuid) {
        let statement = "UPDATE public.user_stats_projection_runs SET retry_not_before = NULL WHERE user_id = $1 AND phase = 'failed'";
        self.run(statement, &[&user]).await;
    }

    /// Records a failure of the user's live run as a worker does, and returns what became of it.
    pub async fn fail(&self, user: Uuid, code: &str) -> String {
        let run = self.last_run(user).await;
        let query = "SELECT tidemark.run_fail_v1($1, $2, $3, $4, 'made to fail')";
        self.one(query, &[&run.id, &run.attempt, &run.token, &code]).await.get(0)
    }

    async fn rows(&self, query: &str, user: Uuid) -> Vec<Row> {
        self.admin.query(query, &[&user]).await.unwrap_or_else(|error| panic!("{query}: {error:?}"))
    }
}

fn job(row: &Row) -> Job {
    Job {
        id: row.get(0),
        generation: row.get(1),
        priority: row.get(2),
        status: row.get(3),
        attempts: row.get(4),
        error_code: row.get(5),
        absorbed_into: row.get(6),
    }
}

fn run(row: &Row) -> Run {
    Run {
        id: row.get(0),
        job_id: row.get(1),
        attempt: row.get(2),
        generation: row.get(3),
        phase: row.get(4),
        token: row.get(5),
        error_code: row.get(6),
        error_message: row.get(7),
        backoff_seconds: row.get(8),
    }
}
