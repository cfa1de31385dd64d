//! P2: the same while an old snapshot keeps vacuum from removing anything.

use super::arena::Arena;
use super::crew::{Crew, Until};
use super::peers::{PGMQ, RIVER};
use super::rate::{Rates, best, told};
use super::system::{System, TIDEMARK};
use super::{BATCH, CONNECTIONS, ROUNDS};
use crate::bench::{Goal, Scale};
use crate::database::Database;

pub(super) const CONTENDERS: &[System] = &[TIDEMARK, PGMQ, RIVER];
/// Jobs of one claim while the dead rows are made: they are the same whoever makes them.
pub(super) const PREPARING_BATCH: i32 = 1_000;
/// Jobs of one measurement.
const MEASURED: u32 = 20_000;
pub(super) const HOLD: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_catalog.pg_current_snapshot()";

/// Completes many jobs under a snapshot that stays open, and compares what comes before with what comes after.
pub(crate) async fn measure(database: &Database, scale: Scale) -> anyhow::Result<Vec<Goal>> {
    let completions = scale.pick(60_000, 200_000);
    let arena = Arena::new(database);
    for system in CONTENDERS {
        arena.prepare(system, i32::try_from(completions + 4 * MEASURED)?).await?;
    }
    let mut clean: Vec<Rates> = CONTENDERS.iter().map(|system| Rates::of(system.name)).collect();
    let mut held: Vec<Rates> = CONTENDERS.iter().map(|system| Rates::of(system.name)).collect();
    for round in 0..ROUNDS {
        for place in 0..CONTENDERS.len() {
            let turn = (round + place) % CONTENDERS.len();
            arena.copy(&CONTENDERS[turn]).await?;
            let crew = Crew::new(arena, &CONTENDERS[turn], CONNECTIONS).await?;
            crew.work(BATCH, Until::Ended(MEASURED / 10)).await?;
            clean[turn].rates.push(crew.work(BATCH, Until::Ended(MEASURED)).await?);
            let holder = arena.connect().await?;
            holder.batch_execute(HOLD).await?;
            crew.work(PREPARING_BATCH, Until::Ended(completions)).await?;
            held[turn].rates.push(crew.work(BATCH, Until::Ended(MEASURED)).await?);
        }
    }
    let (own, peers) = (held[0].per_second(), best(&held[1..]));
    let what = format!("{MEASURED} jobs in batches of {BATCH} after {completions} completions under a held snapshot");
    let figures = format!("held: {}; clean: {}", told(&held), told(&clean));
    Ok(vec![
        Goal::at_least(
            "P2",
            own / clean[0].per_second(),
            "×",
            0.7,
            format!("{what}, against the own clean rate; {figures}"),
        ),
        Goal::at_least("P2", own / peers, "×", 8.0, format!("{what}, against the best of pgmq and River; {figures}")),
    ])
}
