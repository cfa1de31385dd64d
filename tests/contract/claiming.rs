//! Claim: one at a time, recover first, then the lowest generation first within `max_active`.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use tidemark_queue::{Outcome, Summary, claim};
use tidemark_tests::pages::least_pages_touched;
use tidemark_tests::{Pipeline, invocation};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::{EVENING, saved_user};

const LIVE: &str = "SELECT count(*) FROM public.user_stats_projection_runs
    WHERE phase IN ('claimed', 'computing', 'computed', 'publishing')";

/// So many users with one pending job each, in the order of their generations.
async fn many_users(pipeline: &Pipeline, number: i32, low_priority: bool) -> Vec<Uuid> {
    let users: Vec<Uuid> =
        pipeline.one("SELECT array_agg(gen_random_uuid()) FROM generate_series(1, $1)", &[&number]).await.get(0);
    // A request marks only users of whom something is known.
    let known = "INSERT INTO public.user_stats_projection_state (user_id) SELECT unnest($1::uuid[])";
    pipeline.run(known, &[&users]).await;
    pipeline.one("SELECT public.request_stats_refresh($1, $2)", &[&users, &low_priority]).await;
    let query = "SELECT array_agg(user_id ORDER BY requested_generation) FROM public.user_stats_projection_state";
    pipeline.one(query, &[]).await.get(0)
}

async fn live_users(pipeline: &Pipeline) -> Vec<Uuid> {
    let query = "SELECT coalesce(array_agg(user_id ORDER BY generation), '{}') FROM public.user_stats_projection_runs
        WHERE phase = 'claimed'";
    pipeline.one(query, &[]).await.get(0)
}

#[tokio::test]
async fn the_lowest_generations_are_claimed_first() {
    let mut pipeline = Pipeline::new().await;
    let users = many_users(&pipeline, 5, false).await;
    assert_eq!(pipeline.claim().await.succeeded, 2);
    assert_eq!(live_users(&pipeline).await, users[..2]);
    // The first user saves anew, and goes behind the others when the run has ended.
    pipeline.save(users[0], EVENING, "Squat", &[(100.0, 5)]).await;
    pipeline.compute().await;
    pipeline.publish().await;
    assert_eq!(pipeline.claim().await.succeeded, 2);
    assert_eq!(live_users(&pipeline).await, users[2..4]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_goes_before_every_low_priority_rebuild() {
    let mut pipeline = Pipeline::new().await;
    let rebuilt = many_users(&pipeline, 10, true).await;
    let saver = saved_user(&pipeline).await;
    pipeline.save(rebuilt[9], EVENING, "Squat", &[(100.0, 5)]).await;
    assert_eq!(pipeline.claim().await.succeeded, 2);
    let mut live = live_users(&pipeline).await;
    live.sort();
    let mut savers = vec![saver, rebuilt[9]];
    savers.sort();
    assert_eq!(live, savers);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn all_pending_jobs_of_a_user_are_absorbed_into_the_newest() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    pipeline.save(user, EVENING, "Deadlift", &[(100.0, 5)]).await;
    let summary = pipeline.claim().await;
    assert_eq!((summary.succeeded, summary.absorbed), (1, 2));

    let jobs = pipeline.jobs(user).await;
    let newest = jobs.last().expect("there are three");
    assert_eq!((newest.status.as_str(), newest.attempts, newest.absorbed_into), ("running", 1, None));
    for older in &jobs[..2] {
        assert_eq!((older.status.as_str(), older.absorbed_into), ("absorbed", Some(newest.id)));
    }
    let run = pipeline.last_run(user).await;
    assert_eq!((run.job_id, run.generation, run.attempt), (newest.id, pipeline.generations(user).await.0, 1));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn each_claim_of_a_job_raises_its_attempts_by_one() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("backoff_seconds", "0").await;
    let user = saved_user(&pipeline).await;
    for attempt in 1..=3 {
        pipeline.claim().await;
        assert_eq!(pipeline.jobs(user).await[0].attempts, attempt);
        assert_eq!(pipeline.last_run(user).await.attempt, attempt);
        pipeline.fail(user, "made_up").await;
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn eight_overlapping_claimers_never_exceed_max_active() {
    let pipeline = Pipeline::new().await;
    let (claimers, users) = (8, 1000);
    many_users(&pipeline, users, false).await;
    let watcher = pipeline.database.admin().await;
    let over = AtomicBool::new(false);
    let looks = async {
        let mut most = 0;
        while !over.load(Ordering::Relaxed) {
            most = most.max(watcher.query_one(LIVE, &[]).await.unwrap().get::<_, i64>(0));
        }
        most
    };
    let claiming = async {
        let mut connections = (0..claimers).map(|_| pipeline.worker()).collect::<Vec<_>>();
        let mut outcomes = Vec::new();
        for _round in 0..25 {
            let invocation = invocation();
            let pass = connections.iter_mut().map(|connection| claim::handle(connection, &invocation));
            outcomes.extend(join_all(pass).await);
            // Slots are freed between the rounds, or a claim would find every slot taken before it asks for the gate.
            pipeline.run(ONE_FAILS, &[]).await;
        }
        over.store(true, Ordering::Relaxed);
        outcomes
    };
    let (most, outcomes): (i64, Vec<Summary>) = tokio::join!(looks, claiming);
    assert!((1..=2).contains(&most), "{most} live leases at once");
    let claimed: u64 = outcomes.iter().map(|summary| summary.succeeded).sum();
    assert_eq!(claimed, 26, "each freed slot is filled exactly once");
    assert!(outcomes.iter().all(|summary| summary.error_code.is_none()));
    pipeline.check_invariants().await;
}

/// Ends one live run, so that a slot is free.
const ONE_FAILS: &str = "SELECT tidemark.run_fail_v1(id, attempt, lease_token, 'made_up', '')
    FROM public.user_stats_projection_runs WHERE phase = 'claimed' ORDER BY id LIMIT 1";

#[tokio::test]
async fn a_second_claim_answers_busy_at_once_and_changes_nothing() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let first = pipeline.database.worker().await;
    first.batch_execute("BEGIN; SELECT tidemark.claim_v1(gen_random_uuid())").await.unwrap();
    // Another user waits too, whom the second claim could take.
    let other = saved_user(&pipeline).await;

    let summary = pipeline.claim().await;
    assert_eq!((summary.outcome, summary.succeeded), (Outcome::Busy, 0));
    assert!(pipeline.runs(other).await.is_empty());
    first.batch_execute("COMMIT").await.unwrap();
    assert_eq!(pipeline.runs(user).await.len(), 1);
    assert_eq!(pipeline.claim().await.succeeded, 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_expired_lease_is_recovered_without_backoff() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.expire(user).await;

    let summary = pipeline.claim().await;
    assert_eq!((summary.recovered, summary.succeeded), (1, 1));
    let runs = pipeline.runs(user).await;
    assert_eq!((runs[0].phase.as_str(), runs[0].error_code.as_str()), ("failed", "lease_expired"));
    assert_eq!(runs[0].backoff_seconds, None);
    assert_eq!((runs[1].phase.as_str(), runs[1].attempt, runs[1].job_id), ("claimed", 2, runs[0].job_id));
    assert_ne!(runs[0].token, runs[1].token);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_expired_lease_is_left_alone_while_somebody_holds_its_row() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.expire(user).await;
    let holder = pipeline.database.admin().await;
    holder.batch_execute("BEGIN; SELECT FROM public.user_stats_projection_runs FOR NO KEY UPDATE").await.unwrap();

    let summary = pipeline.claim().await;
    assert_eq!((summary.recovered, summary.succeeded), (0, 0));
    assert_eq!(pipeline.last_run(user).await.phase, "claimed");
    holder.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(pipeline.claim().await.recovered, 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_lease_renewed_by_a_transaction_under_way_is_not_recovered_after_it() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.expire(user).await;
    let holder = pipeline.database.admin().await;
    let renewal = "BEGIN; UPDATE public.user_stats_projection_runs SET lease_expires_at = clock_timestamp() + interval '1 minute'";
    holder.batch_execute(renewal).await.unwrap();
    assert_eq!(pipeline.claim().await.recovered, 0);
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(pipeline.claim().await.recovered, 0);
    assert_eq!(pipeline.last_run(user).await.phase, "claimed");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn leases_that_have_expired_are_recovered_although_every_slot_is_taken() {
    let mut pipeline = Pipeline::new().await;
    let users = many_users(&pipeline, 4, false).await;
    pipeline.claim().await;
    pipeline.expire(users[0]).await;
    pipeline.expire(users[1]).await;
    let summary = pipeline.claim().await;
    assert_eq!((summary.recovered, summary.succeeded), (2, 2));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_lease_that_expires_for_the_last_attempt_fails_the_job_and_keeps_its_marks() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_attempts", "2").await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    for _ in 0..2 {
        pipeline.expire(user).await;
        pipeline.claim().await;
    }
    let job = pipeline.jobs(user).await.pop().expect("there is a job");
    assert_eq!((job.status.as_str(), job.attempts, job.error_code.as_str()), ("failed", 2, "lease_expired"));
    assert_eq!(pipeline.dirty_names(user).await, ["Bench Press"]);
    let (requested, applied) = pipeline.generations(user).await;
    assert!(requested > applied);
    assert!(pipeline.is_alerted(user).await);
    assert_eq!(pipeline.claim().await.succeeded, 0);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_job_above_a_lowered_max_attempts_fails_instead_of_running_again() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("backoff_seconds", "0").await;
    let user = saved_user(&pipeline).await;
    for _ in 0..2 {
        pipeline.claim().await;
        assert_eq!(pipeline.fail(user, "made_up").await, "retry");
    }
    let next = saved_user(&pipeline).await;
    pipeline.set("max_attempts", "2").await;
    let summary = pipeline.claim().await;
    assert_eq!((summary.succeeded, summary.failed), (1, 1));
    assert_eq!(pipeline.jobs(user).await[0].status, "failed");
    assert!(pipeline.is_alerted(user).await);
    assert_eq!(pipeline.last_run(next).await.phase, "claimed", "others are not held up");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_user_in_backoff_is_passed_over_until_it_ends() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.fail(user, "made_up").await;
    let next = saved_user(&pipeline).await;
    assert_eq!(pipeline.claim().await.succeeded, 1);
    assert_eq!(live_users(&pipeline).await, [next]);
    // The database's clock alone decides; here the time has come.
    let past = "UPDATE public.user_stats_projection_runs SET retry_not_before = clock_timestamp() - interval '1 second'
        WHERE user_id = $1 AND phase = 'failed'";
    pipeline.run(past, &[&user]).await;
    assert_eq!(pipeline.claim().await.succeeded, 1);
    assert_eq!(pipeline.last_run(user).await.attempt, 2);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_user_with_a_live_run_is_passed_over() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_active", "5").await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    let next = saved_user(&pipeline).await;
    assert_eq!(pipeline.claim().await.succeeded, 1);
    assert_eq!(pipeline.runs(user).await.len(), 1);
    assert_eq!(pipeline.runs(next).await.len(), 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn two_live_runs_of_one_user_are_impossible_by_the_schema() {
    let mut pipeline = Pipeline::new().await;
    saved_user(&pipeline).await;
    pipeline.claim().await;
    let statement =
        "INSERT INTO public.user_stats_projection_runs (user_id, job_id, attempt, generation, lease_expires_at)
        SELECT user_id, job_id, attempt, generation, lease_expires_at FROM public.user_stats_projection_runs";
    assert_eq!(crate::refusal(&pipeline.admin, statement).await, "23505");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_user_with_thousands_of_waiting_jobs_is_worked_off_in_bounded_claims() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let jobs = "INSERT INTO public.user_exercise_stats_refresh_jobs (user_id, generation)
        SELECT $1, nextval('tidemark.generation') FROM generate_series(1, 12000)";
    pipeline.run(jobs, &[&user]).await;
    let newest = "UPDATE public.user_stats_projection_state SET requested_generation = (
        SELECT max(generation) FROM public.user_exercise_stats_refresh_jobs) WHERE user_id = $1";
    pipeline.run(newest, &[&user]).await;
    let first = pipeline.claim().await;
    assert_eq!((first.succeeded, first.absorbed), (1, 5000));
    pipeline.refresh().await;
    // What was left is covered by what has been published: it needs no run of its own.
    while pipeline.claim().await.outcome == Outcome::Worked {}
    assert_eq!(pipeline.runs(user).await.len(), 1);
    let pending =
        "SELECT count(*) FROM public.user_exercise_stats_refresh_jobs WHERE status NOT IN ('absorbed', 'done')";
    assert_eq!(pipeline.one(pending, &[]).await.get::<_, i64>(0), 0);
    pipeline.check_invariants().await;
}

const CLAIM: &str = "SELECT tidemark.claim_v1(gen_random_uuid())";

#[tokio::test]
async fn the_cost_of_a_claim_grows_neither_with_the_backlog_nor_with_users_in_backoff() {
    let pipeline = Pipeline::new().await;
    many_users(&pipeline, 100, false).await;
    let few = least_pages_touched(&pipeline.database.worker().await, CLAIM).await;

    // Written below the triggers, as they would have left it: making it by their road takes half a minute.
    let backlog = "SET session_replication_role = replica;
        INSERT INTO public.user_stats_projection_state
            (user_id, requested_generation, requested_at, pending_generation, pending_priority, retry_not_before)
        SELECT md5(number::text)::uuid, 1000 + number, now(), 1000 + number, 0,
            CASE WHEN number % 6 = 0 THEN now() + interval '1 hour' END
        FROM generate_series(1, 120000) AS number;
        INSERT INTO public.user_exercise_stats_refresh_jobs (user_id, generation)
        SELECT md5(number::text)::uuid, 1000 + number FROM generate_series(1, 120000) AS number;
        INSERT INTO tidemark.queue_tally VALUES (120000, 120000, 120000);
        RESET session_replication_role";
    pipeline.admin.batch_execute(backlog).await.unwrap();
    let stale_statistics = least_pages_touched(&pipeline.database.worker().await, CLAIM).await;
    pipeline.admin.batch_execute("VACUUM ANALYZE").await.unwrap();
    let many = least_pages_touched(&pipeline.database.worker().await, CLAIM).await;
    // The trees of the indexes are one or two levels higher.
    assert!(stale_statistics <= few + 100, "{few} pages became {stale_statistics} with stale statistics");
    assert!(many <= few + 100, "{few} pages became {many}");
    pipeline.check_invariants().await;
}

/// How many rows of the runs one user's way from the claim to the staged result reads, in one session; it is rolled back.
async fn runs_read(client: &Client) -> i64 {
    client.batch_execute("BEGIN").await.unwrap();
    client.query(CLAIM, &[]).await.unwrap();
    let way = "SELECT tidemark.compute_hold_v1(taken.run_id, taken.attempt, taken.lease_token),
            tidemark.compute_stage_v1(taken.run_id, taken.attempt, taken.lease_token, 1, 1, '{}')
        FROM (SELECT * FROM tidemark.compute_take_v1(gen_random_uuid()) OFFSET 0) AS taken";
    let (held, staged): (bool, bool) = {
        let row = client.query_one(way, &[]).await.unwrap();
        (row.get(0), row.get(1))
    };
    assert!(held && staged, "there was somebody to claim");
    let read = "SELECT seq_tup_read + idx_tup_fetch FROM pg_catalog.pg_stat_xact_user_tables
        WHERE relname = 'user_stats_projection_runs'";
    let rows = client.query_one(read, &[]).await.unwrap().get(0);
    client.batch_execute("ROLLBACK").await.unwrap();
    rows
}

#[tokio::test]
async fn a_session_whose_plans_are_older_than_the_history_does_not_read_the_history() {
    let pipeline = Pipeline::new().await;
    many_users(&pipeline, 3, false).await;
    let session = &pipeline.admin;
    // The server believes from now on that the history is empty, and keeps a plan once it has made it six times.
    session.batch_execute("ANALYZE").await.unwrap();
    for _ in 0..8 {
        runs_read(session).await;
    }
    let before = runs_read(session).await;
    let history = "INSERT INTO public.user_stats_projection_runs (user_id, job_id, attempt, generation, phase, lease_expires_at)
        SELECT job.user_id, job.id, 1, 0, 'published', clock_timestamp() - interval '1 day'
        FROM generate_series(1, 5000) CROSS JOIN (SELECT * FROM public.user_exercise_stats_refresh_jobs LIMIT 1) AS job";
    assert_eq!(pipeline.run(history, &[]).await, 5_000);
    let after = runs_read(session).await;
    assert!(after < before + 500, "{after} rows read, {before} while there was no history of 5,000");
}
