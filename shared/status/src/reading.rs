//! Reading the document over a connection that may have died while the environment rested.

use std::time::Duration;

use serde_json::Value;
use tidemark_queue::{Connection, Error};
use tokio_postgres::Client;

use crate::statements::SCHEMA_IS_KNOWN;

/// How long a read may last. The document takes tens of milliseconds: more is a server in trouble or a silent peer.
const READ_LIMIT: Duration = Duration::from_secs(5);

/// How long a connection that was opened earlier is trusted. After a thaw a dead socket looks alive until it is used.
const REUSED_LIMIT: Duration = Duration::from_secs(2);

/// Reads the status document. A connection that breaks although it had been open is replaced once.
///
/// # Errors
/// What the connection or the server says.
pub async fn read(connection: &mut Connection) -> Result<Value, Error> {
    let reused = connection.is_open();
    let limit = if reused { REUSED_LIMIT } else { READ_LIMIT };
    match read_once(connection, limit).await {
        Err(error) if reused && error.breaks_connection() => read_once(connection, READ_LIMIT).await,
        outcome => outcome,
    }
}

async fn read_once(connection: &mut Connection, limit: Duration) -> Result<Value, Error> {
    connection.run(limit, async |client: &mut Client| tidemark_queue::status::read(client).await).await
}

/// Whether the schema has what this build calls. A connection that breaks although it had been open is replaced once.
///
/// # Errors
/// What the connection or the server says.
pub(crate) async fn schema_is_known(connection: &mut Connection) -> Result<bool, Error> {
    let reused = connection.is_open();
    let limit = if reused { REUSED_LIMIT } else { READ_LIMIT };
    match schema_is_known_once(connection, limit).await {
        Err(error) if reused && error.breaks_connection() => schema_is_known_once(connection, READ_LIMIT).await,
        outcome => outcome,
    }
}

async fn schema_is_known_once(connection: &mut Connection, limit: Duration) -> Result<bool, Error> {
    connection
        .run(limit, async |client: &mut Client| {
            let rows = client.query_typed(SCHEMA_IS_KNOWN, &[]).await?;
            Ok(rows.first().is_some_and(|row| row.try_get(0).unwrap_or(false)))
        })
        .await
}
