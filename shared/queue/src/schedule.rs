//! Recurring jobs: plans the schedules of `public.schedules` and fires those that are due.
//!
//! The table is the operator's, the decisions are the database's (`migrations/sql/0017_schedules.sql`), and only when an
//! expression comes true in its zone is computed here, by [`Timetable`]. Each planned instant enqueues one job, however many
//! ticks see it due. After an outage one job is enqueued for all instants that a schedule has missed, with the first of them
//! as its planned instant. `docs/SCHEDULES.md` tells it from the operator's side.

mod expression;
mod timetable;

use jiff::Timestamp;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

pub use expression::{Field, Unusable};
pub use timetable::Timetable;

use crate::lease::SHORT_CALL_LIMIT;
use crate::statements::{SCHEDULE_FIRE, SCHEDULE_PLAN, SCHEDULE_REFUSE, SCHEDULES_DUE};
use crate::step::{Statement, missing_row};
use crate::{Connection, Error, Invocation};

/// How many schedules `tidemark.schedules_due_v1` lists at most.
const LISTED_MAX: usize = 100;

/// What became of the schedules that were due or to be planned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fired {
    /// Jobs that were enqueued.
    pub fired: u64,
    /// Schedules that learnt when they fire next: new and changed ones, and those whose instant had fired before.
    pub planned: u64,
    /// Schedules whose expression or zone is of no use; the reason stands in their row.
    pub refused: u64,
    /// Schedules that another tick, or an operator, was faster with.
    pub lost: u64,
    /// Schedules that the database would not fire; they stay due.
    pub failed: u64,
}

impl Fired {
    /// Whether nothing was due, nor to be planned.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }

    fn moved(&self) -> u64 {
        self.fired + self.planned + self.refused
    }
}

/// A schedule as the database listed it.
struct Due {
    name: String,
    cron_expression: String,
    time_zone: String,
    /// `None`: to be planned.
    planned_at: Option<Timestamp>,
    /// The database's clock.
    looked_at: Timestamp,
}

/// What a schedule needs.
enum Step {
    Plan { next: Timestamp },
    Fire { planned_at: Timestamp, next: Timestamp },
    Refuse { reason: String },
}

impl Due {
    /// The next instant follows the clock and not the missed one, which is why an outage is made up for once.
    fn step(&self) -> Step {
        let after = self.planned_at.map_or(self.looked_at, |planned_at| planned_at.max(self.looked_at));
        let next =
            Timetable::new(&self.cron_expression, &self.time_zone).and_then(|timetable| timetable.next_after(after));
        match (next, self.planned_at) {
            (Ok(next), Some(planned_at)) => Step::Fire { planned_at, next },
            (Ok(next), None) => Step::Plan { next },
            (Err(unusable), _) => Step::Refuse { reason: unusable.to_string() },
        }
    }
}

/// Plans what is to be planned and fires what is due, each in a transaction of its own. Costs one round trip where there is
/// nothing, and one more for each schedule. Ends early where the invocation has no time left; the next tick goes on.
///
/// # Errors
/// When the database is busy or cannot be reached. What has been fired until then stands, and nothing is fired twice.
pub async fn run(connection: &mut Connection, invocation: &Invocation) -> Result<Fired, Error> {
    let mut fired = Fired::default();
    loop {
        let due = due(connection).await?;
        let moved_before = fired.moved();
        for schedule in &due {
            if !invocation.fits(SHORT_CALL_LIMIT) {
                return Ok(fired);
            }
            advance(connection, schedule, &mut fired).await?;
        }
        if due.len() < LISTED_MAX || fired.moved() == moved_before {
            return Ok(fired);
        }
    }
}

async fn due(connection: &mut Connection) -> Result<Vec<Due>, Error> {
    connection
        .run(SHORT_CALL_LIMIT, async |client: &mut Client| {
            let rows = client.query_typed(SCHEDULES_DUE, &[]).await?;
            let read = |row: &tokio_postgres::Row| -> Result<Due, tokio_postgres::Error> {
                Ok(Due {
                    name: row.try_get(0)?,
                    cron_expression: row.try_get(1)?,
                    time_zone: row.try_get(2)?,
                    planned_at: row.try_get(3)?,
                    looked_at: row.try_get(4)?,
                })
            };
            Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
        })
        .await
}

/// Takes one schedule a step further and counts what came of it. One that the database refuses does not stop the others.
async fn advance(connection: &mut Connection, schedule: &Due, fired: &mut Fired) -> Result<(), Error> {
    let step = schedule.step();
    if let Step::Refuse { reason } = &step {
        tracing::warn!(schedule.name = schedule.name, "the schedule is of no use: {reason}");
    }
    match decide(connection, schedule, &step).await {
        Ok(answer) => match answer.as_str() {
            "fired" => fired.fired += 1,
            "planned" | "repeated" => fired.planned += 1,
            "refused" => fired.refused += 1,
            _ => fired.lost += 1,
        },
        Err(error @ Error::Database { .. }) if !error.breaks_connection() && error.code() != "57014" => {
            tracing::error!(
                schedule.name = schedule.name,
                error.code = error.code(),
                "the schedule was not fired: {error}"
            );
            fired.failed += 1;
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Lets the database decide about one step; its answer in a word.
async fn decide(connection: &mut Connection, schedule: &Due, step: &Step) -> Result<String, Error> {
    let Due { name, cron_expression, time_zone, .. } = schedule;
    let mut parameters: Vec<(&(dyn tokio_postgres::types::ToSql + Sync), Type)> =
        vec![(name, Type::TEXT), (cron_expression, Type::TEXT), (time_zone, Type::TEXT)];
    let text = match step {
        Step::Plan { next } => {
            parameters.push((next, Type::TIMESTAMPTZ));
            SCHEDULE_PLAN
        }
        Step::Fire { planned_at, next } => {
            parameters.extend([(planned_at as _, Type::TIMESTAMPTZ), (next as _, Type::TIMESTAMPTZ)]);
            SCHEDULE_FIRE
        }
        Step::Refuse { reason } => {
            parameters.push((reason, Type::TEXT));
            SCHEDULE_REFUSE
        }
    };
    let statement = Statement { text, parameters: &parameters };
    connection
        .run(SHORT_CALL_LIMIT, async |client: &mut Client| {
            let rows = client.query_typed(statement.text, statement.parameters).await?;
            Ok(rows.first().ok_or_else(missing_row)?.try_get(0)?)
        })
        .await
}
