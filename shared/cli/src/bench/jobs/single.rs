//! P3: one job at a time under a held snapshot.

use std::time::Duration;

use super::arena::Arena;
use super::crew::{Crew, Until};
use super::held_snapshot::{CONTENDERS, HOLD, PREPARING_BATCH};
use super::rate::{Rates, best, told};
use super::{CONNECTIONS, ROUNDS};
use crate::bench::{Goal, Scale};
use crate::database::Database;

/// Jobs that wait beside those that are completed first: more than the measurement can take.
const WAITING: u32 = 150_000;

/// Completes many jobs under a snapshot that stays open, then one after the other for a fixed time.
pub(crate) async fn measure(database: &Database, scale: Scale) -> anyhow::Result<Vec<Goal>> {
    let completions = scale.pick(60_000, 200_000);
    let limit = Duration::from_secs(scale.pick(2, 5));
    let arena = Arena::new(database);
    for system in CONTENDERS {
        arena.prepare(system, i32::try_from(completions + WAITING)?).await?;
    }
    let mut rates: Vec<Rates> = CONTENDERS.iter().map(|system| Rates::of(system.name)).collect();
    for round in 0..ROUNDS {
        for place in 0..CONTENDERS.len() {
            let turn = (round + place) % CONTENDERS.len();
            arena.copy(&CONTENDERS[turn]).await?;
            let holder = arena.connect().await?;
            holder.batch_execute(HOLD).await?;
            let crew = Crew::new(arena, &CONTENDERS[turn], CONNECTIONS).await?;
            crew.work(PREPARING_BATCH, Until::Ended(completions)).await?;
            rates[turn].rates.push(crew.work(1, Until::Passed(limit)).await?);
        }
    }
    let detail = format!(
        "one job at a time on {CONNECTIONS} connections after {completions} completions under a held snapshot, against the best of \
         pgmq and River: {}",
        told(&rates)
    );
    Ok(vec![Goal::at_least("P3", rates[0].per_second() / best(&rates[1..]), "×", 20.0, detail)])
}
