//! Publish: fenced, in order, only what differs.

use tidemark_queue::Outcome;
use tidemark_tests::Pipeline;
use uuid::Uuid;

use crate::{EVENING, saved_user};

/// Where every published row of the user lies, as `table key place`: a row that is written moves.
async fn places(pipeline: &Pipeline, user: Uuid) -> Vec<String> {
    let query = "SELECT array_agg(listed.place ORDER BY listed.place) FROM (
            SELECT 'stats ' || exercise_id || ' ' || ctid || ' ' || xmin AS place FROM public.user_exercise_stats WHERE user_id = $1
            UNION ALL SELECT 'rep max ' || exercise_id || ' ' || reps || ' ' || ctid || ' ' || xmin
                FROM public.user_exercise_rep_maxes WHERE user_id = $1
            UNION ALL SELECT 'week ' || exercise_id || ' ' || week_start || ' ' || ctid || ' ' || xmin
                FROM public.user_exercise_stats_weekly WHERE user_id = $1
            UNION ALL SELECT 'muscle ' || muscle || ' ' || week_start || ' ' || ctid || ' ' || xmin
                FROM public.user_muscle_stats_weekly WHERE user_id = $1
            UNION ALL SELECT 'summary ' || ctid || ' ' || xmin FROM public.user_stats_summary WHERE user_id = $1
        ) AS listed";
    pipeline.one(query, &[&user]).await.get::<_, Option<Vec<String>>>(0).unwrap_or_default()
}

/// Rows changed, unchanged and deleted by the user's last run.
async fn counts(pipeline: &Pipeline, user: Uuid) -> (i32, i32, i32) {
    let query = "SELECT rows_changed, rows_unchanged, rows_deleted FROM public.user_stats_projection_runs
        WHERE user_id = $1 ORDER BY id DESC LIMIT 1";
    let row = pipeline.one(query, &[&user]).await;
    (row.get(0), row.get(1), row.get(2))
}

#[tokio::test]
async fn a_publish_writes_only_the_rows_that_differ() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
    pipeline.refresh().await;
    let before = places(&pipeline, user).await;
    // Two stats, two weeks, the summary, rep maxes of 5 + 3 repetitions, 3 muscles of the bench press and 5 of the squat.
    assert_eq!(counts(&pipeline, user).await, (21, 0, 0));
    assert_eq!(before.len(), 21);

    // A lighter set of one repetition in the same week: figures of the squat and the summary change, no rep max does.
    pipeline.save(user, EVENING, "Squat", &[(60.0, 1)]).await;
    pipeline.refresh().await;
    let after = places(&pipeline, user).await;
    let moved: Vec<&str> =
        after.iter().filter(|place| !before.contains(place)).map(|place| place.split(' ').next().unwrap()).collect();
    assert_eq!(moved, ["muscle", "muscle", "muscle", "muscle", "muscle", "stats", "summary", "week"]);
    assert_eq!(counts(&pipeline, user).await, (8, 3, 0));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_refresh_of_unchanged_source_writes_no_published_row() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.refresh().await;
    let before = places(&pipeline, user).await;
    pipeline.one("SELECT public.request_stats_refresh(ARRAY[$1]::uuid[])", &[&user]).await;
    pipeline.refresh().await;
    assert_eq!(places(&pipeline, user).await, before);
    assert_eq!(counts(&pipeline, user).await, (0, i32::try_from(before.len()).unwrap(), 0));
    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!(requested, applied);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_publish_deletes_the_rows_that_vanished() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let squat = pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
    pipeline.refresh().await;
    pipeline.one("SELECT public.delete_workout_v1($1, $2)", &[&user, &squat]).await;
    pipeline.refresh().await;
    let left = "SELECT count(*) FROM (
            SELECT exercise_id FROM public.user_exercise_rep_maxes WHERE user_id = $1
            UNION ALL SELECT exercise_id FROM public.user_exercise_stats_weekly WHERE user_id = $1
        ) AS published JOIN public.exercises ON exercises.id = exercise_id WHERE name = 'Squat'";
    assert_eq!(pipeline.one(left, &[&user]).await.get::<_, i64>(0), 0);
    let (_changed, _unchanged, deleted) = counts(&pipeline, user).await;
    assert!(deleted >= 4, "three rep maxes and a week: {deleted}");
    assert!(places(&pipeline, user).await.len() >= 8, "the bench press stays");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_publish_raises_the_applied_generation_and_clears_marks_up_to_it_only() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let claimed = pipeline.last_run(user).await.generation;
    pipeline.compute().await;
    pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
    pipeline.publish().await;
    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!(applied, claimed);
    assert_eq!(pipeline.dirty(user).await, [("Squat".to_owned(), requested)]);
    let jobs = pipeline.jobs(user).await;
    assert_eq!((jobs[0].status.as_str(), jobs[1].status.as_str()), ("done", "pending"));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn b11_a_mark_renewed_during_a_run_survives_its_publish() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.compute().await;
    pipeline.save(user, EVENING, "Bench Press", &[(120.0, 3)]).await;
    pipeline.publish().await;
    let (requested, _applied) = pipeline.generations(user).await;
    assert_eq!(pipeline.dirty(user).await, [("Bench Press".to_owned(), requested)]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_publish_absorbs_older_failed_jobs_and_resolves_their_alert() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_attempts", "1").await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    assert_eq!(pipeline.fail(user, "made_up").await, "exhausted");
    assert!(pipeline.is_alerted(user).await);

    pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
    pipeline.refresh().await;
    let jobs = pipeline.jobs(user).await;
    assert_eq!((jobs[0].status.as_str(), jobs[0].absorbed_into), ("absorbed", Some(jobs[1].id)));
    assert_eq!((jobs[1].status.as_str(), jobs[1].attempts), ("done", 1));
    assert!(!pipeline.is_alerted(user).await);
    assert!(pipeline.dirty(user).await.is_empty());
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_applied_generation_can_be_neither_lowered_nor_repeated() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.refresh().await;
    let (_requested, applied) = pipeline.generations(user).await;
    for generation in [0, applied - 1, applied] {
        let statement = format!("UPDATE public.user_stats_projection_state SET applied_generation = {generation}");
        assert_eq!(crate::refusal(&pipeline.admin, &statement).await, "55000");
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn b12_an_older_result_cannot_overwrite_a_newer_one() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.compute().await;
    let slow = pipeline.database.worker().await;
    slow.batch_execute("SELECT tidemark.publish_take_v1(gen_random_uuid())").await.unwrap();
    let stalled = pipeline.last_run(user).await;

    pipeline.expire(user).await;
    pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
    pipeline.refresh().await;
    let (before, generations) = (places(&pipeline, user).await, pipeline.generations(user).await);

    let late = "SELECT (tidemark.publish_v1($1, $2, $3)).outcome";
    let row = slow.query_one(late, &[&stalled.id, &stalled.attempt, &stalled.token]).await.unwrap();
    assert_eq!(row.get::<_, String>(0), "lost");
    assert_eq!(places(&pipeline, user).await, before);
    assert_eq!(pipeline.generations(user).await, generations);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_order_defence_is_a_recorded_failure_that_keeps_the_marks_and_ends_after_max_attempts() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    // Somebody raised the applied generation by hand, above what this user's run will bring.
    let raise = "UPDATE public.user_stats_projection_state SET requested_generation = 1000, applied_generation = 1000
        WHERE user_id = $1";
    pipeline.run(raise, &[&user]).await;
    for attempt in 1..=3 {
        pipeline.claim().await;
        pipeline.compute().await;
        let summary = pipeline.publish().await;
        assert_eq!((summary.outcome, summary.error_code.as_deref()), (Outcome::Failed, Some("55000")));
        let run = pipeline.last_run(user).await;
        assert_eq!((run.attempt, run.phase.as_str(), run.error_code.as_str()), (attempt, "failed", "55000"));
        assert_eq!(pipeline.dirty_names(user).await, ["Bench Press"]);
        assert!(places(&pipeline, user).await.is_empty(), "nothing of a refused publish stays");
        pipeline.end_backoff(user).await;
    }
    let job = pipeline.jobs(user).await.pop().expect("there is a job");
    assert_eq!((job.status.as_str(), job.error_code.as_str()), ("failed", "55000"));
    assert!(pipeline.is_alerted(user).await);
    assert_eq!(pipeline.claim().await.succeeded, 0);

    // The next save draws above it and carries the old marks along.
    pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
    pipeline.refresh().await;
    let (requested, applied) = pipeline.generations(user).await;
    assert!(requested > 1000 && applied == requested);
    assert_eq!(places(&pipeline, user).await.len(), 21);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_exercise_deleted_before_the_publish_is_recorded_as_23503_and_the_next_attempt_succeeds() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let squat = pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
    pipeline.claim().await;
    pipeline.compute().await;
    pipeline.one("SELECT public.delete_workout_v1($1, $2)", &[&user, &squat]).await;
    pipeline.run("DELETE FROM public.exercises WHERE user_id = $1 AND name = 'Squat'", &[&user]).await;

    let summary = pipeline.publish().await;
    assert_eq!((summary.failed, summary.error_code.as_deref()), (1, Some("23503")));
    let run = pipeline.last_run(user).await;
    assert_eq!((run.phase.as_str(), run.error_code.as_str()), ("failed", "23503"));
    assert!(run.backoff_seconds.is_some());
    assert!(!run.error_message.contains(&user.to_string()), "no row value is recorded");
    assert!(places(&pipeline, user).await.is_empty());

    pipeline.end_backoff(user).await;
    pipeline.refresh().await;
    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!(applied, requested);
    assert_eq!(
        places(&pipeline, user).await.len(),
        11,
        "one exercise, its week, five rep maxes, three muscles, the summary"
    );
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_publish_needs_a_lease_that_has_not_expired() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.compute().await;
    let worker = pipeline.database.worker().await;
    worker.batch_execute("SELECT tidemark.publish_take_v1(gen_random_uuid())").await.unwrap();
    let run = pipeline.last_run(user).await;
    pipeline.expire(user).await;
    let publish = "SELECT (tidemark.publish_v1($1, $2, $3)).outcome";
    let row = worker.query_one(publish, &[&run.id, &run.attempt, &run.token]).await.unwrap();
    assert_eq!(row.get::<_, String>(0), "lost");
    assert!(places(&pipeline, user).await.is_empty());
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_publish_with_another_token_attempt_or_phase_changes_nothing() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.compute().await;
    let worker = pipeline.database.worker().await;
    let publish = "SELECT (tidemark.publish_v1($1, $2, $3)).outcome";
    let run = pipeline.last_run(user).await;
    let early = worker.query_one(publish, &[&run.id, &run.attempt, &run.token]).await.unwrap();
    assert_eq!(early.get::<_, String>(0), "lost", "it has not been taken");
    worker.batch_execute("SELECT tidemark.publish_take_v1(gen_random_uuid())").await.unwrap();
    for (id, attempt, token) in [
        (run.id, run.attempt, Uuid::new_v4()),
        (run.id, run.attempt + 1, run.token),
        (run.id + 1, run.attempt, run.token),
    ] {
        let row = worker.query_one(publish, &[&id, &attempt, &token]).await.unwrap();
        assert_eq!(row.get::<_, String>(0), "lost");
    }
    assert!(places(&pipeline, user).await.is_empty());
    let row = worker.query_one(publish, &[&run.id, &run.attempt, &run.token]).await.unwrap();
    assert_eq!(row.get::<_, String>(0), "published");
    let again = worker.query_one(publish, &[&run.id, &run.attempt, &run.token]).await.unwrap();
    assert_eq!(again.get::<_, String>(0), "lost", "a publish has one effect");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn what_another_version_of_the_formulas_published_is_published_anew_with_the_next_refresh() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.refresh().await;
    let sets = "SELECT sets FROM public.user_exercise_stats WHERE user_id = $1 AND exercise_name = 'Bench Press'";
    let version = "SELECT definition_version FROM public.user_stats_projection_state WHERE user_id = $1";
    let current: i32 = pipeline.one(version, &[&user]).await.get(0);
    // A figure as other formulas might have made it; the save that follows is of another exercise.
    for (found_by, expected) in [(current, 99), (current - 1, 1)] {
        pipeline
            .run(
                "UPDATE public.user_exercise_stats SET sets = 99 WHERE user_id = $1 AND exercise_name = 'Bench Press'",
                &[&user],
            )
            .await;
        pipeline
            .run(
                "UPDATE public.user_stats_projection_state SET definition_version = $2 WHERE user_id = $1",
                &[&user, &found_by],
            )
            .await;
        pipeline.save(user, EVENING, "Squat", &[(140.0, 3)]).await;
        pipeline.refresh().await;
        assert_eq!(pipeline.one(sets, &[&user]).await.get::<_, i32>(0), expected, "published by version {found_by}");
        assert_eq!(pipeline.one(version, &[&user]).await.get::<_, i32>(0), current);
    }
    pipeline.check_invariants().await;
}
