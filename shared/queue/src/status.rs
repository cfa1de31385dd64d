//! The status document, as the database composes it.

use tokio_postgres::Client;

use crate::Error;
use crate::statements::STATUS;
use crate::step::missing_row;

/// Reads the status document: settings, queue, stale users, leases, the last hour, ticks, jobs.
///
/// # Errors
/// What the server says.
pub async fn read(client: &Client) -> Result<serde_json::Value, Error> {
    let rows = client.query_typed(STATUS, &[]).await?;
    Ok(rows.first().ok_or_else(missing_row)?.try_get(0)?)
}
