//! The figures of the status document, for CloudWatch: once a minute, as a line of the log that it reads as metrics
//! (the embedded metric format).

use std::io::Write;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tidemark_queue::{Connection, Invocation, Summary, status};

/// The namespace of the metrics; the template's alarms name it.
const NAMESPACE: &str = "Tidemark";

/// How long reading the status document may take. It takes some ten milliseconds; a tick waits for it no longer than this.
const READ_LIMIT: Duration = Duration::from_secs(2);

/// Name, unit, and where the figure is found; what is not there counts as nothing.
const FIGURES: [(&str, &str, &str); 4] = [
    ("StaleUsers", "Count", "/stale_users"),
    ("ExhaustedRefreshes", "Count", "/queue/exhausted_failed_jobs"),
    ("ExpiredLeases", "Count", "/leases/expired_unrecovered"),
    ("JobsPending", "Count", "/jobs/pending"),
];

/// `handler`, before which the first tick of each minute writes the figures of the status document to standard output. The tick
/// goes on whether or not that works.
pub fn with_figures<H>(handler: H) -> impl AsyncFn(&mut Connection, &Invocation) -> Summary
where
    H: AsyncFn(&mut Connection, &Invocation) -> Summary,
{
    async move |connection: &mut Connection, invocation: &Invocation| {
        if let Some(planned_at) = invocation.planned_at.filter(|instant| instant.as_second() % 60 == 0) {
            write(connection, planned_at).await;
        }
        handler(connection, invocation).await
    }
}

async fn write(connection: &mut Connection, planned_at: Timestamp) {
    let function = std::env::var("AWS_LAMBDA_FUNCTION_NAME").unwrap_or_default();
    match connection.run(READ_LIMIT, async |client| status::read(client).await).await {
        // A log that cannot be written loses its other lines as well.
        Ok(document) => drop(writeln!(std::io::stdout().lock(), "{}", line(&function, planned_at, &document))),
        Err(error) => tracing::warn!("error.code" = error.code(), "the figures of this minute are missing"),
    }
}

/// One line in the embedded metric format: <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>.
fn line(function: &str, planned_at: Timestamp, document: &Value) -> Value {
    let figure = |path: &str| document.pointer(path).and_then(Value::as_i64).unwrap_or(0);
    let oldest = figure("/queue/oldest_pending_seconds").max(figure("/jobs/oldest_pending_seconds"));
    // In per cent of what the settings row allows, so that no alarm repeats the number.
    let allowed = figure("/settings/alert_oldest_pending_seconds").max(1);
    let percent = ("OldestPendingPercent", "Percent", oldest.saturating_mul(100) / allowed);
    // Nobody has to look at a job that somebody cancelled.
    let dead = ("DeadJobs", "Count", figure("/jobs/dead") - figure("/jobs/cancelled"));
    let counts = FIGURES.map(|(name, unit, path)| (name, unit, figure(path)));
    let figures = counts.into_iter().chain([percent, dead]);

    let metrics: Vec<Value> =
        figures.clone().map(|(name, unit, _figure)| json!({"Name": name, "Unit": unit})).collect();
    let mut line = json!({
        "_aws": {
            "Timestamp": planned_at.as_millisecond(),
            "CloudWatchMetrics": [{"Namespace": NAMESPACE, "Dimensions": [["FunctionName"]], "Metrics": metrics}],
        },
        "FunctionName": function,
    });
    for (name, _unit, figure) in figures {
        line[name] = figure.into();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_that_is_named_has_its_figure() {
        let document = json!({
            "settings": {"alert_oldest_pending_seconds": 300}, "stale_users": 4,
            "queue": {"oldest_pending_seconds": 150, "exhausted_failed_jobs": 2}, "leases": {"expired_unrecovered": 1},
            "jobs": {"pending": 9, "dead": 7, "cancelled": 3, "oldest_pending_seconds": 450},
        });
        let planned_at: Timestamp = "2026-03-01T12:00:00Z".parse().expect("an instant");
        let line = line("stack-claim", planned_at, &document);
        let told = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(
            (&line["_aws"]["Timestamp"], &line["FunctionName"]),
            (&json!(1_772_366_400_000_i64), &json!("stack-claim"))
        );
        assert_eq!((&told["Namespace"], &told["Dimensions"]), (&json!("Tidemark"), &json!([["FunctionName"]])));
        let names = told["Metrics"].as_array().expect("metrics").iter().filter_map(|metric| metric["Name"].as_str());
        let figures: Vec<(&str, i64)> = names.map(|name| (name, line[name].as_i64().expect(name))).collect();
        let expected = [
            ("StaleUsers", 4),
            ("ExhaustedRefreshes", 2),
            ("ExpiredLeases", 1),
            ("JobsPending", 9),
            ("OldestPendingPercent", 150),
            ("DeadJobs", 4),
        ];
        assert_eq!(figures, expected);
    }

    #[test]
    fn a_database_where_nothing_waits_has_zeros() {
        let line = line("f", Timestamp::UNIX_EPOCH, &json!({"queue": {"oldest_pending_seconds": null}, "jobs": {}}));
        assert_eq!(
            (&line["OldestPendingPercent"], &line["DeadJobs"], &line["StaleUsers"]),
            (&json!(0), &json!(0), &json!(0))
        );
    }
}
