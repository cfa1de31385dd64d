//! The alerts that nobody was told of, in the database.

use std::time::Duration;

use tidemark_alerts::Alert;
use tidemark_queue::Error;
use tidemark_queue::step::Statement;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::Database;
use crate::statements::{ALERTS_TOLD, ALERTS_UNTOLD};

/// How long a statement may take.
const STATEMENT_LIMIT: Duration = Duration::from_secs(3);

/// Up to `number` alerts to be told, by their ids.
pub(super) async fn untold(database: &Database, number: i32) -> Result<Vec<Alert>, Error> {
    let statement = Statement { text: ALERTS_UNTOLD, parameters: &[(&number, Type::INT4)] };
    database.query(statement, STATEMENT_LIMIT).await?.iter().map(alert).collect()
}

fn alert(row: &Row) -> Result<Alert, Error> {
    let occurrences: i64 = row.try_get(4)?;
    Ok(Alert {
        id: row.try_get(0)?,
        kind: row.try_get(1)?,
        subject: row.try_get(2)?,
        error_code: row.try_get(3)?,
        occurrences: u64::try_from(occurrences).unwrap_or(1),
        raised_at: row.try_get(5)?,
        last_raised_at: row.try_get(6)?,
        resolved_at: row.try_get(7)?,
    })
}

/// Marks alerts as told, as they were when they were read: what came since is told again.
pub(super) async fn mark_told(database: &Database, alerts: &[&Alert]) -> Result<(), Error> {
    if alerts.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = alerts.iter().map(|alert| alert.id).collect();
    let occurrences: Vec<i64> =
        alerts.iter().map(|alert| i64::try_from(alert.occurrences).unwrap_or(i64::MAX)).collect();
    let resolved: Vec<bool> = alerts.iter().map(|alert| alert.is_resolved()).collect();
    let statement = Statement {
        text: ALERTS_TOLD,
        parameters: &[(&ids, Type::INT8_ARRAY), (&occurrences, Type::INT8_ARRAY), (&resolved, Type::BOOL_ARRAY)],
    };
    database.query(statement, STATEMENT_LIMIT).await?;
    Ok(())
}
