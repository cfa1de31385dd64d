//! Claim beside another claim and beside a save of the same user.

use tidemark_queue::Outcome;
use tidemark_tests::Pipeline;

use crate::{inside, save, saved_user, statuses};

#[tokio::test]
async fn a_claim_beside_a_claim_answers_busy_and_takes_the_rest_afterwards() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_active", "5").await;
    saved_user(&pipeline).await;
    let first = inside(&pipeline, "SELECT tidemark.claim_v1(gen_random_uuid())").await;
    let late = saved_user(&pipeline).await;
    assert_eq!(pipeline.claim().await.outcome, Outcome::Busy);
    first.batch_execute("COMMIT").await.unwrap();
    assert_eq!(pipeline.claim().await.succeeded, 1);
    assert_eq!(pipeline.last_run(late).await.phase, "claimed");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_claim_that_is_rolled_back_leaves_everything_to_the_next() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let first = inside(&pipeline, "SELECT tidemark.claim_v1(gen_random_uuid())").await;
    first.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(pipeline.claim().await.succeeded, 1);
    assert_eq!(pipeline.last_run(user).await.attempt, 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_claim_passes_over_a_user_who_is_just_saving_and_takes_all_of_it_afterwards() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let saving = inside(&pipeline, "").await;
    save(&saving, user, "Squat").await;
    let other = saved_user(&pipeline).await;
    // It waits for nobody, and others go first.
    assert_eq!(pipeline.claim().await.succeeded, 1);
    assert_eq!(pipeline.last_run(other).await.phase, "claimed");
    assert!(pipeline.runs(user).await.is_empty());
    saving.batch_execute("COMMIT").await.unwrap();
    let summary = pipeline.claim().await;
    assert_eq!((summary.succeeded, summary.absorbed), (1, 1));
    assert_eq!(pipeline.last_run(user).await.generation, pipeline.generations(user).await.0);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_beside_a_claim_of_its_user_waits_for_one_statement_and_gets_a_run_of_its_own() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let claiming = inside(&pipeline, "SELECT tidemark.claim_v1(gen_random_uuid())").await;
    let saving = pipeline.database.admin().await;
    let (generation, ()) = tokio::join!(save(&saving, user, "Squat"), async {
        pipeline.until_blocked("save_workout_v1", 1).await;
        claiming.batch_execute("COMMIT").await.unwrap();
    });
    let run = pipeline.last_run(user).await;
    assert!(generation > run.generation);
    assert_eq!(statuses(&pipeline.jobs(user).await), ["running", "pending"]);
    pipeline.compute().await;
    pipeline.publish().await;
    pipeline.refresh().await;
    assert_eq!(pipeline.runs(user).await.len(), 2);
    assert_eq!(pipeline.generations(user).await, (generation, generation));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn max_active_counts_the_leases_of_a_claim_that_committed_a_moment_ago() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_active", "1").await;
    for _ in 0..3 {
        saved_user(&pipeline).await;
    }
    // The second claim has looked before the first commits, and asks for the gate after it.
    let first = inside(&pipeline, "SELECT tidemark.claim_v1(gen_random_uuid())").await;
    assert_eq!(pipeline.claim().await.outcome, Outcome::Busy);
    first.batch_execute("COMMIT").await.unwrap();
    assert_eq!(pipeline.claim().await.succeeded, 0);
    let live = "SELECT count(*) FROM public.user_stats_projection_runs WHERE phase = 'claimed'";
    assert_eq!(pipeline.one(live, &[]).await.get::<_, i64>(0), 1);
    pipeline.check_invariants().await;
}
