//! The server: its version, whether it takes writes, whether the way to it is encrypted, and whether it has room for connections.

use tokio_postgres::{Client, Row};

use super::finding::Finding;
use crate::refusal::explain;
use crate::statements::DOCTOR_SERVER;

/// The oldest server that Tidemark runs on.
const OLDEST_MAJOR: i32 = 15;

/// Share of the connections in use, in percent, from which there is too little room for a tick of every function.
const FULL_PERCENT: i64 = 90;

/// Looks at the server.
///
/// # Errors
/// The server's refusal.
pub(crate) async fn check(client: &Client) -> anyhow::Result<Vec<Finding>> {
    let rows = client.query_typed(DOCTOR_SERVER, &[]).await.map_err(explain)?;
    let row = rows.first().ok_or_else(|| anyhow::anyhow!("the server says nothing of itself"))?;
    Ok(vec![connection(row)?, tls(row)?, room(row)?])
}

fn connection(row: &Row) -> Result<Finding, tokio_postgres::Error> {
    let (number, version, replica, read_only): (i32, &str, bool, bool) = (
        row.try_get("version_number")?,
        row.try_get("version")?,
        row.try_get("is_replica")?,
        row.try_get("read_only")?,
    );
    let what = format!("PostgreSQL {version}");
    Ok(if number / 10_000 < OLDEST_MAJOR {
        Finding::failed(
            "connection",
            what,
            format!("upgrade the server: Tidemark needs PostgreSQL {OLDEST_MAJOR} or newer"),
        )
    } else if replica {
        let next = "point --database-url, DATABASE_URL or the secret at the writer; see whether it failed over";
        Finding::failed("connection", format!("{what} is a replica, which takes no writes"), next)
    } else if read_only {
        let next = "see why default_transaction_read_only is on: a full disk, or somebody's maintenance";
        Finding::failed("connection", format!("{what} takes no writes from this role"), next)
    } else {
        Finding::ok("connection", format!("{what} answers and takes writes"))
    })
}

fn tls(row: &Row) -> Result<Finding, tokio_postgres::Error> {
    let (version, near): (Option<&str>, bool) = (row.try_get("tls_version")?, row.try_get("is_near")?);
    Ok(match version {
        Some(version) => Finding::ok("tls", format!("encrypted with {version}, the certificate checked")),
        None if near => Finding::ok("tls", "not encrypted, on this machine"),
        None => Finding::failed(
            "tls",
            "passwords and figures travel in the clear",
            "add sslmode=verify-full to the URL, and have the server offer TLS",
        ),
    })
}

fn room(row: &Row) -> Result<Finding, tokio_postgres::Error> {
    let (used, limit): (i64, i64) = (row.try_get("connections_used")?, row.try_get("connections_limit")?);
    let what = format!("{used} of {limit} connections in use");
    Ok(if used * 100 >= limit * FULL_PERCENT {
        let next = "see who holds them: SELECT usename, application_name, count(*) FROM pg_stat_activity GROUP BY 1, 2; lower the \
            functions' concurrency or put a pooler in between";
        Finding::warning("connections", what, next)
    } else {
        Finding::ok("connections", what)
    })
}
