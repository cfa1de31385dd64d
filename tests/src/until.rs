//! Waiting for what another session does, by looking.

use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

/// Nothing that a test waits for takes this long unless it hangs.
const LIMIT: Duration = Duration::from_secs(20);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until `query`, which answers with one boolean, says true.
///
/// # Panics
/// When it has not within twenty seconds, or cannot be asked.
pub async fn until(client: &Client, query: &str, parameters: &[&(dyn ToSql + Sync)]) {
    let began = Instant::now();
    loop {
        let row = client.query_one(query, parameters).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
        if row.get(0) {
            return;
        }
        assert!(began.elapsed() < LIMIT, "not true within {LIMIT:?}: {query}");
        tokio::time::sleep(PAUSE).await;
    }
}
