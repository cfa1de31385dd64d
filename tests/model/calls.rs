//! Single calls of the protocol with a lease.

use std::collections::BTreeMap;

use serde_json::Value;
use tidemark_queue::Lease;
use tidemark_stats::DEFINITION_VERSION;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Json;

use crate::history::Allowed;
use crate::operation::Call;

/// A held row is waited for in vain, else the call is accepted exactly where the oracle says so.
pub(crate) fn judge(found: Option<bool>, expected: bool, is_locked: bool) -> Result<(), String> {
    let wanted = (!is_locked).then_some(expected);
    if found == wanted { Ok(()) } else { Err(format!("accepted: {found:?}, not {wanted:?}")) }
}

pub(crate) async fn call_in_transaction(
    client: &Client,
    level: &str,
    kind: Call,
    lease: Lease,
    document: Option<Value>,
) -> Result<Option<bool>, String> {
    client.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}")).await.unwrap();
    call(client, kind, lease, document).await
}

/// Whether the call was accepted; none where the row was held by somebody else.
pub(crate) async fn call(
    client: &Client,
    kind: Call,
    lease: Lease,
    document: Option<Value>,
) -> Result<Option<bool>, String> {
    let (run, attempt, token) = (&lease.run_id, &lease.attempt, &lease.token);
    let document = Json(document.unwrap_or_default());
    let answered = match kind {
        Call::Hold => client.query_one("SELECT tidemark.compute_hold_v1($1, $2, $3)", &[run, attempt, token]).await,
        Call::Stage => {
            let query = "SELECT tidemark.compute_stage_v1($1, $2, $3, 1, $4, $5)";
            client.query_one(query, &[run, attempt, token, &DEFINITION_VERSION, &document]).await
        }
        Call::Publish => {
            let query = "SELECT outcome = 'published' FROM tidemark.publish_v1($1, $2, $3)";
            client.query_one(query, &[run, attempt, token]).await
        }
        Call::Fail => {
            let query = "SELECT tidemark.run_fail_v1($1, $2, $3, 'XX000', 'a fault of the model') <> 'lost'";
            client.query_one(query, &[run, attempt, token]).await
        }
        Call::Phase | Call::Fitting => {
            let query = "SELECT tidemark.run_phase_v1($1, $2, $3) <> 'lost'";
            client.query_one(query, &[run, attempt, token]).await
        }
    };
    match answered {
        Ok(row) => Ok(Some(row.get(0))),
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Ok(None),
        Err(error) => Err(format!("{kind:?}: {error:?}")),
    }
}

pub(crate) fn moved(lease: Lease, phase: &'static str) -> Allowed {
    Allowed { moved: BTreeMap::from([(lease.run_id, phase)]), ..Allowed::default() }
}
