//! Reading the document over a connection that may have died while the environment rested.

use std::time::Duration;

use serde_json::Value;
use tidemark_queue::{Connection, Error};
use tokio_postgres::Client;

use crate::statements::{DASHBOARD, SCHEMA_IS_KNOWN};

/// How long a read may last. The document takes tens of milliseconds: more is a server in trouble or a silent peer.
const READ_LIMIT: Duration = Duration::from_secs(5);

/// How long a connection that was opened earlier is trusted. After a thaw a dead socket looks alive until it is used.
const REUSED_LIMIT: Duration = Duration::from_secs(2);

/// Reads the status document. A connection that breaks although it had been open is replaced once.
///
/// # Errors
/// What the connection or the server says.
pub async fn read(connection: &mut Connection) -> Result<Value, Error> {
    retried(connection, async |client: &mut Client| tidemark_queue::status::read(client).await).await
}

/// Reads the status document, and what the page shows beside it, in one round trip.
///
/// # Errors
/// What the connection or the server says.
pub(crate) async fn dashboard(connection: &mut Connection) -> Result<(Value, Value), Error> {
    let read = async |client: &mut Client| {
        let rows = client.query_typed(DASHBOARD, &[]).await?;
        let row = rows.first().ok_or_else(|| Error::Invalid("the server answered without a row".to_owned()))?;
        Ok((row.try_get(0)?, row.try_get(1)?))
    };
    retried(connection, read).await
}

/// Whether the schema has what this build calls.
///
/// # Errors
/// What the connection or the server says.
pub(crate) async fn schema_is_known(connection: &mut Connection) -> Result<bool, Error> {
    let ask = async |client: &mut Client| {
        let rows = client.query_typed(SCHEMA_IS_KNOWN, &[]).await?;
        Ok(rows.first().is_some_and(|row| row.try_get(0).unwrap_or(false)))
    };
    retried(connection, ask).await
}

/// Reads over `connection`; one that breaks although it had been open is replaced once.
async fn retried<T>(
    connection: &mut Connection,
    read: impl AsyncFn(&mut Client) -> Result<T, Error>,
) -> Result<T, Error> {
    let reused = connection.is_open();
    let limit = if reused { REUSED_LIMIT } else { READ_LIMIT };
    match connection.run(limit, &read).await {
        Err(error) if reused && error.breaks_connection() => connection.run(READ_LIMIT, &read).await,
        outcome => outcome,
    }
}
