//! Deleting or renaming an exercise beside a publish and beside a save: everybody takes exercises before the state row.

use tidemark_tests::{Pipeline, Run};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::{EVENING, inside, publish, save, saved_user};

/// A user whose bench press is published, and whose squat is computed and taken for its first publish.
async fn squat_publishing(pipeline: &mut Pipeline) -> (Uuid, Uuid, Run, Client) {
    let user = saved_user(pipeline).await;
    pipeline.refresh().await;
    let squat = pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
    pipeline.save(user, EVENING, "Bench Press", &[(101.0, 5)]).await;
    pipeline.claim().await;
    pipeline.compute().await;
    let worker = pipeline.database.worker().await;
    worker.batch_execute("SELECT tidemark.publish_take_v1(gen_random_uuid())").await.unwrap();
    (user, squat, pipeline.last_run(user).await, worker)
}

const RENAME: &str = "UPDATE public.exercises SET name = 'Back Squat' WHERE user_id = $1 AND name = 'Squat'";
const DELETE: &str = "DELETE FROM public.exercises WHERE user_id = $1 AND name = 'Squat'";
const BENCH_PRESS_STATS: &str = "SELECT FROM public.user_exercise_stats FOR UPDATE";

#[tokio::test]
async fn an_exercise_renamed_while_its_publish_writes_waits_and_both_succeed() {
    let mut pipeline = Pipeline::new().await;
    let (user, _squat, run, worker) = squat_publishing(&mut pipeline).await;
    // The publish waits for a row that it writes after the user's state row.
    let gate = inside(&pipeline, BENCH_PRESS_STATS).await;
    let session = pipeline.database.admin().await;
    let (outcome, renamed, ()) = tokio::join!(
        publish(&worker, &run),
        async {
            pipeline.until_blocked("publish_v1", 1).await;
            session.execute(RENAME, &[&user]).await
        },
        async {
            pipeline.until_blocked("UPDATE public.exercises", 1).await;
            gate.batch_execute("COMMIT").await.unwrap();
        }
    );
    assert_eq!(outcome.as_deref(), Ok("published"));
    assert_eq!(renamed.unwrap(), 1);
    pipeline.refresh().await;
    let names =
        "SELECT array_agg(exercise_name ORDER BY exercise_name) FROM public.user_exercise_stats WHERE user_id = $1";
    assert_eq!(pipeline.one(names, &[&user]).await.get::<_, Vec<String>>(0), ["Back Squat", "Bench Press"]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_exercise_deleted_while_its_publish_writes_waits_and_both_succeed() {
    let mut pipeline = Pipeline::new().await;
    let (user, squat, run, worker) = squat_publishing(&mut pipeline).await;
    pipeline.one("SELECT public.delete_workout_v1($1, $2)", &[&user, &squat]).await;
    let gate = inside(&pipeline, BENCH_PRESS_STATS).await;
    let session = pipeline.database.admin().await;
    let (outcome, deleted, ()) = tokio::join!(
        publish(&worker, &run),
        async {
            pipeline.until_blocked("publish_v1", 1).await;
            session.execute(DELETE, &[&user]).await
        },
        async {
            pipeline.until_blocked("DELETE FROM public.exercises", 1).await;
            gate.batch_execute("COMMIT").await.unwrap();
        }
    );
    assert_eq!(outcome.as_deref(), Ok("published"));
    assert_eq!(deleted.unwrap(), 1);
    pipeline.refresh().await;
    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!(applied, requested);
    let left = "SELECT count(DISTINCT exercise_id) FROM public.user_exercise_rep_maxes WHERE user_id = $1";
    assert_eq!(pipeline.one(left, &[&user]).await.get::<_, i64>(0), 1, "nothing of the squat stays");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_publish_beside_the_deletion_of_its_exercise_waits_and_fails_with_23503() {
    let mut pipeline = Pipeline::new().await;
    let (user, squat, run, worker) = squat_publishing(&mut pipeline).await;
    pipeline.one("SELECT public.delete_workout_v1($1, $2)", &[&user, &squat]).await;
    let applied_before = pipeline.generations(user).await.1;
    let deleting = inside(&pipeline, "").await;
    assert_eq!(deleting.execute(DELETE, &[&user]).await.unwrap(), 1);
    let (outcome, ()) = tokio::join!(publish(&worker, &run), async {
        pipeline.until_blocked("publish_v1", 1).await;
        deleting.batch_execute("COMMIT").await.unwrap();
    });
    assert_eq!(outcome.unwrap_err(), "23503");
    assert_eq!(pipeline.generations(user).await.1, applied_before, "nothing of it is applied");
    assert_eq!(pipeline.fail(user, "23503").await, "retry");
    pipeline.end_backoff(user).await;
    pipeline.refresh().await;
    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!(applied, requested);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_beside_a_rename_of_its_exercise_waits_and_both_succeed() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
    // Both stop before the user's state row: who holds what then decides whether they can go on.
    let gate = inside(&pipeline, "SELECT FROM public.user_stats_projection_state FOR UPDATE").await;
    let (saving, renaming) = (pipeline.database.admin().await, pipeline.database.admin().await);
    let (generation, renamed, ()) = tokio::join!(
        save(&saving, user, "Squat"),
        async {
            pipeline.until_blocked("save_workout_v1", 1).await;
            renaming.execute(RENAME, &[&user]).await
        },
        async {
            pipeline.until_blocked("UPDATE public.exercises", 1).await;
            gate.batch_execute("COMMIT").await.unwrap();
        }
    );
    assert!(generation > 0);
    assert_eq!(renamed.unwrap(), 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_edit_beside_a_rename_of_its_exercise_waits_and_both_succeed() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let workout = pipeline.save(user, EVENING, "Bench Press", &[(140.0, 3)]).await;
    pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
    let gate = inside(&pipeline, "SELECT FROM public.user_stats_projection_state FOR UPDATE").await;
    let (editing, renaming) = (pipeline.database.admin().await, pipeline.database.admin().await);
    let edit = "SELECT public.edit_workout_v1($1, $2, '{\"started_at\": \"2026-07-21T10:00:00Z\",
        \"sets\": [{\"exercise\": \"Squat\", \"weight\": 100, \"reps\": 5}]}')";
    let (edited, renamed, ()) = tokio::join!(
        async { editing.query_one(edit, &[&user, &workout]).await.map(|_row| ()) },
        async {
            pipeline.until_blocked("edit_workout_v1", 1).await;
            renaming.execute(RENAME, &[&user]).await
        },
        async {
            pipeline.until_blocked("UPDATE public.exercises", 1).await;
            gate.batch_execute("COMMIT").await.unwrap();
        }
    );
    edited.unwrap();
    assert_eq!(renamed.unwrap(), 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_that_waits_for_a_rename_keeps_its_sets_under_the_name_it_was_given() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
    let renaming = inside(&pipeline, "").await;
    assert_eq!(renaming.execute(RENAME, &[&user]).await.unwrap(), 1);
    let saving = pipeline.database.admin().await;
    tokio::join!(save(&saving, user, "Squat"), async {
        pipeline.until_blocked("save_workout_v1", 1).await;
        renaming.batch_execute("COMMIT").await.unwrap();
    });
    let sets = "SELECT array_agg(name ORDER BY name) FROM public.workout_sets AS stored
        JOIN public.exercises AS exercise ON exercise.user_id = stored.user_id AND exercise.id = stored.exercise_id
        WHERE stored.user_id = $1";
    let names: Vec<String> = pipeline.one(sets, &[&user]).await.get(0);
    assert_eq!(names, ["Back Squat", "Bench Press", "Squat"]);
    pipeline.check_invariants().await;
}
