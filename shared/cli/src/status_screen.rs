//! The status document as a screen for people.

use tidemark_status::attention::{self, Attention, Urgency, duration};
use tidemark_status::{Document, Lease};

use crate::table::{Column, table};

/// The whole screen: what needs attention first, then the figures.
pub(crate) fn draw(document: &Document) -> String {
    let mut parts = vec![format!("Tidemark, {}", readable_time(&document.as_of))];
    parts.push(attention_part(&attention::of(document)));
    parts.push(queue(document));
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
        format!(" {mark} {}\n   next: {}", one.what, one.next)
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
