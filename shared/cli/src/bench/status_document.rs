//! P11: the status document over a million pending jobs and a million finished runs.

use std::time::Instant;

use tokio_postgres::types::Type;

use super::{Goal, Scale, quantile_ms};
use crate::database::Database;

const SEED: &str = include_str!("../sql/bench_status.sql");

/// Fills the tables, then reads the document.
pub(crate) async fn measure(database: &Database, scale: Scale) -> anyhow::Result<Vec<Goal>> {
    let rows = scale.pick(100_000, 1_000_000);
    let admin = database.admin().await?;
    for statement in SEED.split(";\n").filter(|statement| !statement.trim().is_empty()) {
        admin.query_typed(statement, &[(&rows, Type::INT4)]).await?;
    }
    admin.batch_execute("VACUUM ANALYZE").await?;
    let mut durations = Vec::new();
    for _reading in 0..50 {
        let began = Instant::now();
        tidemark_queue::status::read(&admin).await?;
        durations.push(began.elapsed());
    }
    let detail =
        format!("status document, {rows} pending jobs and {rows} finished runs, a tenth of them in the last hour: p99");
    Ok(vec![Goal::at_most("P11", quantile_ms(&mut durations, 0.99), "ms", 30.0, detail)])
}
