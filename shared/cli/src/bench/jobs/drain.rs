//! P1: draining a deep queue in batches.

use std::time::Duration;

use super::arena::Arena;
use super::crew::{Crew, Until};
use super::peers::{PGMQ, RIVER, TEXTBOOK};
use super::rate::{Rates, best, told};
use super::system::{System, TIDEMARK};
use super::{BATCH, CONNECTIONS, ROUNDS};
use crate::bench::{Goal, Scale};
use crate::database::Database;

/// Connections of the unit: the textbook queue, one job at a time.
const UNIT_CONNECTIONS: usize = 16;
const CONTENDERS: &[System] = &[TIDEMARK, TEXTBOOK, PGMQ, RIVER];

/// Drains the first part of the queue, each contender in turn, three rounds.
pub(crate) async fn measure(database: &Database, scale: Scale) -> anyhow::Result<Vec<Goal>> {
    let (pending, drained) = (scale.pick(100_000, 1_000_000), scale.pick(60_000, 200_000));
    let arena = Arena::new(database);
    for system in CONTENDERS {
        arena.prepare(system, pending).await?;
    }
    let mut rates: Vec<Rates> = CONTENDERS.iter().map(|system| Rates::of(system.name)).collect();
    let mut unit = Rates::of("textbook one by one");
    for round in 0..ROUNDS {
        for place in 0..CONTENDERS.len() {
            // Each round begins with another contender.
            let turn = (round + place) % CONTENDERS.len();
            let system = &CONTENDERS[turn];
            arena.copy(system).await?;
            let crew = Crew::new(arena, system, CONNECTIONS).await?;
            rates[turn].rates.push(crew.work(BATCH, Until::Ended(drained)).await?);
            if system.name == TEXTBOOK.name {
                let crew = Crew::new(arena, system, UNIT_CONNECTIONS).await?;
                unit.rates.push(crew.work(1, Until::Passed(Duration::from_secs(scale.pick(1, 3)))).await?);
            }
        }
    }
    let ratio = rates[0].per_second() / best(&rates[1..]);
    let detail = format!(
        "drain of {drained} of {pending} pending jobs, {CONNECTIONS} connections, batches of {BATCH}, against the best peer: {}; {}",
        told(&rates),
        unit.told(),
    );
    Ok(vec![Goal::at_least("P1", ratio, "×", 1.3, detail)])
}
