//! A random interleaving of everything that can happen to the pipeline, step by step, against the real SQL.
//!
//! Four people save, edit and delete; three workers claim, compute and publish in single steps, die anywhere, and come back
//! with leases that are long over; an operator pauses, resumes and puts back. Before each step the rows are read, an oracle
//! says from them what the step must answer and which runs it must move, and afterwards exactly that must have happened, and
//! every invariant must hold. In the end everybody must become fresh, with the figures of a computation from plain SQL.
//!
//! - `operation.rs`: what can happen, and how often.
//! - `snapshot.rs`: the rows before and after a step.
//! - `oracle.rs`: what a step must do, from the rows before it.
//! - `worker.rs`: one worker's session and how far it is.
//! - `world.rs`: the sessions, and what is checked after each step.
//! - `steps.rs`, `calls.rs`: the steps of the pipeline, and single calls with a lease.
//! - `faults.rs`: sessions that end, leases that pass, calls of zombies.
//! - `operator.rs`, `source.rs`: the steps of the operator and of the people.
//! - `quiescence.rs`: the end, when everybody must become fresh.
//! - `history.rs`: what must never be undone.
//! - `jobs.rs`: the same for the general queue, with steps and an oracle of its own.
//! - `mutations.rs`: the same model against a protocol with a part taken out; it must notice.
//!
//! `TIDEMARK_MODEL_CASES` is the number of cases, `TIDEMARK_MODEL_SEED` repeats a run. A case that failed is kept in
//! `model/regressions.txt` and tried first from then on.
#![allow(clippy::unwrap_used)]

mod calls;
mod faults;
mod history;
mod jobs;
mod mutations;
mod operation;
mod operator;
mod oracle;
mod quiescence;
mod snapshot;
mod source;
mod steps;
mod worker;
mod world;

use std::cell::RefCell;
use std::time::Instant;

use proptest::collection::vec;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner,
};
use tokio::runtime::Runtime;
use uuid::Uuid;

use crate::operation::{Operation, operation};
use crate::world::World;

/// Cases where nothing else is asked for.
const CASES: u32 = 300;
/// Weight of calls out of turn among all steps.
const CALLS: u32 = 10;
/// Steps of a case.
const STEPS: std::ops::Range<usize> = 20..60;
/// Milliseconds spent on making a failing case smaller.
const SHRINKING_MS_MAX: u32 = 60_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} must be a number")))
}

fn seed() -> u64 {
    number("TIDEMARK_MODEL_SEED").unwrap_or_else(|| Uuid::new_v4().as_u64_pair().0)
}

fn random(seed: u64) -> TestRng {
    let mut bytes = [0_u8; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

/// Lives through the cases; the smallest failing one where there is any.
fn live(
    runtime: &Runtime,
    world: &mut World,
    config: Config,
    seed: u64,
    calls: u32,
) -> Result<(), TestError<Vec<Operation>>> {
    let world = RefCell::new(world);
    TestRunner::new_with_rng(config, random(seed)).run(&vec(operation(calls), STEPS), |operations| {
        runtime.block_on(world.borrow_mut().live_through(&operations)).map_err(TestCaseError::fail)
    })
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn no_interleaving_of_saves_workers_faults_and_remedies_breaks_a_promise() {
    let seed = seed();
    println!("TIDEMARK_MODEL_SEED={seed}");
    let regressions = concat!(env!("CARGO_MANIFEST_DIR"), "/model/regressions.txt");
    let config = Config {
        cases: number("TIDEMARK_MODEL_CASES").map_or(CASES, |cases| u32::try_from(cases).unwrap()),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        max_shrink_time: SHRINKING_MS_MAX,
        ..Config::default()
    };
    let (runtime, began, cases) = (runtime(), Instant::now(), config.cases);
    let mut world = runtime.block_on(World::new());
    let outcome = live(&runtime, &mut world, config, seed, CALLS);
    println!("{cases} cases in {:?}: {}", began.elapsed(), world.counts());
    match outcome {
        Ok(()) if cases >= CASES => world.must_have_done_everything(),
        Ok(()) => {}
        Err(TestError::Fail(reason, operations)) => {
            panic!("{reason}\nsmallest case found: {operations:#?}\nrepeat with TIDEMARK_MODEL_SEED={seed}")
        }
        Err(other) => panic!("{other}\nrepeat with TIDEMARK_MODEL_SEED={seed}"),
    }
}
