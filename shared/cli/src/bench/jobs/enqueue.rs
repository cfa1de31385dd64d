//! P4: enqueueing, one by one and a thousand at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_postgres::{Client, Statement};

use super::ROUNDS;
use super::arena::Arena;
use super::crew::borrowed;
use super::peers::{ENQUEUE, ENQUEUE_MANY, TEXTBOOK};
use super::rate::{Rate, Rates, told};
use super::system::{Parameters, System, TIDEMARK};
use crate::bench::{Goal, Scale};
use crate::database::Database;

const OWN_ENQUEUE: &str = include_str!("../../sql/bench_jobs_enqueue.sql");
const OWN_ENQUEUE_MANY: &str = include_str!("../../sql/bench_jobs_enqueue_many.sql");
/// Connections that enqueue one by one.
const PRODUCERS: usize = 16;
/// Connections that enqueue many at once.
const BULK_PRODUCERS: usize = 4;
/// Jobs of one bulk statement.
const BULK: u32 = 1_000;
const TYPE: i32 = 7;

/// How jobs come.
#[derive(Debug, Clone, Copy)]
struct Load {
    what: &'static str,
    producers: usize,
    /// Jobs of one statement.
    step: u32,
    jobs: u32,
    /// Whether each job has a key of its own.
    keyed: bool,
}

/// Both ways, with and without keys, in turns.
pub(crate) async fn measure(database: &Database, scale: Scale) -> anyhow::Result<Vec<Goal>> {
    let (single, bulk) = (scale.pick(16_000, 60_000), scale.pick(40_000, 200_000));
    let arena = Arena::new(database);
    for system in [TIDEMARK, TEXTBOOK] {
        arena.prepare(&system, 0).await?;
    }
    let loads = [
        Load { what: "one by one", producers: PRODUCERS, step: 1, jobs: single, keyed: false },
        Load { what: "one by one, with keys", producers: PRODUCERS, step: 1, jobs: single, keyed: true },
        Load { what: "1000 at once", producers: BULK_PRODUCERS, step: BULK, jobs: bulk, keyed: false },
        Load { what: "1000 at once, with keys", producers: BULK_PRODUCERS, step: BULK, jobs: bulk, keyed: true },
    ];
    let mut goals = Vec::new();
    for load in loads {
        let mut rates = [Rates::of(TIDEMARK.name), Rates::of(TEXTBOOK.name)];
        for round in 0..ROUNDS {
            for place in 0..2 {
                let turn = (round + place) % 2;
                rates[turn].rates.push(produce(arena, &[TIDEMARK, TEXTBOOK][turn], load).await?);
            }
        }
        let ratio = rates[0].per_second() / rates[1].per_second();
        let detail =
            format!("enqueue {} on {} connections, against the textbook: {}", load.what, load.producers, told(&rates));
        goals.push(Goal::at_least("P4", ratio, "×", 1.0, detail));
    }
    Ok(goals)
}

/// Enqueues the load into an empty copy, all producers at once.
async fn produce(arena: Arena<'_>, system: &System, load: Load) -> anyhow::Result<Rate> {
    arena.copy(system).await?;
    let own = system.name == TIDEMARK.name;
    let text = match (own, load.step == 1) {
        (true, true) => OWN_ENQUEUE,
        (true, false) => OWN_ENQUEUE_MANY,
        (false, true) => ENQUEUE,
        (false, false) => ENQUEUE_MANY,
    };
    let mut producers: Vec<(Client, Statement)> = Vec::new();
    for _producer in 0..load.producers {
        let client = arena.connect().await?;
        let statement = client.prepare(text).await?;
        producers.push((client, statement));
    }
    let wal_before = arena.wal_bytes().await?;
    let next = Arc::new(AtomicU32::new(0));
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for (client, statement) in producers {
        let next = Arc::clone(&next);
        tasks.spawn(async move {
            loop {
                let first = next.fetch_add(load.step, Ordering::Relaxed);
                if first >= load.jobs {
                    return anyhow::Ok(());
                }
                let parameters = if load.step == 1 { one(first, load.keyed) } else { many(first, load, own) };
                let enqueued = client.query(&statement, &borrowed(&parameters)).await?;
                anyhow::ensure!(enqueued.len() == usize::try_from(load.step)?, "a job was not enqueued");
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    let elapsed = began.elapsed();
    Ok(Rate { jobs: load.jobs, elapsed, wal_bytes: arena.wal_bytes().await? - wal_before })
}

fn payload(number: u32) -> Value {
    json!({"user": number, "what": "recompute the yearly summary"})
}

fn key(number: u32, keyed: bool) -> Option<String> {
    keyed.then(|| format!("summary of user {number}"))
}

fn one(number: u32, keyed: bool) -> Parameters {
    vec![Box::new(TYPE), Box::new(payload(number)), Box::new(key(number, keyed))]
}

/// The arrays of one bulk statement. Ours has one more: the groups.
fn many(first: u32, load: Load, own: bool) -> Parameters {
    let numbers = first..first + load.step;
    let number = numbers.len();
    let mut parameters: Parameters = vec![
        Box::new(vec![TYPE; number]),
        Box::new(numbers.clone().map(payload).collect::<Vec<_>>()),
        Box::new(numbers.map(|number| key(number, load.keyed)).collect::<Vec<_>>()),
        Box::new(vec![100_i32; number]),
        Box::new(vec![0.0_f64; number]),
        Box::new(vec![3_i32; number]),
    ];
    if own {
        parameters.push(Box::new(vec![None::<String>; number]));
    }
    parameters
}
