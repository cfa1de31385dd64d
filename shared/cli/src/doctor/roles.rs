//! Roles and grants: the worker can do its work and nothing else, and the application sees no queue.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::finding::Finding;
use crate::refusal::explain;
use crate::statements::{DOCTOR_GRANTS, DOCTOR_ROLES};

/// What `tidemark migrate` does about roles that are gone.
const MIGRATE_MAKES_THEM: &str =
    "make them again (docs/ARCHITECTURE.md says what each may do), or restore the database with its roles";

/// Looks at the roles and, where all of them exist, at their grants.
///
/// # Errors
/// The server's refusal.
pub(crate) async fn check(client: &Client) -> anyhow::Result<Vec<Finding>> {
    let rows = client.query_typed(DOCTOR_ROLES, &[]).await.map_err(explain)?;
    let row = rows.first().ok_or_else(|| anyhow::anyhow!("the server says nothing of its roles"))?;
    let missing: Vec<String> = row.try_get("missing")?;
    if !missing.is_empty() {
        return Ok(vec![Finding::failed(
            "roles",
            format!("there is no role {}", missing.join(", ")),
            MIGRATE_MAKES_THEM,
        )]);
    }
    let functions = tidemark_status::worker_functions();
    let parameters = [(&functions as _, Type::TEXT_ARRAY)];
    let grants = client.query_typed(DOCTOR_GRANTS, &parameters).await.map_err(explain)?;
    let grants = grants.first().ok_or_else(|| anyhow::anyhow!("the server says nothing of its grants"))?;
    Ok(vec![roles(row)?, worker(grants)?, application(grants)?])
}

fn roles(row: &Row) -> Result<Finding, tokio_postgres::Error> {
    let (owner_logs_in, worker_logs_in): (bool, bool) = (row.try_get("owner_logs_in")?, row.try_get("worker_logs_in")?);
    Ok(if owner_logs_in {
        let next = "ALTER ROLE tidemark_owner NOLOGIN: who owns the tables must not be a way in";
        Finding::warning("roles", "tidemark_owner may log in", next)
    } else if worker_logs_in {
        Finding::ok("roles", "all there; the worker may log in, the owner may not")
    } else {
        let next = "ALTER ROLE tidemark_worker LOGIN PASSWORD '…', or make a login role that is a member of it";
        Finding::failed(
            "roles",
            "neither tidemark_worker nor a member of it may log in: the functions cannot connect",
            next,
        )
    })
}

fn worker(row: &Row) -> Result<Finding, tokio_postgres::Error> {
    let (cannot, tables): (Vec<String>, Vec<String>) =
        (row.try_get("worker_cannot_call")?, row.try_get("worker_sees")?);
    Ok(if !cannot.is_empty() {
        let next = format!("GRANT EXECUTE ON FUNCTION {} TO tidemark_worker", cannot.join(", "));
        Finding::failed("grants", format!("tidemark_worker may not call {}", some(&cannot)), next)
    } else if tables.is_empty() {
        Finding::ok("grants", "the worker may call its functions and read no table")
    } else {
        let next = format!("REVOKE ALL ON {} FROM PUBLIC, tidemark_worker", tables.join(", "));
        Finding::warning("grants", format!("tidemark_worker reads tables directly: {}", some(&tables)), next)
    })
}

fn application(row: &Row) -> Result<Finding, tokio_postgres::Error> {
    let tables: Vec<String> = row.try_get("application_sees")?;
    Ok(if tables.is_empty() {
        Finding::ok("grants of the application", "anon and authenticated see no queue, setting or alert")
    } else {
        let next = format!("REVOKE ALL ON {} FROM PUBLIC, anon, authenticated", tables.join(", "));
        Finding::failed("grants of the application", format!("anon or authenticated may read {}", some(&tables)), next)
    })
}

/// The first names, and how many more there are.
fn some(names: &[String]) -> String {
    const NAMED: usize = 3;
    let first = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED { format!("{first} and {} more", names.len() - NAMED) } else { first }
}
