//! A random interleaving of everything that can happen to the general queue, step by step, against the real SQL.
//!
//! Producers enqueue with and without keys, groups and delays; workers claim, renew, end and die; zombies come back with claims of
//! the past; operators cancel, requeue and move. An oracle in memory says what each step must answer and where each job must be
//! afterwards; then exactly that must be so, and every invariant must hold. In the end everything must have come to its end.
//!
//! - `step.rs`: what can happen, and how often.
//! - `oracle.rs`: where each job must be.
//! - `world.rs`: the sessions, and what is checked after each step.
//!
//! `TIDEMARK_MODEL_JOB_CASES` is the number of cases, `TIDEMARK_MODEL_SEED` repeats a run.

mod oracle;
mod step;
mod world;

use std::cell::RefCell;
use std::time::Instant;

use proptest::collection::vec;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use self::step::{Step, step};
use self::world::World;

/// Cases where nothing else is asked for.
const CASES: u32 = 60;
/// Steps of a case.
const STEPS: std::ops::Range<usize> = 20..80;
/// Milliseconds spent on making a failing case smaller.
const SHRINKING_MS_MAX: u32 = 60_000;

fn live(world: &mut World, config: Config, seed: u64) -> Result<(), TestError<Vec<Step>>> {
    let config = Config { failure_persistence: None, ..config };
    let runtime = crate::runtime();
    runtime.block_on(world.connect());
    let world = RefCell::new(world);
    TestRunner::new_with_rng(config, crate::random(seed)).run(&vec(step(), STEPS), |steps| {
        runtime.block_on(world.borrow_mut().live_through(&steps)).map_err(TestCaseError::fail)
    })
}

#[test]
fn no_interleaving_of_producers_workers_zombies_and_operators_breaks_a_promise_of_the_queue() {
    let seed = crate::seed();
    println!("TIDEMARK_MODEL_SEED={seed}");
    let cases = crate::number("TIDEMARK_MODEL_JOB_CASES").map_or(CASES, |cases| u32::try_from(cases).unwrap());
    let (mut world, began) = (World::new(), Instant::now());
    let config = Config { cases, max_shrink_time: SHRINKING_MS_MAX, ..Config::default() };
    let outcome = live(&mut world, config, seed);
    println!("{cases} cases, {} steps in {:?}: {:?}", world.steps(), began.elapsed(), world.counts());
    match outcome {
        Ok(()) => {
            if cases >= CASES {
                world.must_have_seen_everything();
            }
        }
        Err(TestError::Fail(reason, steps)) => {
            panic!("{reason}\nsmallest case found: {steps:#?}\nrepeat with TIDEMARK_MODEL_SEED={seed}")
        }
        Err(other) => panic!("{other}\nrepeat with TIDEMARK_MODEL_SEED={seed}"),
    }
}

/// Replacements that take a part out of the protocol.
const MUTATIONS: &[(&str, &str)] = &[
    (
        "keys and places in groups are not given back",
        "CREATE OR REPLACE FUNCTION tidemark.jobs_let_go(p_job_ids uuid[], p_finished uuid[], p_keyed boolean, p_grouped boolean)
         RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$",
    ),
    (
        "jobs that come back come with an attempt too many",
        "ALTER FUNCTION tidemark.jobs_wait_again RENAME TO jobs_wait_again_really;
         CREATE FUNCTION tidemark.jobs_wait_again(p_job_ids uuid[], p_attempts integer[], p_delays double precision[], p_suspects boolean[])
         RETURNS void LANGUAGE sql AS $$
            SELECT tidemark.jobs_wait_again_really(p_job_ids, ARRAY(SELECT attempts + 1 FROM unnest(p_attempts) AS attempts), p_delays, p_suspects) $$",
    ),
    (
        "a cancelled job is not taken out of where it waits",
        "CREATE OR REPLACE FUNCTION tidemark.job_withdraw(p_body tidemark.job_body, OUT withdrawn boolean, OUT attempts integer, OUT suspect boolean)
         LANGUAGE sql AS $$ SELECT true, 0, false $$",
    ),
];

#[test]
fn the_model_notices_a_protocol_with_a_part_taken_out() {
    for (what, mutation) in MUTATIONS {
        let mut world = World::mutated(mutation);
        let config = Config { cases: CASES, max_shrink_iters: 0, ..Config::default() };
        let outcome = live(&mut world, config, 1);
        assert!(matches!(outcome, Err(TestError::Fail(..))), "not noticed: {what}");
    }
}
