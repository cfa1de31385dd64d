//! Recovery beside a worker that holds its run, and beside a save.

use tidemark_tests::{Pipeline, until_true};

use crate::{computing, inside, save, saved_user};

const HOLD: &str = "SELECT tidemark.compute_hold_v1($1, $2, $3)";
const STAGE: &str = "SELECT tidemark.compute_stage_v1($1, $2, $3, 1, 1, '{}')";

#[tokio::test]
async fn a_compute_that_holds_its_run_is_not_recovered_however_long_it_takes() {
    let (mut pipeline, user, worker, run) = computing().await;
    worker.batch_execute("BEGIN").await.unwrap();
    assert!(worker.query_one(HOLD, &[&run.id, &run.attempt, &run.token]).await.unwrap().get::<_, bool>(0));
    // The lease of a held row cannot be moved from outside: the worker itself lets it run out.
    let admin = pipeline.database.admin().await;
    let expire =
        "UPDATE public.user_stats_projection_runs SET lease_expires_at = clock_timestamp() - interval '1 second'";
    let (expired, ()) = tokio::join!(admin.batch_execute(expire), async {
        pipeline.until_blocked("UPDATE public.user_stats_projection_runs", 1).await;
        let summary = pipeline.claim().await;
        assert_eq!((summary.recovered, summary.succeeded), (0, 0));
        assert!(worker.query_one(STAGE, &[&run.id, &run.attempt, &run.token]).await.unwrap().get::<_, bool>(0));
        worker.batch_execute("COMMIT").await.unwrap();
    });
    expired.unwrap();
    assert_eq!(pipeline.last_run(user).await.phase, "computed");
    assert_eq!(pipeline.claim().await.recovered, 1, "now nobody holds it");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_lease_is_judged_by_the_hold_and_a_stage_under_its_lock_may_come_after_the_expiry() {
    let (mut pipeline, _user, worker, run) = computing().await;
    let lasts =
        "UPDATE public.user_stats_projection_runs SET lease_expires_at = clock_timestamp() + interval '2 seconds'";
    pipeline.run(lasts, &[]).await;
    worker.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    assert!(worker.query_one(HOLD, &[&run.id, &run.attempt, &run.token]).await.unwrap().get::<_, bool>(0));
    let expired = "SELECT lease_expires_at <= clock_timestamp() FROM public.user_stats_projection_runs WHERE id = $1";
    until_true(&pipeline.admin, expired, &[&run.id]).await;
    assert_eq!(pipeline.claim().await.recovered, 0);
    assert!(worker.query_one(STAGE, &[&run.id, &run.attempt, &run.token]).await.unwrap().get::<_, bool>(0));
    worker.batch_execute("COMMIT").await.unwrap();
    let alive = "SELECT phase = 'computed' AND lease_expires_at > clock_timestamp() + interval '1 minute'
        FROM public.user_stats_projection_runs WHERE id = $1";
    assert!(pipeline.one(alive, &[&run.id]).await.get::<_, bool>(0), "with a whole lease for what follows");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_hold_of_an_expired_lease_is_refused_although_nobody_has_recovered_it() {
    let (pipeline, user, worker, run) = computing().await;
    assert!(worker.query_one(HOLD, &[&run.id, &run.attempt, &run.token]).await.unwrap().get::<_, bool>(0));
    pipeline.expire(user).await;
    assert!(!worker.query_one(HOLD, &[&run.id, &run.attempt, &run.token]).await.unwrap().get::<_, bool>(0));
    assert_eq!(pipeline.last_run(user).await.phase, "computing");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_hold_that_waits_for_a_recovery_finds_its_lease_lost() {
    let (pipeline, user, worker, run) = computing().await;
    pipeline.expire(user).await;
    let recovering = inside(&pipeline, "SELECT tidemark.claim_v1(gen_random_uuid())").await;
    let (held, ()) = tokio::join!(
        async { worker.query_one(HOLD, &[&run.id, &run.attempt, &run.token]).await.unwrap().get::<_, bool>(0) },
        async {
            pipeline.until_blocked("compute_hold_v1", 1).await;
            recovering.batch_execute("COMMIT").await.unwrap();
        }
    );
    assert!(!held);
    assert_eq!(pipeline.last_run(user).await.attempt, 2);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_recovery_passes_over_a_user_who_is_just_saving() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.expire(user).await;
    let saving = inside(&pipeline, "").await;
    save(&saving, user, "Squat").await;
    assert_eq!(pipeline.claim().await.recovered, 0);
    saving.batch_execute("COMMIT").await.unwrap();
    let summary = pipeline.claim().await;
    assert_eq!((summary.recovered, summary.succeeded, summary.absorbed), (1, 1, 1));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_beside_a_recovery_waits_for_one_statement_and_is_not_lost() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.expire(user).await;
    let recovering = inside(&pipeline, "SELECT tidemark.claim_v1(gen_random_uuid())").await;
    let saving = pipeline.database.admin().await;
    let (generation, ()) = tokio::join!(save(&saving, user, "Squat"), async {
        pipeline.until_blocked("save_workout_v1", 1).await;
        recovering.batch_execute("COMMIT").await.unwrap();
    });
    pipeline.compute().await;
    pipeline.publish().await;
    pipeline.refresh().await;
    assert_eq!(pipeline.generations(user).await, (generation, generation));
    pipeline.check_invariants().await;
}
