//! The document as OpenMetrics text.

use std::sync::atomic::AtomicU64;

use http::HeaderValue;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::document::{Document, Jobs, LastHour, Rebuild};

/// The media type of the answer.
pub(crate) const CONTENT_TYPE: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

type Seconds = Gauge<f64, AtomicU64>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfFunction {
    function: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfCode {
    code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStep {
    step: &'static str,
    statistic: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStatus {
    status: &'static str,
}

/// The figures of `document`. All are gauges: they are what the database says now, not what this process has counted.
///
/// # Errors
/// None in practice: the text is written to memory.
pub(crate) fn text(document: &Document) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::with_prefix("tidemark");
    queue(&mut registry, document);
    leases(&mut registry, document);
    last_hour(&mut registry, &document.last_hour);
    if let Some(last) = &document.rebuild {
        rebuild(&mut registry, last);
    }
    functions(&mut registry, document);
    if let Some(figures) = &document.jobs {
        jobs(&mut registry, figures);
    }
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

fn queue(registry: &mut Registry, document: &Document) {
    let queue = &document.queue;
    count(registry, "pending_users", "Users with a pending refresh job", queue.pending_users);
    count(registry, "pending_jobs", "Pending refresh jobs", queue.pending_jobs);
    count(registry, "exhausted_failed_jobs", "Failed refresh jobs without attempts left", queue.exhausted_failed_jobs);
    count(registry, "stale_users", "Users whose published statistics are behind", document.stale_users);
    let oldest = Seconds::default();
    oldest.set(seconds(queue.oldest_pending_seconds.unwrap_or(0)));
    registry.register_with_unit("oldest_pending", "Age of the oldest pending refresh job", Unit::Seconds, oldest);
}

fn leases(registry: &mut Registry, document: &Document) {
    let leases = &document.leases;
    count(registry, "leases_active", "Live leases", leases.active);
    count(
        registry,
        "leases_expired_unrecovered",
        "Expired leases that no claim has recovered",
        leases.expired_unrecovered,
    );
    count(registry, "backoff_waiting_users", "Users who wait for the end of their backoff", leases.backoff_waiting);
    count(registry, "leases_limit", "Setting max_active", document.settings.max_active);
}

fn last_hour(registry: &mut Registry, last_hour: &LastHour) {
    count(registry, "last_hour_completed_runs", "Runs published in the last hour", last_hour.completed);
    let failed = Family::<OfCode, Gauge>::default();
    for (code, number) in &last_hour.failed_by_code {
        failed.get_or_create(&OfCode { code: escaped(code) }).set(*number);
    }
    registry.register("last_hour_failed_runs", "Runs failed in the last hour, by error code", failed);
    let durations = Family::<OfStep, Seconds>::default();
    let figures = [
        ("compute", "p95", last_hour.compute_ms_p95),
        ("compute", "max", last_hour.compute_ms_max),
        ("publish", "p95", last_hour.publish_ms_p95),
        ("publish", "max", last_hour.publish_ms_max),
    ];
    for (step, statistic, milliseconds) in figures {
        if let Some(milliseconds) = milliseconds {
            durations.get_or_create(&OfStep { step, statistic }).set(seconds(milliseconds) / 1000.0);
        }
    }
    registry.register_with_unit("last_hour_step", "Duration of a step in the last hour", Unit::Seconds, durations);
}

fn rebuild(registry: &mut Registry, last: &Rebuild) {
    count(registry, "rebuild_percent", "How far the last rebuild is; 100 when it is done", last.percent);
    count(registry, "rebuild_users_failed", "Users whom the last rebuild could not reach", last.users_failed);
    let live = i64::from(last.ended_at.is_none());
    count(registry, "rebuild_under_way", "Whether a rebuild is under way", live);
}

fn functions(registry: &mut Registry, document: &Document) {
    let ages = Family::<OfFunction, Seconds>::default();
    for (function, tick) in &document.ticks {
        if let Some(age) = tick.age_seconds {
            ages.get_or_create(&OfFunction { function: escaped(function) }).set(seconds(age));
        }
    }
    registry.register_with_unit("tick_age", "Time since a function last noted its start", Unit::Seconds, ages);
    let enabled = Family::<OfFunction, Gauge>::default();
    let settings = &document.settings;
    let switches = [
        ("claim", settings.claim_enabled),
        ("compute", settings.compute_enabled),
        ("publish", settings.publish_enabled),
        ("work", settings.work_enabled),
    ];
    for (function, on) in switches {
        enabled.get_or_create(&OfFunction { function: function.to_owned() }).set(i64::from(on));
    }
    registry.register("function_enabled", "Whether the settings row lets the function work", enabled);
}

fn jobs(registry: &mut Registry, jobs: &Jobs) {
    let by_status = Family::<OfStatus, Gauge>::default();
    let figures = [("pending", jobs.pending), ("running", jobs.running), ("done", jobs.done), ("dead", jobs.dead)];
    for (status, number) in figures {
        by_status.get_or_create(&OfStatus { status }).set(number);
    }
    registry.register("jobs", "Jobs of the general queue by status; above 100,000 an estimate", by_status);
    count(registry, "jobs_scheduled", "Pending jobs that wait for their time", jobs.scheduled);
    count(registry, "jobs_cancelled", "Dead jobs that somebody cancelled", jobs.cancelled);
    count(registry, "jobs_stuck", "Running jobs with an expired lease, or for over ten minutes", jobs.stuck);
    count(registry, "jobs_dead_last_hour", "Jobs that died in the last hour", jobs.dead_last_hour);
    count(
        registry,
        "jobs_deadline_exceeded_last_hour",
        "Jobs given up in the last hour over the deadline",
        jobs.deadline_exceeded_last_hour,
    );
    count(registry, "job_leases_active", "Live leases of the general queue", jobs.leases);
    count(
        registry,
        "job_leases_expired_unrecovered",
        "Expired leases of the general queue that no tick has taken back",
        jobs.expired_unrecovered,
    );
    count(registry, "alerts_open", "Alerts that are not over", jobs.open_alerts);
    let oldest = Seconds::default();
    oldest.set(seconds(jobs.oldest_pending_seconds));
    let help = "How long the longest waiting due job has been due";
    registry.register_with_unit("jobs_oldest_pending", help, Unit::Seconds, oldest);
}

/// A label's value as the text format wants it; the encoder writes it as it is.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

fn count(registry: &mut Registry, name: &str, help: &str, value: i64) {
    let gauge: Gauge = Gauge::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

/// Durations of this size are exact in a double.
#[expect(clippy::cast_precision_loss, reason = "seconds and milliseconds far below 2^53")]
fn seconds(value: i64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::tests::{healthy, healthy_with_jobs};

    #[test]
    fn the_text_names_each_figure_and_ends_with_the_marker() {
        let mut value = healthy();
        value["queue"]["pending_users"] = json!(7);
        value["queue"]["oldest_pending_seconds"] = json!(42);
        value["last_hour"]["failed_by_code"] = json!({"57014": 2});
        let text = text(&Document::from_value(&value).expect("a document")).expect("text");
        for line in [
            "tidemark_pending_users 7",
            "tidemark_oldest_pending_seconds 42.0",
            "tidemark_last_hour_failed_runs{code=\"57014\"} 2",
            "tidemark_last_hour_step_seconds{step=\"compute\",statistic=\"p95\"} 0.012",
            "tidemark_tick_age_seconds{function=\"claim\"} 2.0",
            "tidemark_function_enabled{function=\"work\"} 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn the_general_queue_has_its_figures_where_it_is_installed() {
        let mut value = healthy_with_jobs();
        value["jobs"]["open_alerts"] = json!(3);
        let with = text(&Document::from_value(&value).expect("a document")).expect("text");
        for line in [
            "tidemark_jobs{status=\"pending\"} 40",
            "tidemark_jobs{status=\"dead\"} 1",
            "tidemark_jobs_scheduled 30",
            "tidemark_jobs_oldest_pending_seconds 1.0",
            "tidemark_job_leases_expired_unrecovered 0",
            "tidemark_alerts_open 3",
        ] {
            assert!(with.lines().any(|one| one == line), "{line} is not in\n{with}");
        }
        let without = text(&Document::from_value(&healthy()).expect("a document")).expect("text");
        assert!(!without.contains("tidemark_jobs"), "{without}");
    }

    #[test]
    fn an_error_code_cannot_break_out_of_its_label() {
        let mut value = healthy();
        value["last_hour"]["failed_by_code"] = json!({"a\"b\\c\nd": 1});
        let text = text(&Document::from_value(&value).expect("a document")).expect("text");
        let line = r#"tidemark_last_hour_failed_runs{code="a\"b\\c\nd"} 1"#;
        assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
    }

    #[test]
    fn a_function_that_never_ticked_has_no_age() {
        let text = text(&Document::from_value(&healthy()).expect("a document")).expect("text");
        assert!(!text.contains("tidemark_tick_age_seconds{function=\"work\"}"));
    }
}
