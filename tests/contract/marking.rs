//! Marking: whoever changes a figure's input makes exactly the affected users and exercises stale.

use futures_util::future::join_all;
use tidemark_tests::Pipeline;
use uuid::Uuid;

use crate::{EVENING, saved_user};

/// A user whose bench press and squat are published.
async fn published_user(pipeline: &mut Pipeline) -> Uuid {
    let user = saved_user(pipeline).await;
    pipeline.save(user, "2026-07-20T17:30:00+02:00", "Squat", &[(140.0, 5)]).await;
    pipeline.refresh().await;
    assert!(!is_stale(pipeline, user).await);
    user
}

async fn is_stale(pipeline: &Pipeline, user: Uuid) -> bool {
    let (requested, applied) = pipeline.generations(user).await;
    requested > applied
}

/// Runs the statement for the user and returns the names that it made dirty; the user must be stale then.
async fn marked_by(pipeline: &mut Pipeline, user: Uuid, statement: &str) -> Vec<String> {
    let bystander = published_user(pipeline).await;
    pipeline.run(statement, &[&user]).await;
    assert!(is_stale(pipeline, user).await, "{statement}");
    assert!(!is_stale(pipeline, bystander).await, "{statement}");
    let names = pipeline.dirty_names(user).await;
    pipeline.refresh().await;
    assert_eq!(pipeline.dirty_names(user).await, Vec::<String>::new());
    pipeline.check_invariants().await;
    names
}

#[tokio::test]
async fn a_save_raises_the_generation_marks_its_exercises_and_enqueues_one_job() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;

    let (requested, applied) = pipeline.generations(user).await;
    assert!(requested > applied);
    assert_eq!(pipeline.dirty(user).await, [("Bench Press".to_owned(), requested)]);
    let jobs = pipeline.jobs(user).await;
    assert_eq!(jobs.len(), 1);
    assert_eq!((jobs[0].generation, jobs[0].status.as_str(), jobs[0].attempts), (requested, "pending", 0));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_that_is_rolled_back_leaves_nothing() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    pipeline.run("BEGIN", &[]).await;
    pipeline.save(user, EVENING, "Bench Press", &[(100.0, 5)]).await;
    assert_eq!(pipeline.jobs(user).await.len(), 1);
    pipeline.run("ROLLBACK", &[]).await;

    let query = "SELECT (SELECT count(*) FROM public.user_stats_projection_state)
        + (SELECT count(*) FROM public.user_exercise_stats_dirty) + (SELECT count(*) FROM public.user_exercise_stats_refresh_jobs)
        + (SELECT count(*) FROM public.workouts) + (SELECT count(*) FROM tidemark.queue_tally)";
    assert_eq!(pipeline.one(query, &[]).await.get::<_, i64>(0), 0);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_after_a_rollback_to_a_savepoint_is_marked_again() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    pipeline.run("BEGIN", &[]).await;
    pipeline.run("SAVEPOINT before", &[]).await;
    pipeline.save(user, EVENING, "Bench Press", &[(100.0, 5)]).await;
    pipeline.run("ROLLBACK TO SAVEPOINT before", &[]).await;
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    pipeline.run("COMMIT", &[]).await;

    assert_eq!(pipeline.dirty_names(user).await, ["Squat"]);
    assert_eq!(pipeline.jobs(user).await.len(), 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_transaction_draws_one_generation_and_one_job_for_each_user() {
    let pipeline = Pipeline::new().await;
    let (first, second) = (Uuid::new_v4(), Uuid::new_v4());
    pipeline.run("BEGIN", &[]).await;
    for exercise in ["Bench Press", "Squat", "Deadlift"] {
        pipeline.save(first, EVENING, exercise, &[(100.0, 5)]).await;
        pipeline.save(second, EVENING, exercise, &[(100.0, 5)]).await;
    }
    pipeline.run("COMMIT", &[]).await;
    for user in [first, second] {
        let (requested, _applied) = pipeline.generations(user).await;
        let jobs = pipeline.jobs(user).await;
        assert_eq!(jobs.iter().map(|job| job.generation).collect::<Vec<_>>(), [requested]);
        assert!(pipeline.dirty(user).await.iter().all(|(_name, generation)| *generation == requested));
    }
    assert_ne!(pipeline.generations(first).await, pipeline.generations(second).await);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn two_transactions_of_one_user_draw_two_generations() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let before = pipeline.generations(user).await.0;
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    assert!(pipeline.generations(user).await.0 > before);
    assert_eq!(pipeline.jobs(user).await.len(), 2);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn editing_a_workout_marks_the_exercises_before_and_after() {
    let mut pipeline = Pipeline::new().await;
    let user = published_user(&mut pipeline).await;
    let statement = "SELECT public.edit_workout_v1($1, (
            SELECT workout_id FROM public.workout_sets JOIN public.exercises ON exercises.id = exercise_id
            WHERE workout_sets.user_id = $1 AND name = 'Squat'),
        '{\"started_at\": \"2026-07-20T17:30:00+02:00\", \"sets\": [{\"exercise\": \"Deadlift\", \"weight\": 180, \"reps\": 3}]}')";
    assert_eq!(marked_by(&mut pipeline, user, statement).await, ["Deadlift", "Squat"]);
}

#[tokio::test]
async fn deleting_a_workout_marks_its_exercises() {
    let mut pipeline = Pipeline::new().await;
    let user = published_user(&mut pipeline).await;
    let statement = "SELECT public.delete_workout_v1($1, (
        SELECT workout_id FROM public.workout_sets JOIN public.exercises ON exercises.id = exercise_id
        WHERE workout_sets.user_id = $1 AND name = 'Squat'))";
    assert_eq!(marked_by(&mut pipeline, user, statement).await, ["Squat"]);
}

#[tokio::test]
async fn sets_inserted_updated_and_deleted_in_bulk_mark_their_exercises() {
    let mut pipeline = Pipeline::new().await;
    let user = published_user(&mut pipeline).await;
    let insert = "INSERT INTO public.workout_sets (user_id, workout_id, position, exercise_id, weight, reps)
        SELECT $1, sets.workout_id, 10 + number, sets.exercise_id, 50, 5
        FROM public.workout_sets AS sets JOIN public.exercises ON exercises.id = sets.exercise_id, generate_series(1, 50) AS number
        WHERE sets.user_id = $1 AND name = 'Squat'";
    assert_eq!(marked_by(&mut pipeline, user, insert).await, ["Squat"]);
    let update = "UPDATE public.workout_sets SET reps = 6 WHERE user_id = $1 AND position > 10";
    assert_eq!(marked_by(&mut pipeline, user, update).await, ["Squat"]);
    let delete = "DELETE FROM public.workout_sets WHERE user_id = $1 AND position > 10";
    assert_eq!(marked_by(&mut pipeline, user, delete).await, ["Squat"]);
}

#[tokio::test]
async fn moving_a_set_to_another_exercise_marks_both() {
    let mut pipeline = Pipeline::new().await;
    let user = published_user(&mut pipeline).await;
    let statement = "UPDATE public.workout_sets
        SET exercise_id = (SELECT id FROM public.exercises WHERE user_id = $1 AND name = 'Squat')
        WHERE user_id = $1 AND exercise_id = (SELECT id FROM public.exercises WHERE user_id = $1 AND name = 'Bench Press')";
    assert_eq!(marked_by(&mut pipeline, user, statement).await, ["Bench Press", "Squat"]);
}

#[tokio::test]
async fn workouts_inserted_moved_and_deleted_in_bulk_mark_their_users() {
    let mut pipeline = Pipeline::new().await;
    let user = published_user(&mut pipeline).await;
    let insert = "INSERT INTO public.workouts (user_id, started_at, time_zone, title) VALUES ($1, '2026-08-01 10:00+00', 'UTC', 'empty')";
    assert_eq!(marked_by(&mut pipeline, user, insert).await, Vec::<String>::new(), "an empty workout has no exercise");
    let delete = "DELETE FROM public.workouts WHERE user_id = $1 AND title = 'empty'";
    assert_eq!(marked_by(&mut pipeline, user, delete).await, Vec::<String>::new());
    let moved = "UPDATE public.workouts SET started_at = started_at - interval '240 hours'
        WHERE user_id = $1 AND id = (SELECT workout_id FROM public.workout_sets JOIN public.exercises ON exercises.id = exercise_id
            WHERE workout_sets.user_id = $1 AND name = 'Squat')";
    assert_eq!(marked_by(&mut pipeline, user, moved).await, ["Squat"]);
    let gone = "DELETE FROM public.workouts WHERE user_id = $1";
    assert_eq!(marked_by(&mut pipeline, user, gone).await, ["Bench Press", "Squat"]);
}

#[tokio::test]
async fn truncating_sets_or_workouts_marks_everybody_as_a_whole() {
    for statement in ["TRUNCATE public.workout_sets", "TRUNCATE public.workouts CASCADE"] {
        let mut pipeline = Pipeline::new().await;
        let users = [published_user(&mut pipeline).await, published_user(&mut pipeline).await];
        pipeline.run(statement, &[]).await;
        for user in users {
            assert!(is_stale(&pipeline, user).await, "{statement}");
            assert_eq!(pipeline.dirty_names(user).await, ["*"]);
        }
        pipeline.refresh().await;
        let left = "SELECT count(*) FROM public.user_exercise_rep_maxes";
        assert_eq!(pipeline.one(left, &[]).await.get::<_, i64>(0), 0, "{statement}");
        pipeline.check_invariants().await;
    }
}

#[tokio::test]
async fn a_change_of_zone_week_start_formula_or_bodyweight_marks_the_whole_user() {
    let mut pipeline = Pipeline::new().await;
    let user = published_user(&mut pipeline).await;
    for statement in [
        "INSERT INTO public.training_profiles (user_id) VALUES ($1)",
        "UPDATE public.training_profiles SET time_zone = 'Asia/Seoul' WHERE user_id = $1",
        "UPDATE public.training_profiles SET week_start = 7 WHERE user_id = $1",
        "UPDATE public.training_profiles SET e1rm_formula = 'epley' WHERE user_id = $1",
        "DELETE FROM public.training_profiles WHERE user_id = $1",
        "INSERT INTO public.bodyweight_log (user_id, measured_on, weight) VALUES ($1, '2026-07-01', 80)",
        "UPDATE public.bodyweight_log SET weight = 81 WHERE user_id = $1",
        "DELETE FROM public.bodyweight_log WHERE user_id = $1",
    ] {
        assert_eq!(marked_by(&mut pipeline, user, statement).await, ["*"], "{statement}");
    }
}

#[tokio::test]
async fn a_change_of_an_exercise_attribute_marks_that_exercise_only() {
    let mut pipeline = Pipeline::new().await;
    let user = published_user(&mut pipeline).await;
    for attribute in
        ["load_kind = 'bodyweight'", "bodyweight_share = 0.5", "implements = 2", "implements = 1, per_side = true"]
    {
        let statement = format!("UPDATE public.exercises SET {attribute} WHERE user_id = $1 AND name = 'Squat'");
        assert_eq!(marked_by(&mut pipeline, user, &statement).await, ["Squat"], "{attribute}");
    }
    let rename = "UPDATE public.exercises SET name = 'Back Squat' WHERE user_id = $1 AND name = 'Squat'";
    assert_eq!(marked_by(&mut pipeline, user, rename).await, ["*"], "its former name worked other muscles, perhaps");
}

#[tokio::test]
async fn merging_exercises_and_undoing_it_marks_the_whole_user() {
    let mut pipeline = Pipeline::new().await;
    let user = published_user(&mut pipeline).await;
    let merge = "UPDATE public.exercises SET merged_into = (SELECT id FROM public.exercises WHERE user_id = $1 AND name = 'Squat')
        WHERE user_id = $1 AND name = 'Bench Press'";
    assert_eq!(marked_by(&mut pipeline, user, merge).await, ["*"]);
    let undo = "UPDATE public.exercises SET merged_into = NULL WHERE user_id = $1 AND name = 'Bench Press'";
    assert_eq!(marked_by(&mut pipeline, user, undo).await, ["*"]);
}

#[tokio::test]
async fn deleting_an_exercise_marks_it_and_the_exercise_it_counted_under() {
    let mut pipeline = Pipeline::new().await;
    let user = published_user(&mut pipeline).await;
    let add = "INSERT INTO public.exercises (user_id, name) VALUES ($1, 'Never done')";
    pipeline.run(add, &[&user]).await;
    assert!(!is_stale(&pipeline, user).await, "a new exercise has no figures yet");
    let merge = "UPDATE public.exercises SET merged_into = (SELECT id FROM public.exercises WHERE user_id = $1 AND name = 'Squat')
        WHERE user_id = $1 AND name = 'Never done' RETURNING id, merged_into";
    let merged = pipeline.one(merge, &[&user]).await;
    let (mut deleted_and_target, dirty) = (
        vec![merged.get::<_, Uuid>(0), merged.get(1)],
        "SELECT array_agg(exercise_id \
        ORDER BY exercise_id) FROM public.user_exercise_stats_dirty WHERE user_id = $1",
    );
    pipeline.refresh().await;
    pipeline.run("DELETE FROM public.exercises WHERE user_id = $1 AND name = 'Never done'", &[&user]).await;
    deleted_and_target.sort_unstable();
    assert_eq!(pipeline.one(dirty, &[&user]).await.get::<_, Vec<Uuid>>(0), deleted_and_target);
}

#[tokio::test]
async fn what_no_figure_depends_on_marks_nobody() {
    let mut pipeline = Pipeline::new().await;
    let user = published_user(&mut pipeline).await;
    for statement in [
        "UPDATE public.exercises SET archived_at = now() WHERE user_id = $1",
        "UPDATE public.workout_sets SET reps = 1 WHERE user_id = $1 AND false",
        "DELETE FROM public.workouts WHERE user_id = $1 AND false",
        "INSERT INTO public.exercises (user_id, name) VALUES ($1, 'Curl')",
    ] {
        pipeline.run(statement, &[&user]).await;
        assert!(!is_stale(&pipeline, user).await, "{statement}");
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_requested_refresh_marks_the_listed_users_as_a_whole_once() {
    let mut pipeline = Pipeline::new().await;
    let (user, other) = (published_user(&mut pipeline).await, published_user(&mut pipeline).await);
    let query = "SELECT public.request_stats_refresh(ARRAY[$1, $1, NULL]::uuid[], true)";
    assert_eq!(pipeline.one(query, &[&user]).await.get::<_, i32>(0), 1);
    assert_eq!(pipeline.dirty_names(user).await, ["*"]);
    let job = pipeline.jobs(user).await.pop().expect("there is a job");
    assert_eq!((job.priority, job.status.as_str()), (1, "pending"));
    assert!(!is_stale(&pipeline, other).await);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_refresh_of_somebody_of_whom_nothing_is_known_marks_nobody() {
    let mut pipeline = Pipeline::new().await;
    let (user, unknown) = (published_user(&mut pipeline).await, Uuid::new_v4());
    let query = "SELECT public.request_stats_refresh(ARRAY[$1, $2]::uuid[])";
    assert_eq!(pipeline.one(query, &[&user, &unknown]).await.get::<_, i32>(0), 1);
    assert_eq!(pipeline.one(query, &[&unknown, &unknown]).await.get::<_, i32>(0), 0);
    assert!(is_stale(&pipeline, user).await);
    assert!(pipeline.jobs(unknown).await.is_empty() && pipeline.dirty(unknown).await.is_empty());
    let states = "SELECT count(*) FROM public.user_stats_projection_state";
    assert_eq!(pipeline.one(states, &[]).await.get::<_, i64>(0), 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn generation_order_is_commit_order_for_one_user() {
    for known in [false, true] {
        let pipeline = Pipeline::new().await;
        let user = if known { saved_user(&pipeline).await } else { Uuid::new_v4() };
        let (early, late) = (pipeline.database.admin().await, pipeline.database.admin().await);
        let save = "SELECT (public.save_workout_v1($1, '{\"started_at\": \"2026-07-20T17:30:00Z\"}') ->> 'generation')::bigint";
        early.batch_execute("BEGIN").await.unwrap();
        let first: i64 = early.query_one(save, &[&user]).await.unwrap().get(0);
        let (second, ()) =
            tokio::join!(async { late.query_one(save, &[&user]).await.unwrap().get::<_, i64>(0) }, async {
                pipeline.until_blocked("save_workout_v1", 1).await;
                early.batch_execute("COMMIT").await.unwrap();
            });
        assert!(second > first, "known: {known}");
        assert_eq!(pipeline.jobs(user).await.len(), if known { 3 } else { 2 });
        pipeline.check_invariants().await;
    }
}

#[tokio::test]
async fn no_concurrent_save_slips_under_a_generation_that_is_committed() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let save =
        "SELECT (public.save_workout_v1($1, '{\"started_at\": \"2026-07-20T17:30:00Z\"}') ->> 'generation')::bigint";
    // The user's state row is locked by then, so that whatever is committed came before.
    let highest = "SELECT coalesce(max(generation), 0) FROM public.user_exercise_stats_refresh_jobs
        WHERE user_id = $1 AND generation <> $2";
    let clients = join_all((0..6).map(|_| pipeline.database.admin())).await;
    join_all(clients.iter().map(async |client| {
        for _ in 0..10 {
            client.batch_execute("BEGIN").await.unwrap();
            let own: i64 = client.query_one(save, &[&user]).await.unwrap().get(0);
            let other: i64 = client.query_one(highest, &[&user, &own]).await.unwrap().get(0);
            assert!(own > other, "{own} came after {other}");
            client.batch_execute("COMMIT").await.unwrap();
        }
    }))
    .await;
    assert_eq!(pipeline.jobs(user).await.len(), 60);
    pipeline.check_invariants().await;
}
