//! Each rule of the pipeline by name, against the real SQL.
#![allow(clippy::unwrap_used)]

use tidemark_queue::Outcome;
use tidemark_tests::Pipeline;
use uuid::Uuid;

#[tokio::test]
async fn a_saved_workout_is_published_by_one_claim_one_compute_and_one_publish() {
    let mut pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    pipeline.save(user, "2026-07-19T17:30:00+02:00", "Bench Press", &[(100.0, 5)]).await;

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
