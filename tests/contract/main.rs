//! Each rule of the pipeline by name, against the real SQL.
#![allow(clippy::unwrap_used)]

mod budgets;
mod claiming;
mod computing;
mod failing;
mod jobs_claim;
mod jobs_ends;
mod jobs_enqueue;
mod jobs_groups;
mod jobs_guide;
mod jobs_hardships;
mod jobs_operating;
mod jobs_reaping;
mod known_faults;
mod marking;
mod pausing;
mod publishing;
mod reading;
mod rebuilding;
mod resuming;
mod round_trips;
mod saving;
mod schedules;
mod schema_versions;
mod settings;
mod status;
mod status_history;
mod ticks;

use tidemark_queue::Outcome;
use tidemark_tests::Pipeline;
use tokio_postgres::Client;
use uuid::Uuid;

/// When a test does not care.
const EVENING: &str = "2026-07-19T17:30:00+02:00";

/// The SQLSTATE with which `statement` is refused.
async fn refusal(client: &Client, statement: &str) -> String {
    let error = client.batch_execute(statement).await.expect_err(statement);
    error.code().unwrap_or_else(|| panic!("{statement}: {error}")).code().to_owned()
}

/// A user with one saved workout.
async fn saved_user(pipeline: &Pipeline) -> Uuid {
    let user = Uuid::new_v4();
    pipeline.save(user, EVENING, "Bench Press", &[(100.0, 5)]).await;
    user
}

#[tokio::test]
async fn a_saved_workout_is_published_by_one_claim_one_compute_and_one_publish() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;

    assert_eq!(pipeline.claim().await.outcome, Outcome::Worked);
    assert_eq!(pipeline.compute().await.succeeded, 1);
    assert_eq!(pipeline.publish().await.succeeded, 1);

    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!(requested, applied);
    let volume: String = pipeline
        .one("SELECT total_volume_kg::text FROM public.user_stats_summary WHERE user_id = $1", &[&user])
        .await
        .get(0);
    assert_eq!(volume, "500");
    pipeline.check_invariants().await;
}
