//! Failure: recorded with a code, retried with backoff, ended with an alert, and never at the cost of a mark.

use tidemark_queue::Lease;
use tidemark_queue::lease::Failed;
use tidemark_tests::Pipeline;
use uuid::Uuid;

use crate::{EVENING, saved_user};

#[tokio::test]
async fn a_failure_with_attempts_left_puts_the_job_back_behind_a_backoff() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    assert_eq!(pipeline.fail(user, "XX000").await, "retry");
    let job = pipeline.jobs(user).await.pop().expect("there is a job");
    assert_eq!((job.status.as_str(), job.attempts, job.error_code.as_str()), ("pending", 1, "XX000"));
    let run = pipeline.last_run(user).await;
    assert_eq!((run.phase.as_str(), run.error_code.as_str()), ("failed", "XX000"));
    assert_eq!(pipeline.dirty_names(user).await, ["Bench Press"]);
    assert!(!pipeline.is_alerted(user).await);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_first_backoff_is_the_setting_and_later_ones_double_with_jitter_that_only_lengthens() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_attempts", "20").await;
    pipeline.set("backoff_seconds", "10").await;
    let user = saved_user(&pipeline).await;
    for attempt in 1..20 {
        assert_eq!(pipeline.claim().await.succeeded, 1);
        assert_eq!(pipeline.fail(user, "made_up").await, "retry");
        let seconds = pipeline.last_run(user).await.backoff_seconds.expect("there is a backoff");
        let planned = (10.0 * 2.0_f64.powi((attempt - 1).min(12))).min(3600.0);
        let longest = if attempt == 1 { planned } else { planned * 1.25 };
        // The two clock readings of one failure lie a moment apart.
        assert!((planned..longest + 0.1).contains(&(seconds + 0.000_5)), "{seconds} s after attempt {attempt}");
        pipeline.end_backoff(user).await;
    }
    pipeline.claim().await;
    assert_eq!(pipeline.fail(user, "made_up").await, "exhausted");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_backoff_setting_above_the_hour_stays_the_lower_bound() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("backoff_seconds", "86400").await;
    let user = saved_user(&pipeline).await;
    for attempt in 1..=2 {
        pipeline.claim().await;
        pipeline.fail(user, "made_up").await;
        let seconds = pipeline.last_run(user).await.backoff_seconds.expect("there is a backoff");
        let longest = if attempt == 1 { 86_400.1 } else { 86_400.0 * 1.25 };
        assert!((86_399.9..longest).contains(&seconds), "{seconds} s");
        pipeline.end_backoff(user).await;
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_backoff_of_zero_lets_the_next_claim_take_the_user() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("backoff_seconds", "0").await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.fail(user, "made_up").await;
    assert_eq!(pipeline.last_run(user).await.backoff_seconds, None);
    assert_eq!(pipeline.claim().await.succeeded, 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn used_up_attempts_fail_the_job_keep_the_marks_and_raise_one_alert() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let mut answers = Vec::new();
    for _ in 0..3 {
        pipeline.claim().await;
        answers.push(pipeline.fail(user, "23503").await);
        pipeline.end_backoff(user).await;
    }
    assert_eq!(answers, ["retry", "retry", "exhausted"]);
    let job = pipeline.jobs(user).await.pop().expect("there is a job");
    assert_eq!((job.status.as_str(), job.attempts, job.error_code.as_str()), ("failed", 3, "23503"));
    assert_eq!(pipeline.dirty_names(user).await, ["Bench Press"]);
    assert!(pipeline.is_alerted(user).await);
    assert_eq!(pipeline.claim().await.succeeded, 0);

    // Failing anew raises no second alert.
    pipeline.set("max_attempts", "1").await;
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    pipeline.claim().await;
    assert_eq!(pipeline.fail(user, "panic").await, "exhausted");
    let alerts = "SELECT count(*), max(occurrences), max(error_code) FROM public.alert_outbox";
    let row = pipeline.one(alerts, &[]).await;
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, &str>(2)), (1, 2, "panic"));
    // One job had three attempts while three were allowed.
    pipeline.set("max_attempts", "3").await;
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_new_save_after_used_up_attempts_makes_a_job_with_attempts_of_its_own() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_attempts", "1").await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    assert_eq!(pipeline.fail(user, "made_up").await, "exhausted");
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    let jobs = pipeline.jobs(user).await;
    assert_eq!((jobs[1].status.as_str(), jobs[1].attempts), ("pending", 0));
    assert_eq!(pipeline.claim().await.succeeded, 1);
    assert_eq!(pipeline.last_run(user).await.attempt, 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_failure_touches_no_source_row_and_nothing_published() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.refresh().await;
    let query = "SELECT array_agg(place ORDER BY place) FROM (
            SELECT 'workout' || ctid || xmin AS place FROM public.workouts UNION ALL SELECT 'set' || ctid || xmin FROM public.workout_sets
            UNION ALL SELECT 'exercise' || ctid || xmin FROM public.exercises
            UNION ALL SELECT 'stats' || ctid || xmin FROM public.user_exercise_stats
            UNION ALL SELECT 'summary' || ctid || xmin FROM public.user_stats_summary
        ) AS listed";
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    let before: Vec<String> = pipeline.one(query, &[]).await.get(0);
    pipeline.claim().await;
    pipeline.compute().await;
    pipeline.fail(user, "made_up").await;
    assert_eq!(pipeline.one(query, &[]).await.get::<_, Vec<String>>(0), before);
    let staged: i64 = pipeline.one("SELECT count(*) FROM tidemark.staged_results", &[]).await.get(0);
    assert_eq!(staged, 0);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_failure_reported_twice_or_with_a_foreign_token_says_lost() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let run = pipeline.last_run(user).await;
    let fail = "SELECT tidemark.run_fail_v1($1, $2, $3, 'made_up', '')";
    for (attempt, token) in [(run.attempt, Uuid::new_v4()), (run.attempt + 1, run.token)] {
        assert_eq!(pipeline.one(fail, &[&run.id, &attempt, &token]).await.get::<_, String>(0), "lost");
    }
    assert_eq!(pipeline.last_run(user).await.phase, "claimed");
    assert_eq!(pipeline.one(fail, &[&run.id, &run.attempt, &run.token]).await.get::<_, String>(0), "retry");
    assert_eq!(pipeline.one(fail, &[&run.id, &run.attempt, &run.token]).await.get::<_, String>(0), "lost");
    assert_eq!(pipeline.jobs(user).await[0].attempts, 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_failure_text_that_postgres_cannot_store_is_recorded_all_the_same() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let run = pipeline.last_run(user).await;
    let lease =
        Lease { run_id: run.id, user_id: user, attempt: run.attempt, generation: run.generation, token: run.token };
    let text = format!("before\0after {}", "x".repeat(5000));
    let failed = lease.fail(&mut pipeline.worker(), "made\0up", &text).await.expect("it is recorded");
    assert_eq!(failed, Failed::Retry);
    let run = pipeline.last_run(user).await;
    assert_eq!(run.phase, "failed");
    assert!(run.error_message.starts_with("before\u{fffd}after"));
    assert_eq!(run.error_message.chars().count(), 2000);
    pipeline.check_invariants().await;
}
