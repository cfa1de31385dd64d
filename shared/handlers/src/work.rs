//! The work function: one invocation of the general queue.
//!
//! An invocation begins with one round trip that notes the tick, takes expired leases back and says whether there
//! is anything to do; with nothing it ends there. Otherwise it fires the schedules that are due and works a *shift*: it claims
//! jobs, runs up to [`CONCURRENCY`] handlers side by side and records in one round trip how some ended and which begin next.
//!
//! A shift that lasts ticks again every few seconds by itself: under a load that never ends, leases are taken back, schedules fire,
//! alerts go out and a pause is noticed all the same, however few invocations may overlap.
//!
//! | connection | for | opened |
//! |---|---|---|
//! | the invocation's own | the tick, claims, ends | at the start |
//! | the heartbeat's | renewing leases, so that nothing slow holds it up | when a handler outlives a third of its lease |
//! | the handlers' | their statements and their progress | when a handler needs it |
//!
//! What is claimed and has not begun is given back, with no attempt charged, when it has waited for longer than a tick, when
//! the time of the invocation is nearly over, and when a lease could not be renewed. Whoever loses a lease writes nothing for
//! it any more, and the invocation claims nothing more.

mod begin;
mod crew;
mod heartbeat;
mod held;
mod limits;
mod record;
mod shift;
mod waiting;

use jiff::Timestamp;
use tidemark_queue::tick::end;
use tidemark_queue::{Connection, Error, Function, Invocation, Outcome, Summary, schedule};

use crate::Registry;
use begin::{Begun, begin};
pub use crew::CONCURRENCY;
use shift::Shift;

/// Runs one invocation. With nothing to do it returns after one round trip.
pub async fn handle(connection: &mut Connection, invocation: &Invocation, registry: &Registry) -> Summary {
    let mut summary = Summary::new(Function::Work.as_str());
    if let Err(error) = work(connection, invocation, registry, &mut summary).await {
        summary.note_error(&error);
    }
    end(connection, Function::Work, invocation, &mut summary).await;
    summary
}

async fn work(
    connection: &mut Connection,
    invocation: &Invocation,
    registry: &Registry,
    summary: &mut Summary,
) -> Result<(), Error> {
    let begun = tick(connection, invocation, invocation.planned_at, summary).await?;
    if begun.has_jobs {
        Shift::new(connection, invocation, registry, begun.limits, summary).run().await?;
    }
    Ok(())
}

/// Begins a tick, takes what it found into the summary, and fires the schedules that are due.
async fn tick(
    connection: &mut Connection,
    invocation: &Invocation,
    planned_at: Option<Timestamp>,
    summary: &mut Summary,
) -> Result<Begun, Error> {
    let mut begun = begin(connection, invocation, planned_at).await?;
    if begun.reaped > 0 {
        tracing::warn!(jobs.reaped = begun.reaped, jobs.dead = begun.died, "workers were gone before their jobs ended");
        summary.recovered += begun.reaped;
        summary.outcome = Outcome::Worked;
    }
    if let Some(outcome) = begun.without_work {
        summary.end_without_work(outcome);
    }
    if begun.schedules_due {
        let fired = schedule::run(connection, invocation).await?;
        if !fired.is_idle() {
            summary.outcome = Outcome::Worked;
        }
        begun.has_jobs |= fired.fired > 0;
    }
    Ok(begun)
}
