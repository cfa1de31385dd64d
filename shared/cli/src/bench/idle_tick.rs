//! P5: what a tick costs when there is nothing to do.

use std::time::{Duration, Instant};

use tidemark_handlers::Registry;
use tidemark_queue::{Function, Invocation};

use super::{Goal, Scale, quantile_ms};
use crate::commands::tick::invoke;
use crate::database::Database;

/// Idle invocations of each function, one after the other.
pub(crate) async fn measure(database: &Database, scale: Scale) -> anyhow::Result<Vec<Goal>> {
    let mut goals = Vec::new();
    for function in Function::ALL {
        let mut connection = database.worker(function.as_str())?;
        let mut durations = Vec::new();
        for _invocation in 0..scale.pick(200, 2_000) {
            let invocation = Invocation::begin(None, Some(Duration::from_secs(60)), Duration::from_millis(900));
            let began = Instant::now();
            invoke(function, &mut connection, &invocation, &Registry::new()).await;
            durations.push(began.elapsed());
        }
        let p99 = quantile_ms(&mut durations, 0.99);
        let detail = format!("idle {function}: p99; median {:.2} ms; one round trip", quantile_ms(&mut durations, 0.5));
        goals.push(Goal::at_most("P5", p99, "ms", 2.0, detail));
    }
    Ok(goals)
}
