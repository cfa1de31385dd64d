//! Compute: the lowest generation first, under the run's own lock, from one snapshot.

use tidemark_projection::compute;
use tidemark_queue::Outcome;
use tidemark_tests::{Pipeline, invocation};

use crate::{EVENING, saved_user};

#[tokio::test]
async fn compute_takes_the_run_with_the_lowest_generation() {
    let mut pipeline = Pipeline::new().await;
    let (first, second) = (saved_user(&pipeline).await, saved_user(&pipeline).await);
    assert_eq!(pipeline.claim().await.succeeded, 2);
    let worker = pipeline.database.worker().await;
    worker.batch_execute("SELECT tidemark.compute_take_v1(gen_random_uuid())").await.unwrap();
    assert_eq!(pipeline.last_run(first).await.phase, "computing");
    assert_eq!(pipeline.last_run(second).await.phase, "claimed");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn two_computes_take_two_runs() {
    let mut pipeline = Pipeline::new().await;
    let (first, second) = (saved_user(&pipeline).await, saved_user(&pipeline).await);
    pipeline.claim().await;
    let (one, other) = (pipeline.database.worker().await, pipeline.database.worker().await);
    for worker in [&one, &other] {
        worker.batch_execute("BEGIN; SELECT tidemark.compute_take_v1(gen_random_uuid())").await.unwrap();
    }
    for worker in [&one, &other] {
        worker.batch_execute("COMMIT").await.unwrap();
    }
    assert_eq!(pipeline.last_run(first).await.phase, "computing");
    assert_eq!(pipeline.last_run(second).await.phase, "computing");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn compute_stages_its_result_and_moves_the_run_to_computed() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let summary = pipeline.compute().await;
    assert_eq!((summary.outcome, summary.succeeded), (Outcome::Worked, 1));
    let query = "SELECT run.phase, run.compute_ms IS NOT NULL, run.worker_id IS NOT NULL, staged.document ? 'summary',
            run.computing_at <= run.computed_at, run.lease_expires_at > run.computed_at + interval '299 seconds'
        FROM public.user_stats_projection_runs AS run JOIN tidemark.staged_results AS staged ON staged.run_id = run.id
        WHERE run.user_id = $1";
    let row = pipeline.one(query, &[&user]).await;
    assert_eq!(row.get::<_, String>(0), "computed");
    assert!((1..=5).all(|column| row.get::<_, bool>(column)));
    assert_eq!(pipeline.generations(user).await.1, 0, "nothing is applied before its publish");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn compute_holds_the_lock_of_its_run_while_it_works() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let gate = pipeline.database.admin().await;
    gate.batch_execute("BEGIN; LOCK TABLE public.workouts IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let mut worker = pipeline.worker();
    let invocation = invocation();
    let (summary, ()) = tokio::join!(compute::handle(&mut worker, &invocation), async {
        pipeline.until_blocked("source_workouts_v1", 1).await;
        let free = "SELECT FROM public.user_stats_projection_runs WHERE user_id = $1 FOR NO KEY UPDATE SKIP LOCKED";
        assert!(pipeline.admin.query(free, &[&user]).await.unwrap().is_empty(), "recovery cannot take the row");
        gate.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(summary.succeeded, 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn b11_a_save_during_a_compute_is_not_in_its_snapshot_and_gets_a_second_run() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let gate = pipeline.database.admin().await;
    gate.batch_execute("BEGIN; LOCK TABLE public.workouts IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let mut worker = pipeline.worker();
    let invocation = invocation();
    let save = "SELECT public.save_workout_v1($1, '{\"started_at\": \"2026-07-21T10:00:00Z\", \"sets\": [{\"exercise\": \"Squat\",
        \"weight\": 100, \"reps\": 5}, {\"exercise\": \"Bench Press\", \"weight\": 200, \"reps\": 1}]}')";
    let (summary, ()) = tokio::join!(compute::handle(&mut worker, &invocation), async {
        pipeline.until_blocked("source_workouts_v1", 1).await;
        gate.query_one(save, &[&user]).await.unwrap();
        gate.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(summary.succeeded, 1);
    assert_eq!(pipeline.publish().await.succeeded, 1);

    let heaviest = "SELECT heaviest_kg::text FROM public.user_exercise_stats AS published
        JOIN public.exercises AS exercise ON exercise.id = published.exercise_id
        WHERE published.user_id = $1 AND exercise.name = 'Bench Press'";
    assert_eq!(pipeline.one(heaviest, &[&user]).await.get::<_, String>(0), "100", "one snapshot");
    let (requested, applied) = pipeline.generations(user).await;
    assert!(requested > applied && applied > 0);
    assert_eq!(pipeline.dirty(user).await, [("Bench Press".to_owned(), requested), ("Squat".to_owned(), requested)]);

    // Nobody asks again.
    pipeline.refresh().await;
    assert_eq!(pipeline.one(heaviest, &[&user]).await.get::<_, String>(0), "200");
    assert_eq!(pipeline.runs(user).await.len(), 2);
    assert_eq!(pipeline.generations(user).await, (requested, requested));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_expired_claimed_run_is_not_taken() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.expire(user).await;
    assert_eq!(pipeline.compute().await.outcome, Outcome::Idle);
    assert_eq!(pipeline.last_run(user).await.phase, "claimed");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn one_invocation_computes_and_publishes_everything_there_is() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_active", "7").await;
    for _ in 0..7 {
        saved_user(&pipeline).await;
    }
    assert_eq!(pipeline.claim().await.succeeded, 7);
    assert_eq!(pipeline.compute().await.succeeded, 7);
    assert_eq!(pipeline.publish().await.succeeded, 7);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_first_publish_computes_every_exercise_and_a_later_one_only_what_changed() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let staged = "SELECT document -> 'exercise_ids' = 'null', jsonb_array_length(document -> 'exercises')
        FROM tidemark.staged_results";
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    pipeline.claim().await;
    pipeline.compute().await;
    let row = pipeline.one(staged, &[]).await;
    assert_eq!((row.get::<_, bool>(0), row.get::<_, i32>(1)), (true, 2));
    pipeline.publish().await;

    pipeline.save(user, EVENING, "Squat", &[(110.0, 5)]).await;
    pipeline.claim().await;
    pipeline.compute().await;
    let row = pipeline.one(staged, &[]).await;
    assert_eq!((row.get::<_, bool>(0), row.get::<_, i32>(1)), (false, 1));
    pipeline.check_invariants().await;
}
