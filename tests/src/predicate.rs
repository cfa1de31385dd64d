//! Waiting for a state of affairs instead of for a time.

use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::Pipeline;

/// Nothing that a test waits for takes this long.
const DEADLINE: Duration = Duration::from_secs(10);
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Looks until `holds` answers yes.
///
/// # Panics
/// When it has not within ten seconds.
pub async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < DEADLINE, "waited in vain until {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Looks until `query`, which answers with one boolean, says true.
///
/// # Panics
/// When it has not within ten seconds, or cannot be asked.
pub async fn until_true(client: &Client, query: &str, parameters: &[&(dyn ToSql + Sync)]) {
    until(query, async || {
        let row = client.query_one(query, parameters).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
        row.get(0)
    })
    .await;
}

impl Pipeline {
    /// Waits until `sessions` sessions whose statement contains `text` wait for a lock.
    ///
    /// # Panics
    /// When they do not within ten seconds.
    pub async fn until_blocked(&self, text: &str, sessions: i64) {
        let query = "SELECT count(*) FROM pg_catalog.pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'
                AND position($1 IN query) > 0";
        until(&format!("{sessions} sessions wait in {text}"), async || {
            self.one(query, &[&text]).await.get::<_, i64>(0) >= sessions
        })
        .await;
    }
}
