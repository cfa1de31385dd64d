//! Budgets: one row, one step each, the wait for locks included, and never beyond the function's own deadline.

use std::cell::Cell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use tidemark_projection::{compute, publish};
use tidemark_queue::{Invocation, Outcome, claim};
use tidemark_tests::{Pipeline, invocation};
use tokio_postgres::Client;

use crate::saved_user;

/// A session that holds what `lock` locks until it commits.
async fn holding(pipeline: &Pipeline, lock: &str) -> Client {
    let holder = pipeline.database.admin().await;
    holder.batch_execute(&format!("BEGIN; {lock}")).await.unwrap();
    holder
}

const STATE_ROWS: &str = "SELECT FROM public.user_stats_projection_state FOR UPDATE";
const WORKOUTS: &str = "LOCK TABLE public.workouts IN ACCESS EXCLUSIVE MODE";
const STAGED: &str = "LOCK TABLE tidemark.staged_results IN ACCESS EXCLUSIVE MODE";

#[tokio::test]
async fn a_publish_that_waits_longer_than_its_budget_fails_with_57014_and_has_another_attempt() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("publish_timeout_ms", "150").await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.compute().await;
    let holder = holding(&pipeline, STATE_ROWS).await;
    let summary = pipeline.publish().await;
    assert_eq!((summary.outcome, summary.failed, summary.error_code.as_deref()), (Outcome::Failed, 1, Some("57014")));
    // It is recorded although the row is still held; what concerns the user follows when the row is free.
    assert_eq!(pipeline.last_run(user).await.error_code, "57014");
    assert_eq!(pipeline.claim().await.recovered, 0);
    holder.batch_execute("COMMIT").await.unwrap();
    let claimed = pipeline.claim().await;
    assert_eq!((claimed.recovered, claimed.succeeded), (1, 0));
    let run = pipeline.last_run(user).await;
    assert_eq!((run.phase.as_str(), run.error_code.as_str()), ("failed", "57014"));
    assert!(run.error_message.contains("publish_timeout_ms"), "{}", run.error_message);
    assert!(run.backoff_seconds.is_some());
    let job = pipeline.jobs(user).await.pop().expect("there is a job");
    assert_eq!((job.status.as_str(), job.attempts), ("pending", 1));
    assert_eq!(pipeline.generations(user).await.1, 0);
    let alerted = "SELECT count(*) FROM public.alert_outbox
        WHERE kind = 'publish_failed' AND subject = $1::uuid::text AND resolved_at IS NULL";
    assert_eq!(pipeline.one(alerted, &[&user]).await.get::<_, i64>(0), 1, "a publish that fails is told at once");

    pipeline.end_backoff(user).await;
    pipeline.refresh().await;
    assert!(pipeline.generations(user).await.1 > 0);
    assert_eq!(pipeline.one(alerted, &[&user]).await.get::<_, i64>(0), 0, "and so is its recovery");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_compute_over_its_budget_fails_with_57014_and_has_another_attempt() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("compute_timeout_ms", "1000").await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let holder = holding(&pipeline, WORKOUTS).await;
    let began = Instant::now();
    let summary = pipeline.compute().await;
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!((summary.outcome, summary.failed, summary.error_code.as_deref()), (Outcome::Failed, 1, Some("57014")));
    holder.batch_execute("COMMIT").await.unwrap();
    let run = pipeline.last_run(user).await;
    assert_eq!((run.phase.as_str(), run.error_code.as_str()), ("failed", "57014"));
    assert!(run.backoff_seconds.is_some());
    assert_eq!(pipeline.dirty_names(user).await, ["Bench Press"]);
    pipeline.end_backoff(user).await;
    pipeline.refresh().await;
    assert!(pipeline.generations(user).await.1 > 0);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_budget_is_for_the_whole_compute_however_many_statements_it_has() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("compute_timeout_ms", "1000").await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let tables = ["exercises", "workouts", "workout_sets", "bodyweight_log"];
    let mut holders = HashMap::new();
    for table in tables {
        let lock = format!("LOCK TABLE public.{table} IN ACCESS EXCLUSIVE MODE");
        holders.insert(table.to_owned(), holding(&pipeline, &lock).await);
    }
    // The lock tells what is waited for: what the session says of itself may be older than the release of another table.
    let waits = "SELECT class.relname::text FROM pg_catalog.pg_locks AS lock
        JOIN pg_catalog.pg_stat_activity AS session USING (pid)
        JOIN pg_catalog.pg_class AS class ON class.oid = lock.relation
        WHERE NOT lock.granted AND session.datname = current_database()
            AND session.query_start < clock_timestamp() - interval '700 ms'";
    let watcher = pipeline.database.admin().await;
    // Each statement alone stays below the budget; all together would take 2.8 seconds.
    let released = Cell::new(0);
    let releasing = async {
        loop {
            for row in watcher.query(waits, &[]).await.unwrap() {
                holders[row.get::<_, &str>(0)].batch_execute("COMMIT").await.unwrap();
                released.set(released.get() + 1);
            }
        }
    };
    let summary = tokio::select! {
        summary = pipeline.compute() => summary,
        () = releasing => unreachable!("it never ends by itself"),
    };
    assert!(released.get() < tables.len(), "it went on to the last table");
    assert_eq!((summary.outcome, summary.failed, summary.error_code.as_deref()), (Outcome::Failed, 1, Some("57014")));
    drop(holders);
    let run = pipeline.last_run(user).await;
    assert_eq!((run.phase.as_str(), run.error_code.as_str()), ("failed", "57014"));
    pipeline.end_backoff(user).await;
    pipeline.refresh().await;
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_claim_over_its_budget_ends_quietly_and_leaves_nothing() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("claim_timeout_ms", "100").await;
    let user = saved_user(&pipeline).await;
    let holder = holding(&pipeline, "LOCK TABLE public.user_stats_projection_runs IN ACCESS EXCLUSIVE MODE").await;
    let summary = pipeline.claim().await;
    assert_eq!((summary.outcome, summary.error_code.as_deref()), (Outcome::Unavailable, Some("57014")));
    holder.batch_execute("COMMIT").await.unwrap();
    assert!(pipeline.runs(user).await.is_empty());
    assert_eq!(pipeline.claim().await.succeeded, 1, "the gate is free again");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_changed_budget_acts_at_the_next_tick_of_a_warm_function() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_attempts", "20").await;
    pipeline.set("backoff_seconds", "0").await;
    let user = saved_user(&pipeline).await;
    let mut warm = pipeline.worker();
    for budget in [300, 100] {
        pipeline.set("publish_timeout_ms", &budget.to_string()).await;
        pipeline.claim().await;
        pipeline.compute().await;
        let holder = holding(&pipeline, STAGED).await;
        let invocation = invocation();
        let (summary, ()) = tokio::join!(publish::handle(&mut warm, &invocation), async {
            pipeline.until_blocked("publish_v1", 1).await;
            pipeline.until_blocked("run_fail_v1", 1).await;
            holder.batch_execute("COMMIT").await.unwrap();
        });
        assert_eq!(summary.error_code.as_deref(), Some("57014"));
        let message = pipeline.last_run(user).await.error_message;
        assert!(message.contains(&format!("{budget} ms")), "{message}");
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_deadline_that_comes_before_the_budget_wins() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    let holder = holding(&pipeline, WORKOUTS).await;
    let began = Instant::now();
    let invocation = Invocation::begin(None, Some(Duration::from_millis(1_900)), Duration::ZERO);
    let summary = compute::handle(&mut pipeline.worker(), &invocation).await;
    assert!(began.elapsed() < Duration::from_millis(1_900), "the failure is recorded before the deadline");
    assert_eq!(summary.error_code.as_deref(), Some("57014"));
    holder.batch_execute("COMMIT").await.unwrap();
    let run = pipeline.last_run(user).await;
    assert_eq!((run.phase.as_str(), run.error_code.as_str()), ("failed", "57014"));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn no_further_step_begins_that_does_not_fit_whole_before_the_deadline() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_active", "3").await;
    for _ in 0..3 {
        saved_user(&pipeline).await;
    }
    pipeline.claim().await;
    let short = Invocation::begin(None, Some(Duration::from_secs(20)), Duration::ZERO);
    assert_eq!(compute::handle(&mut pipeline.worker(), &short).await.succeeded, 1, "a budget is a minute");
    pipeline.set("compute_timeout_ms", "5000").await;
    assert_eq!(compute::handle(&mut pipeline.worker(), &short).await.succeeded, 2, "two of five seconds fit");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_invocation_lingers_for_work_that_is_on_its_way() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let (mut first, mut second, mut third) = (pipeline.worker(), pipeline.worker(), pipeline.worker());
    let lingering = Invocation::begin(None, Some(Duration::from_secs(900)), Duration::from_secs(10));
    let soon = invocation();
    let (computed, published, claimed) =
        tokio::join!(compute::handle(&mut first, &lingering), publish::handle(&mut second, &lingering), async {
            let both = "SELECT count(*) = 2 FROM tidemark.ticks WHERE function_name IN ('compute', 'publish')
                AND last_outcome = 'idle'";
            tidemark_tests::until_true(&pipeline.admin, both, &[]).await;
            claim::handle(&mut third, &soon).await
        });
    assert_eq!((claimed.succeeded, computed.succeeded, published.succeeded), (1, 1, 1));
    let (requested, applied) = pipeline.generations(user).await;
    assert_eq!(requested, applied);
    assert!(lingering.started.elapsed() < Duration::from_secs(5), "nobody stays when nothing is left");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_server_ends_a_transaction_that_a_frozen_worker_leaves_open() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("publish_timeout_ms", "100").await;
    saved_user(&pipeline).await;
    pipeline.claim().await;
    let worker = pipeline.database.worker().await;
    worker.batch_execute("BEGIN; SELECT tidemark.begin_step_v1('publish', 100)").await.unwrap();
    let query =
        "SELECT current_setting('idle_in_transaction_session_timeout') || ' ' || current_setting('statement_timeout')";
    let limits: String = worker.query_one(query, &[]).await.unwrap().get(0);
    assert_eq!(limits, "1100ms 100ms");
    worker.batch_execute("COMMIT").await.unwrap();
    let after: String = worker.query_one(query, &[]).await.unwrap().get(0);
    assert_eq!(after, "15s 15s", "nothing leaks out of the transaction");
    pipeline.check_invariants().await;
}
