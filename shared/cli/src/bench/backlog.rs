//! P10: a backlog of stale users, worked off by overlapping invocations.

use std::time::Duration;

use tidemark_handlers::Registry;
use tidemark_queue::{Function, Invocation};
use tokio::task::JoinSet;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::{Goal, Scale};
use crate::commands::tick::invoke;
use crate::database::Database;

const SEED: &str = include_str!("../sql/bench_backlog.sql");
const STALE: &str =
    "SELECT count(*) FROM public.user_stats_projection_state WHERE requested_generation > applied_generation";
const DURATION: &str =
    "SELECT extract(epoch FROM max(published_at) - min(claimed_at))::float8 FROM public.user_stats_projection_runs";
/// Overlapping invocations of compute and of publish.
const OVERLAP: usize = 4;

/// Makes the users stale, then runs claim, compute and publish until nobody is.
pub(crate) async fn measure(database: &Database, scale: Scale) -> anyhow::Result<Vec<Goal>> {
    let users = scale.pick(2_000, 10_000);
    let admin = database.admin().await?;
    seed(&admin, users).await?;
    let mut invocations = JoinSet::new();
    for (function, number) in [(Function::Claim, 1), (Function::Compute, OVERLAP), (Function::Publish, OVERLAP)] {
        for _invocation in 0..number {
            let mut connection = database.worker(function.as_str())?;
            invocations.spawn(async move {
                // As ticks would: an invocation after the other, each while there is work.
                loop {
                    let invocation =
                        Invocation::begin(None, Some(Duration::from_secs(900)), Duration::from_millis(900));
                    let summary = invoke(function, &mut connection, &invocation, &Registry::new()).await;
                    if summary.succeeded == 0 && summary.recovered == 0 {
                        return;
                    }
                }
            });
        }
    }
    while invocations.join_next().await.is_some() {}
    // From the first claim to the last publish: what the last invocations linger for is not work.
    let seconds: f64 = admin.query_one(DURATION, &[]).await?.get(0);
    let left: i64 = admin.query_one(STALE, &[]).await?.get(0);
    anyhow::ensure!(left == 0, "{left} users are still stale");
    let rate = f64::from(users) / seconds;
    let detail =
        format!("{users} stale users of 20 sets, max_active 64, {OVERLAP} computes and publishes, server beside them");
    Ok(vec![Goal::at_least("P10", rate, "users/s", 500.0, detail)])
}

async fn seed(admin: &Client, users: i32) -> anyhow::Result<()> {
    admin.batch_execute("UPDATE public.stats_projection_worker_settings SET max_active = 64").await?;
    for statement in SEED.split(";\n").filter(|statement| !statement.trim().is_empty()) {
        admin.query_typed(statement, &[(&users, Type::INT4)]).await?;
    }
    admin.batch_execute("ANALYZE; CHECKPOINT").await?;
    Ok(())
}
