//! What a query costs, in pages: unlike its time that does not depend on the machine.

use serde_json::Value;
use tokio_postgres::Client;
use tokio_postgres::types::Json;

/// How many pages a query touches, as the server counts them. What it does stays.
///
/// # Panics
/// When the query fails.
pub async fn pages_touched(client: &Client, query: &str) -> i64 {
    let explain = format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {query}");
    let Json(plan): Json<Value> = client.query_one(&explain, &[]).await.expect("the query can be explained").get(0);
    let count = |name: &str| plan[0]["Plan"][name].as_i64().expect("the server counts pages");
    count("Shared Hit Blocks") + count("Shared Read Blocks")
}

/// The same of a query that is rolled back, in a session that has read the catalogue and made its plans.
///
/// # Panics
/// When the query fails.
pub async fn least_pages_touched(client: &Client, query: &str) -> i64 {
    let mut least = i64::MAX;
    // The first passes of a session read the catalogue and plan as well.
    for _ in 0..5 {
        client.batch_execute("BEGIN").await.expect("no transaction is open");
        least = least.min(pages_touched(client, query).await);
        client.batch_execute("ROLLBACK").await.expect("the transaction is open");
    }
    least
}
