//! The protocol with one part taken out: the model must notice each. What it cannot notice, it does not test.

use proptest::test_runner::{Config, TestError};

use crate::world::World;
use crate::{live, runtime};

/// Weight of calls out of turn: most of the mutations let a wrong one in.
const CALLS: u32 = 25;
/// The same cases each time: whether a mutation is noticed must not depend on luck.
const SEED: u64 = 20_260_719;
/// Far more than any of these has ever needed.
const CASES_MAX: u32 = 300;

/// Replaces a part of a function and expects the model to fail.
fn must_be_noticed(function: &str, part: &str, replacement: &str) {
    let runtime = runtime();
    let mut world = runtime.block_on(World::new());
    runtime.block_on(async {
        let query = "SELECT pg_get_functiondef($1::text::regproc)";
        let definition: String = world.pipeline.one(query, &[&function]).await.get(0);
        assert_eq!(definition.matches(part).count(), 1, "the mutation no longer fits {function}: {definition}");
        world.pipeline.admin.batch_execute(&definition.replace(part, replacement)).await.unwrap();
    });
    must_fail(&mut world, &runtime);
}

fn must_fail(world: &mut World, runtime: &tokio::runtime::Runtime) {
    let config = Config { cases: CASES_MAX, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    match live(runtime, world, config, SEED, CALLS) {
        Err(TestError::Fail(reason, _operations)) => println!("noticed: {reason}"),
        other => panic!("the model did not notice: {other:?}"),
    }
}

#[test]
fn a_stage_that_compares_no_token_is_noticed() {
    must_be_noticed("tidemark.compute_stage_v1", "OR v_run.lease_token <> p_lease_token", "");
}

#[test]
fn a_stage_that_compares_no_attempt_is_noticed() {
    must_be_noticed("tidemark.compute_stage_v1", "OR v_run.attempt <> p_attempt", "");
}

#[test]
fn a_publish_that_compares_no_token_is_noticed() {
    must_be_noticed("tidemark.publish_v1", "OR v_run.lease_token <> p_lease_token", "");
}

#[test]
fn a_publish_past_the_expiry_is_noticed() {
    must_be_noticed("tidemark.publish_v1", "OR v_run.lease_expires_at <= clock_timestamp()", "");
}

#[test]
fn a_failure_recorded_by_a_stranger_is_noticed() {
    must_be_noticed("tidemark.run_fail_v1", "OR v_run.lease_token <> p_lease_token", "");
}

#[test]
fn a_publish_that_clears_marks_it_does_not_cover_is_noticed() {
    must_be_noticed("tidemark.publish_v1", "AND dirty.generation <= v_run.generation", "");
}

#[test]
fn a_publish_that_leaves_vanished_rows_is_noticed() {
    let part = "AND NOT EXISTS (SELECT FROM computed WHERE computed.exercise_id = published.exercise_id \
        AND computed.week_start = published.week_start)";
    must_be_noticed("tidemark.publish_v1", part, "AND false");
}

#[test]
fn a_claim_that_does_not_count_the_live_leases_is_noticed() {
    must_be_noticed("tidemark.claim_v1", "v_settings.max_active - v_live", "v_settings.max_active");
}

#[test]
fn a_recovery_that_takes_held_runs_into_account_no_more_is_noticed() {
    must_be_noticed("tidemark.recover_expired", "FOR NO KEY UPDATE OF run, state SKIP LOCKED", "");
}

#[test]
fn a_failure_that_keeps_what_was_staged_is_noticed() {
    must_be_noticed("tidemark.end_failed", "DELETE FROM tidemark.staged_results WHERE run_id = p_run.id;", "");
}

#[test]
fn a_moved_workout_that_marks_nothing_is_noticed() {
    let runtime = runtime();
    let mut world = runtime.block_on(World::new());
    let drop = "DROP TRIGGER mark_updated ON public.workouts";
    runtime.block_on(world.pipeline.admin.batch_execute(drop)).unwrap();
    must_fail(&mut world, &runtime);
}
