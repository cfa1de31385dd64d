//! Budgets stand in the settings row of the database. The template leaves room for the largest and repeats none.

use serde_json::Value;
use tidemark_queue::DEADLINE_MARGIN;

use crate::template::{TICKING, Template};

const DOCUMENTATION: &str = include_str!("../../docs/SETTINGS.md");

/// The longest that a function may run on the platform, in seconds.
const LONGEST: u64 = 900;

/// The settings and the most that the row allows, as documented; the lane `contract` holds the document against the database.
fn settings() -> Vec<(&'static str, u64)> {
    let rows = DOCUMENTATION.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (cells[1].trim_matches('`'), cells[4].parse().expect("the cell is a number"))
    })
    .collect()
}

pub(crate) fn timeouts_exceed_budgets(template: &Template) -> Vec<String> {
    let settings = settings();
    let mut wrong = Vec::new();
    for name in TICKING {
        let budget = format!("{name}_timeout_ms");
        let most = settings.iter().find(|(setting, _most)| *setting == budget).expect("each function has a budget").1;
        let least = most + u64::try_from(DEADLINE_MARGIN.as_millis()).unwrap();
        let timeout = template.function(name).and_then(|function| function.property("/Timeout").as_u64());
        if timeout.is_none_or(|timeout| timeout * 1_000 <= least || timeout > LONGEST) {
            wrong.push(format!(
                "{name}: the settings row allows {most} ms, the margin makes {least} ms, Timeout is {timeout:?}"
            ));
        }
    }
    for function in template.functions() {
        if function.property("/Timeout").as_u64().is_none_or(|timeout| timeout > LONGEST) {
            wrong.push(format!("{}: Timeout must be a number up to {LONGEST}", function.name));
        }
    }
    wrong
}

/// Neither a parameter nor a variable has the name of a setting, however it is written.
pub(crate) fn no_budget_is_repeated(template: &Template) -> Vec<String> {
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let settings: Vec<String> = settings().into_iter().map(|(name, _most)| plain(name)).collect();
    let keys = |value: &Value| -> Vec<String> {
        value.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    let mut names = keys(&template.0["Parameters"]);
    for function in template.functions() {
        names.extend(keys(function.property("/Environment/Variables")));
    }
    let stem = |setting: &str| setting.trim_end_matches("ms").trim_end_matches("seconds").to_owned();
    let repeats = |name: &String| settings.iter().any(|setting| plain(name).contains(&stem(setting)));
    names.into_iter().filter(repeats).map(|name| format!("{name} belongs into the settings row")).collect()
}
