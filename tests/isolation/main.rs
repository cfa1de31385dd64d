//! Two sessions interleaved.
#![allow(clippy::unwrap_used)]

mod claiming;
mod deleting;
mod failing;
mod jobs_claiming;
mod jobs_enqueueing;
mod jobs_reaping;
mod marking;
mod publishing;
mod recovering;
mod resuming;
mod zombie;

use tidemark_tests::{Job, Pipeline, Run};
use tokio_postgres::Client;
use uuid::Uuid;

/// When a test does not care.
const EVENING: &str = "2026-07-19T17:30:00+02:00";

/// A user with one saved workout.
async fn saved_user(pipeline: &Pipeline) -> Uuid {
    let user = Uuid::new_v4();
    pipeline.save(user, EVENING, "Bench Press", &[(100.0, 5)]).await;
    user
}

/// A pipeline with a user whose run a worker has just taken to compute: the pipeline, the user, the worker's session, the run.
async fn computing() -> (Pipeline, Uuid, Client, Run) {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let worker = pipeline.database.worker().await;
    worker.batch_execute("SELECT tidemark.compute_take_v1(gen_random_uuid())").await.unwrap();
    let run = pipeline.last_run(user).await;
    (pipeline, user, worker, run)
}

/// A second session of the superuser inside a transaction that has done `statements`.
async fn inside(pipeline: &Pipeline, statements: &str) -> Client {
    let session = pipeline.database.admin().await;
    session.batch_execute(&format!("BEGIN; {statements}")).await.unwrap();
    session
}

/// Saves through `session` a workout of one set of `exercise`; returns the generation.
async fn save(session: &Client, user: Uuid, exercise: &str) -> i64 {
    let query = "SELECT (public.save_workout_v1($1, jsonb_build_object('started_at', '2026-07-21T10:00:00Z', 'sets',
        jsonb_build_array(jsonb_build_object('exercise', $2::text, 'weight', 100, 'reps', 5)))) ->> 'generation')::bigint";
    session.query_one(query, &[&user, &exercise]).await.unwrap().get(0)
}

/// Statuses of the user's jobs, oldest generation first.
fn statuses(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(|job| job.status.as_str()).collect()
}

/// Publishes the run through `session`: the outcome, or the SQLSTATE.
async fn publish(session: &Client, run: &Run) -> Result<String, String> {
    let query = "SELECT (tidemark.publish_v1($1, $2, $3)).outcome";
    let answer = session.query_one(query, &[&run.id, &run.attempt, &run.token]).await;
    answer.map(|row| row.get(0)).map_err(|error| error.code().unwrap().code().to_owned())
}
