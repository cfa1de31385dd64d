//! What is published of one user, compared with what should be.

use serde_json::json;
use tidemark_stats::Projections;
use tokio_postgres::Client;
use tokio_postgres::types::Json;
use uuid::Uuid;

/// Rows of the published tables and of the document, both as JSON without user and generation; one line for each row that is
/// only on one side. Numbers are compared as numbers: 100.50 is 100.5.
const DIFFERENCES: &str = include_str!("published_differences.sql");

/// One line for each row that is published and should not be, or should be and is not. Empty where all are equal.
///
/// # Panics
/// When the tables cannot be read.
pub async fn differences(client: &Client, user: Uuid, expected: &Projections) -> Vec<String> {
    let document = Json(json!(expected));
    let rows = client.query(DIFFERENCES, &[&user, &document]).await.expect("what is published can be read");
    rows.iter().map(|row| row.get(0)).collect()
}
