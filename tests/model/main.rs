//! A random interleaving of everything that can happen to the pipeline, step by step, against the real SQL.
//!
//! Three people save, edit and delete; three workers claim, compute and publish in single steps, die anywhere, and come back
//! with leases that are long over; an operator pauses, resumes and puts back. Before each step the rows are read, an oracle
//! says from them what the step must answer and which runs it must move, and afterwards exactly that must have happened, and
//! every invariant must hold. In the end everybody must become fresh, with the figures of a computation from plain SQL.
//!
//! - `operation.rs`: what can happen, and how often.
//! - `snapshot.rs`: the rows before and after a step.
//! - `oracle.rs`: what a step must do, from the rows before it.
//! - `worker.rs`: one worker's session and how far it is.
//! - `world.rs`: the sessions, and the steps of the pipeline.
//! - `operator.rs`, `source.rs`: the steps of the operator and of the people.
//! - `history.rs`: what must never be undone.
//!
//! `TIDEMARK_MODEL_CASES` is the number of cases, `TIDEMARK_MODEL_SEED` repeats a run. A case that failed is kept in
//! `model/regressions.txt` and tried first from then on.
#![allow(clippy::unwrap_used)]

mod history;
mod operation;
mod operator;
mod oracle;
mod snapshot;
mod source;
mod worker;
mod world;

use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner,
};
use uuid::Uuid;

use crate::operation::operation;
use crate::world::World;

/// Cases where nothing else is asked for.
const CASES: u32 = 300;
/// Steps of a case.
const STEPS: std::ops::Range<usize> = 20..60;
/// Milliseconds spent on making a failing case smaller.
const SHRINKING_MS_MAX: u32 = 60_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} must be a number")))
}

fn runner(seed: u64) -> TestRunner {
    let regressions = concat!(env!("CARGO_MANIFEST_DIR"), "/model/regressions.txt");
    let config = Config {
        cases: number("TIDEMARK_MODEL_CASES").map_or(CASES, |cases| u32::try_from(cases).unwrap()),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        source_file: Some(file!()),
        max_shrink_time: SHRINKING_MS_MAX,
        ..Config::default()
    };
    let mut bytes = [0_u8; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

#[test]
fn no_interleaving_of_saves_workers_faults_and_remedies_breaks_a_promise() {
    let seed = number("TIDEMARK_MODEL_SEED").unwrap_or_else(|| Uuid::new_v4().as_u64_pair().0);
    println!("TIDEMARK_MODEL_SEED={seed}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut world = runtime.block_on(World::new());
    let began = Instant::now();
    let mut steps = 0_usize;
    let tried = std::cell::RefCell::new((&mut world, &mut steps));
    let outcome = runner(seed).run(&vec(operation(), STEPS), |operations| {
        let mut tried = tried.borrow_mut();
        *tried.1 += operations.len();
        runtime.block_on(tried.0.live_through(&operations)).map_err(TestCaseError::fail)
    });
    drop(tried);
    let elapsed: Duration = began.elapsed();
    println!("{steps} steps in {elapsed:?}: {}", world.counts());
    match outcome {
        Ok(()) => world.must_have_done_everything(),
        Err(TestError::Fail(reason, operations)) => {
            panic!("{reason}\nsmallest case found: {operations:#?}\nrepeat with TIDEMARK_MODEL_SEED={seed}")
        }
        Err(other) => panic!("{other}\nrepeat with TIDEMARK_MODEL_SEED={seed}"),
    }
}
