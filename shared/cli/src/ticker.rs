//! Ticks of every function once a second, on this machine, through the same handlers as in the cloud.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tidemark_handlers::Registry;
use tidemark_queue::{Connection, Function, Invocation, Outcome};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::commands::tick::invoke;
use crate::database::Database;

/// Time between two ticks.
const TICK: Duration = Duration::from_secs(1);
/// How long an invocation stays for work that is on its way.
const LINGER: Duration = Duration::from_millis(900);
/// The deadline of an invocation; the longest that Lambda allows.
const DEADLINE: Duration = Duration::from_secs(900);
/// How long invocations that are under way may go on after the end was asked for. With much to do one would go on to its
/// deadline; what it leaves behind is recovered once its lease is over, as after a crash.
const GRACE: Duration = Duration::from_secs(10);
/// Invocations of one function that may overlap, as reserved concurrency limits them in the cloud.
const CONCURRENCY: usize = 4;

/// The invocations of one function: as many execution environments as overlap, each with its own connection.
struct Environments {
    function: Function,
    registry: Arc<Registry>,
    slots: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

/// Ticks every function until `stop` says so, then waits a little for what is under way.
pub(crate) async fn run(
    database: &Database,
    registry: Registry,
    mut stop: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let registry = Arc::new(registry);
    let mut environments = HashMap::new();
    for function in Function::TICKING {
        let connector = database.worker_connector(function.as_str())?;
        let idle = (0..CONCURRENCY).map(|_slot| Connection::new(Arc::clone(&connector))).collect();
        let slots = Arc::new(Semaphore::new(CONCURRENCY));
        let registry = Arc::clone(&registry);
        environments.insert(function, Arc::new(Environments { function, registry, slots, idle: Mutex::new(idle) }));
    }
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            _instant = interval.tick() => {}
            _stopped = stop.wait_for(|stopped| *stopped) => break,
        }
        while under_way.try_join_next().is_some() {}
        for function in Function::TICKING {
            if let Some(environment) = environments.get(&function) {
                under_way.spawn(Arc::clone(environment).invoke_once());
            }
        }
    }
    if tokio::time::timeout(GRACE, under_way.join_all()).await.is_err() {
        tracing::info!("what was still under way was cut off");
    }
    Ok(())
}

impl Environments {
    /// One invocation, unless too many are under way already: then the tick is lost, as a throttled one is in the cloud.
    async fn invoke_once(self: Arc<Self>) {
        let Ok(_permit) = self.slots.try_acquire() else { return };
        let Some(mut connection) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop() else { return };
        let invocation = Invocation::begin(Some(jiff::Timestamp::now()), Some(DEADLINE), LINGER);
        let summary = invoke(self.function, &mut connection, &invocation, &self.registry).await;
        if summary.outcome != Outcome::Idle {
            tracing::info!(tick.function = %self.function, tick.outcome = summary.outcome.as_str(), "{summary}");
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}
