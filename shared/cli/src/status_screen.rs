//! The status document as a screen for people.

use tidemark_status::attention::{self, Attention, Urgency, duration};
use tidemark_status::{Document, Jobs, Lease, Rebuild};

use crate::table::{Column, table};

/// The whole screen: what needs attention first, then the figures.
pub(crate) fn draw(document: &Document) -> String {
    let mut parts = vec![format!("Tidemark, {}", readable_time(&document.as_of))];
    parts.push(attention_part(&attention::of(document)));
    parts.push(queue(document));
    parts.extend(document.rebuild.as_ref().map(|rebuild| format!("REBUILD\n {}", rebuild_line(rebuild))));
    parts.extend(document.jobs.as_ref().map(jobs));
    parts.push(leases(document));
    parts.push(ticks(document));
    parts.push(last_hour(document));
    parts.join("\n\n")
}

/// A time of the database to the second; as it is where it cannot be read.
pub(crate) fn readable_time(time: &str) -> String {
    time.parse::<jiff::Timestamp>()
        .map_or_else(|_unreadable| time.to_owned(), |time| time.strftime("%F %T UTC").to_string())
}

fn attention_part(found: &[Attention]) -> String {
    if found.is_empty() {
        return "Nothing needs attention.".to_owned();
    }
    let lines = found.iter().map(|one| {
        let mark = match one.urgency {
            Urgency::Action => "!",
            Urgency::Notice => "-",
        };
        format!(" {mark} {}\n   next: {}\n   see: {}", one.what, one.next, one.section)
    });
    format!("NEEDS ATTENTION\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn queue(document: &Document) -> String {
    let queue = &document.queue;
    let columns = [
        Column::Figures("stale users"),
        Column::Figures("users waiting"),
        Column::Figures("requests waiting"),
        Column::Figures("oldest"),
        Column::Figures("without attempts left"),
    ];
    let row = vec![
        document.stale_users.to_string(),
        queue.pending_users.to_string(),
        queue.pending_jobs.to_string(),
        queue.oldest_pending_seconds.map_or_else(none, duration),
        queue.exhausted_failed_jobs.to_string(),
    ];
    format!("QUEUE\n{}", table(&columns, [row]))
}

/// One line that says how far a rebuild is.
pub(crate) fn rebuild_line(rebuild: &Rebuild) -> String {
    let cause = match rebuild.cause.as_str() {
        "definition" => format!("to definition {}", rebuild.definition_version),
        _ => format!("of everybody, asked for by {}", rebuild.started_by),
    };
    let line = format!(
        "{cause}: {}, {} % of {} users ({} done, {} failed, {} gone, {} under way)",
        rebuild.phase,
        rebuild.percent,
        rebuild.users_total,
        rebuild.users_done,
        rebuild.users_failed,
        rebuild.users_gone,
        rebuild.users_under_way
    );
    let when = match (&rebuild.ended_at, rebuild.eta_seconds) {
        (Some(ended), _) => format!("ended {}", readable_time(ended)),
        (None, Some(seconds)) => format!("about {} to go", duration(seconds)),
        (None, None) => format!("began {}", readable_time(&rebuild.started_at)),
    };
    format!("{line}; {when}")
}

fn jobs(jobs: &Jobs) -> String {
    let columns = [
        Column::Figures("waiting"),
        Column::Figures("for their time"),
        Column::Figures("oldest due"),
        Column::Figures("running"),
        Column::Figures("stuck"),
        Column::Figures("done"),
        Column::Figures("dead"),
        Column::Figures("cancelled"),
        Column::Figures("dead in the last hour"),
        Column::Figures("open alerts"),
    ];
    let oldest = if jobs.oldest_pending_seconds > 0 { duration(jobs.oldest_pending_seconds) } else { none() };
    let row = vec![
        jobs.pending.to_string(),
        jobs.scheduled.to_string(),
        oldest,
        jobs.running.to_string(),
        jobs.stuck.to_string(),
        jobs.done.to_string(),
        jobs.dead_of_themselves().to_string(),
        jobs.cancelled.to_string(),
        jobs.dead_last_hour.to_string(),
        jobs.open_alerts.to_string(),
    ];
    let about = if jobs.exact { "" } else { "\n Counts above 100,000 are estimates." };
    format!("JOBS\n{}{about}", table(&columns, [row]))
}

fn leases(document: &Document) -> String {
    let leases = &document.leases;
    let line = format!(
        "LEASES\n {} of {} active, {} expired and not recovered, {} in backoff",
        leases.active, document.settings.max_active, leases.expired_unrecovered, leases.backoff_waiting
    );
    if leases.active_list.is_empty() {
        return line;
    }
    let columns = [
        Column::Figures("run"),
        Column::Words("user"),
        Column::Words("phase"),
        Column::Figures("attempt"),
        Column::Figures("age"),
        Column::Words("lease"),
    ];
    let row = |lease: &Lease| {
        vec![
            lease.run_id.to_string(),
            lease.user_id.clone(),
            lease.phase.clone(),
            lease.attempt.to_string(),
            duration(lease.age_seconds),
            if lease.expired { "expired" } else { "alive" }.to_owned(),
        ]
    };
    format!("{line}\n{}", table(&columns, leases.active_list.iter().map(row)))
}

fn ticks(document: &Document) -> String {
    let settings = &document.settings;
    let functions = [
        ("claim", settings.claim_enabled),
        ("compute", settings.compute_enabled),
        ("publish", settings.publish_enabled),
        ("work", settings.work_enabled),
    ];
    let columns =
        [Column::Words("function"), Column::Words("state"), Column::Figures("last tick"), Column::Words("outcome")];
    let rows = functions.into_iter().map(|(name, enabled)| {
        let tick = document.ticks.get(name);
        let age = tick.and_then(|tick| tick.age_seconds);
        let outcome = tick.map(|tick| tick.last_outcome.clone()).filter(|outcome| !outcome.is_empty());
        vec![
            name.to_owned(),
            if enabled { "on" } else { "paused" }.to_owned(),
            age.map_or_else(|| "never".to_owned(), |age| format!("{} ago", duration(age))),
            outcome.unwrap_or_else(none),
        ]
    });
    format!("TICKS\n{}", table(&columns, rows))
}

fn last_hour(document: &Document) -> String {
    let hour = &document.last_hour;
    let columns = [Column::Words("step"), Column::Figures("95 % within"), Column::Figures("longest")];
    let milliseconds = |value: Option<i64>| value.map_or_else(none, |value| format!("{value} ms"));
    let rows =
        [("compute", hour.compute_ms_p95, hour.compute_ms_max), ("publish", hour.publish_ms_p95, hour.publish_ms_max)]
            .map(|(step, p95, longest)| vec![step.to_owned(), milliseconds(p95), milliseconds(longest)]);
    format!("LAST HOUR\n {} published, {} failed\n{}", hour.completed, hour.failed, table(&columns, rows))
}

fn none() -> String {
    "none".to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> serde_json::Value {
        let tick = json!({"last_outcome": "worked", "age_seconds": 2});
        json!({
            "as_of": "2026-03-01T10:00:02Z",
            "settings": {"max_active": 2, "alert_oldest_pending_seconds": 300, "updated_at": "2026-03-01T09:00:00Z"},
            "queue": {"pending_users": 3, "pending_jobs": 4, "oldest_pending_seconds": 5, "exhausted_failed_jobs": 0},
            "stale_users": 4,
            "leases": {"active": 1, "expired_unrecovered": 0, "backoff_waiting": 0, "active_list": [
                {"run_id": 7, "user_id": "7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f", "attempt": 1, "phase": "computing", "age_seconds": 3}
            ]},
            "last_hour": {"completed": 3, "failed": 0, "failed_by_code": {}, "compute_ms_p95": 12, "compute_ms_max": 15,
                "publish_ms_p95": 8, "publish_ms_max": 9},
            "ticks": {"claim": tick, "compute": tick, "publish": tick, "work": tick},
            "jobs": {"pending": 123456, "scheduled": 30, "running": 20, "done": 1000, "dead": 5, "cancelled": 1, "exact": false,
                "oldest_pending_seconds": 600, "dead_last_hour": 4, "deadline_exceeded_last_hour": 1, "stuck": 10, "leases": 1,
                "expired_unrecovered": 1, "open_alerts": 2},
        })
    }

    fn drawn(value: &serde_json::Value) -> String {
        draw(&Document::from_value(value).expect("a document"))
    }

    #[test]
    fn a_screen_shows_what_needs_attention_first() {
        insta::assert_snapshot!(drawn(&document()));
    }

    #[test]
    fn without_the_general_queue_nothing_is_said_of_jobs() {
        let mut value = document();
        value["jobs"] = json!({});
        assert!(!drawn(&value).contains("JOBS"));
    }
}
