//! The work itself: ticks, whatever else needs attention, and whether alerts are told.

use tidemark_status::attention::{self, Urgency, duration};
use tidemark_status::{Document, Ticking};
use tokio_postgres::Client;

use super::finding::Finding;
use crate::refusal::explain;
use crate::statements::DOCTOR_ALERTS;

/// The ticks, and what the status document asks for.
pub(crate) fn check(document: &Document) -> Vec<Finding> {
    let mut findings: Vec<Finding> = document
        .ticking()
        .into_iter()
        .filter_map(|(name, ticking)| match ticking {
            Ticking::Fresh => Some(Finding::ok("ticks", format!("{name} ticked {} ago", age(document, name)))),
            // What needs attention says it, with the remedy.
            Ticking::Never | Ticking::Stopped(_) | Ticking::Paused => None,
        })
        .collect();
    let found = attention::of(document);
    if found.is_empty() {
        findings.push(Finding::ok("attention", "no user and no job needs anybody"));
    }
    findings.extend(found.into_iter().map(|one| match one.urgency {
        Urgency::Action => Finding::failed("attention", one.what, one.next),
        Urgency::Notice => Finding::warning("attention", one.what, one.next),
    }));
    findings
}

fn age(document: &Document, name: &str) -> String {
    document.ticks.get(name).and_then(|tick| tick.age_seconds).map_or_else(|| "some time".to_owned(), duration)
}

/// Whether alerts reach anybody.
///
/// # Errors
/// The server's refusal.
pub(crate) async fn check_alerts(client: &Client) -> anyhow::Result<Vec<Finding>> {
    let rows = client.query_typed(DOCTOR_ALERTS, &[]).await.map_err(explain)?;
    let untold: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok(vec![if untold == 0 {
        Finding::ok("alerts", "none is waiting to be told")
    } else {
        let what = format!("{untold} alerts have waited for more than five minutes and nobody was told");
        let next = "`tidemark alerts test` with the ALERT_TARGETS of the work function; then see work's ticks and `tidemark jobs list --status dead`";
        Finding::failed("alerts", what, next)
    }])
}
