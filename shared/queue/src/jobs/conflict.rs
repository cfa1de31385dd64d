//! Calls that are made once more when another transaction crossed them.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, GenericClient, Row};

use crate::step::{Statement, in_one_round_trip};
use crate::{Error, Function};

/// Parameters of a statement with their types, in order.
pub(super) type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// Whether the server ended the transaction only because of another one: a deadlock or a serialization failure.
pub(super) fn is_conflict(error: &Error) -> bool {
    matches!(error, Error::Contended { code } if code == "40P01" || code == "40001")
}

/// Sends a statement wherever the caller is, once more after a conflict. In a transaction of the caller the second try finds it
/// failed already; the conflict is what he is told then.
pub(super) async fn query<C: GenericClient + Sync>(
    client: &C,
    text: &str,
    parameters: Parameters<'_>,
) -> Result<Vec<Row>, Error> {
    let first = match client.query_typed(text, parameters).await {
        Ok(rows) => return Ok(rows),
        Err(error) => Error::from(error),
    };
    if !is_conflict(&first) {
        return Err(first);
    }
    match client.query_typed(text, parameters).await.map_err(Error::from) {
        Err(Error::Database { code, .. }) if code == "25P02" => Err(first),
        second => second,
    }
}

/// Sends a statement of a worker in a transaction of its own, READ COMMITTED whatever the role's default is, under the budget of
/// the work function; once more after a conflict.
pub(super) async fn step(client: &Client, text: &str, parameters: Parameters<'_>) -> Result<Vec<Row>, Error> {
    let statement = Statement { text, parameters };
    let (_limit, rows) = match in_one_round_trip(client, Function::Work, None, statement).await {
        Err(error) if is_conflict(&error) => in_one_round_trip(client, Function::Work, None, statement).await?,
        other => other?,
    };
    Ok(rows)
}
