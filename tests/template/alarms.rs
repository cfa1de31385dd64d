//! Alarms and the dashboard.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::template::{Resource, Template, strings};

const RUNBOOK: &str = include_str!("../../docs/OPERATIONS.md");
const FIGURES: &str = include_str!("../../shared/runtime/src/figures.rs");

/// Metrics that Amazon publishes and that are looked at here.
const PLATFORM: [(&str, &str); 7] = [
    ("AWS/Lambda", "Invocations"),
    ("AWS/Lambda", "Errors"),
    ("AWS/Lambda", "Throttles"),
    ("AWS/Lambda", "Duration"),
    ("AWS/States", "ExecutionsFailed"),
    ("AWS/States", "ExecutionsTimedOut"),
    ("AWS/States", "ExecutionThrottled"),
];

/// The functions at whose metric an alarm looks.
fn watched<'a>(template: &'a Template, metric: &str) -> BTreeSet<&'a str> {
    let alarms = template.resources("AWS::CloudWatch::Alarm");
    let all = alarms.iter().flat_map(|alarm| metrics(*alarm)).filter(|(_namespace, name, _dimensions)| *name == metric);
    all.flat_map(|(_namespace, _name, dimensions)| strings(dimensions))
        .filter(|text| text.ends_with("Function"))
        .collect()
}

/// Namespace, name and dimensions of each metric of an alarm.
fn metrics(alarm: Resource<'_>) -> Vec<(&str, &str, &Value)> {
    let several =
        alarm.property("/Metrics").as_array().into_iter().flatten().map(|entry| &entry["MetricStat"]["Metric"]);
    let properties = alarm.whole["Properties"].as_object().map(|_properties| &alarm.whole["Properties"]);
    several
        .chain(properties)
        .filter_map(|metric| {
            Some((metric["Namespace"].as_str()?, metric["MetricName"].as_str()?, &metric["Dimensions"]))
        })
        .collect()
}

pub(crate) fn look_at_what_there_is(template: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    let names = |functions: Vec<Resource<'_>>| -> BTreeSet<String> {
        functions.into_iter().map(|function| function.name.to_owned()).collect()
    };
    for (metric, expected) in [("Invocations", names(template.ticking())), ("Errors", names(template.functions()))] {
        let watched: BTreeSet<String> = watched(template, metric).into_iter().map(str::to_owned).collect();
        if watched != expected {
            wrong.push(format!("{metric} of {watched:?} are watched, and must be of {expected:?}"));
        }
    }
    for metric in ["Throttles", "ExecutionsFailed", "OldestPendingPercent", "ExhaustedRefreshes", "DeadJobs"] {
        if !template.resources("AWS::CloudWatch::Alarm").iter().any(|alarm| strings(alarm.whole).contains(&metric)) {
            wrong.push(format!("no alarm looks at {metric}"));
        }
    }
    for alarm in template.resources("AWS::CloudWatch::Alarm") {
        for (namespace, metric, _dimensions) in metrics(alarm) {
            if !is_published(namespace, metric) {
                wrong.push(format!("{}: nobody publishes {namespace} {metric}", alarm.name));
            }
        }
        let silence = alarm.property("/MetricName") == "Invocations";
        let expected = json!([silence.then_some(60), if silence { "breaching" } else { "notBreaching" }]);
        let period = silence.then(|| alarm.property("/Period"));
        if json!([period, alarm.property("/TreatMissingData")]) != expected {
            wrong.push(format!("{}: period and TreatMissingData must be {expected}", alarm.name));
        }
        if alarm.property("/AlarmActions")
            != &json!({"Fn::If": ["AlarmTopicGiven", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]})
        {
            wrong.push(format!("{} tells nobody", alarm.name));
        }
    }
    wrong.extend(dashboard(template));
    wrong
}

fn is_published(namespace: &str, metric: &str) -> bool {
    PLATFORM.contains(&(namespace, metric))
        || (namespace == "Tidemark" && FIGURES.contains(&format!("(\"{metric}\", \"")))
}

fn dashboard(template: &Template) -> Vec<String> {
    let dashboards = template.resources("AWS::CloudWatch::Dashboard");
    let [dashboard] = dashboards.as_slice() else { return vec!["there must be one dashboard".to_owned()] };
    let text = dashboard.property("/DashboardBody/Fn::Sub").as_str().unwrap_or_default();
    let Ok(body) = serde_json::from_str::<Value>(text) else { return vec!["the dashboard is no JSON".to_owned()] };
    let mut wrong = Vec::new();
    for widget in body["widgets"].as_array().into_iter().flatten() {
        for metric in widget["properties"]["metrics"].as_array().into_iter().flatten() {
            let (namespace, name) = (metric[0].as_str().unwrap_or_default(), metric[1].as_str().unwrap_or_default());
            if !is_published(namespace, name) {
                wrong.push(format!("{}: nobody publishes {namespace} {name}", dashboard.name));
            }
        }
    }
    wrong
}

/// Every alarm says what to do next; where that is a section of the runbook, it is there.
pub(crate) fn say_what_is_next(template: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    for alarm in template.resources("AWS::CloudWatch::Alarm") {
        let description = alarm.property("/AlarmDescription").as_str().unwrap_or_default();
        let Some((_what, next)) = description.split_once("Next: ") else {
            wrong.push(format!("{} does not say what is next", alarm.name));
            continue;
        };
        let section = next.strip_prefix("docs/OPERATIONS.md, ").map(|section| section.trim_end_matches('.'));
        if section.is_some_and(|section| !RUNBOOK.lines().any(|line| line == format!("## {section}"))) {
            wrong.push(format!("{}: docs/OPERATIONS.md has no section {section:?}", alarm.name));
        }
    }
    wrong
}
