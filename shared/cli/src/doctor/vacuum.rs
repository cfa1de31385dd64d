//! Old snapshots and bloat: what makes everything that changes often slower, little by little.

use tidemark_status::attention::duration;
use tokio_postgres::{Client, Row};

use super::finding::Finding;
use crate::refusal::explain;
use crate::statements::DOCTOR_VACUUM;

/// A transaction open for longer than this keeps vacuum from its work, in seconds; the alert old_snapshot says the same.
const OLD_SNAPSHOT_SECONDS: i64 = 600;

/// Looks at what holds vacuum back and at what it has left.
///
/// # Errors
/// The server's refusal.
pub(crate) async fn check(client: &Client) -> anyhow::Result<Vec<Finding>> {
    let rows = client.query_typed(DOCTOR_VACUUM, &[]).await.map_err(explain)?;
    let row = rows.first().ok_or_else(|| anyhow::anyhow!("the server says nothing of its transactions"))?;
    Ok(vec![snapshots(row)?, bloat(row)?])
}

fn snapshots(row: &Row) -> Result<Finding, tokio_postgres::Error> {
    const CHECK: &str = "old snapshots";
    let (pid, seconds): (Option<i32>, Option<i64>) = (row.try_get("oldest_pid")?, row.try_get("oldest_seconds")?);
    let (prepared, slots): (i64, i64) = (row.try_get("prepared")?, row.try_get("idle_slots")?);
    let old = seconds.zip(pid).filter(|(seconds, _pid)| *seconds > OLD_SNAPSHOT_SECONDS);
    Ok(if let Some((seconds, pid)) = old {
        let what = format!("session {pid} has had a transaction open for {}", duration(seconds));
        let next = format!(
            "end it in its application, or with SELECT pg_terminate_backend({pid}) (docs/OPERATIONS.md, old_snapshot)"
        );
        Finding::warning(CHECK, what, next)
    } else if prepared > 0 {
        let next = "SELECT gid, prepared FROM pg_prepared_xacts; end each with COMMIT PREPARED or ROLLBACK PREPARED";
        Finding::warning(CHECK, format!("{prepared} prepared transactions are older than ten minutes"), next)
    } else if slots > 0 {
        let next = "SELECT slot_name, active FROM pg_replication_slots; drop those that nobody reads any more";
        Finding::warning(CHECK, format!("{slots} replication slots that nobody reads hold back vacuum"), next)
    } else {
        let oldest = seconds.map_or_else(|| "none".to_owned(), duration);
        Finding::ok(CHECK, format!("oldest open transaction: {oldest}"))
    })
}

fn bloat(row: &Row) -> Result<Finding, tokio_postgres::Error> {
    const CHECK: &str = "bloat";
    let (autovacuum, bloated): (bool, Vec<String>) = (row.try_get("autovacuum")?, row.try_get("bloated")?);
    Ok(if !autovacuum {
        let next = "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();";
        Finding::failed(CHECK, "autovacuum is off: tables that change often only grow", next)
    } else if bloated.is_empty() {
        Finding::ok(CHECK, "no table of ours has more dead rows than live ones")
    } else {
        let next = format!("see *old snapshots*; then VACUUM {}", bloated.join(", "));
        Finding::warning(CHECK, format!("more dead rows than live ones in {}", bloated.join(", ")), next)
    })
}
