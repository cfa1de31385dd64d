//! Minutes of the state machine that plans ticks, under a clock that goes by whole seconds.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::template::Template;
use crate::tools::python;

/// How many functions tick.
const FUNCTIONS: usize = 4;

/// An invocation that the state machine asked for.
#[derive(Debug, Deserialize)]
pub(crate) struct Invocation {
    /// The function's name in the template's substitutions.
    pub(crate) function: String,
    /// `Event`: nobody waits for the answer.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// What the function is told.
    pub(crate) planned_at: Timestamp,
    /// The clock when it was asked for.
    pub(crate) at: Timestamp,
}

/// What came of a scenario.
#[derive(Debug, Deserialize)]
pub(crate) struct Outcome {
    /// In the order in which they were asked for.
    pub(crate) invocations: Vec<Invocation>,
    /// How each execution ended.
    pub(crate) executions: Vec<String>,
}

/// Firings of the schedule: the second for which each was scheduled, and the second at which it came, counted from `begin`.
pub(crate) struct Scenario {
    /// The origin of the seconds.
    pub(crate) begin: Timestamp,
    /// Scheduled, fired.
    pub(crate) firings: Vec<(i64, i64)>,
    /// Invocations that the platform refuses: function, second.
    pub(crate) refused: Vec<(&'static str, i64)>,
}

impl Scenario {
    /// The instant of a second.
    pub(crate) fn instant(&self, second: i64) -> Timestamp {
        self.begin + SignedDuration::from_secs(second)
    }

    /// Seconds of the ticks that all firings plan, with repetition.
    pub(crate) fn planned(&self) -> Vec<i64> {
        self.firings.iter().flat_map(|(scheduled, _fired)| (0..60).map(move |second| scheduled + 60 + second)).collect()
    }

    /// Runs the state machine of the template.
    pub(crate) fn run(&self) -> Outcome {
        let planned = self.planned();
        let fired: BTreeMap<i64, Vec<i64>> =
            self.firings.iter().fold(BTreeMap::new(), |mut fired, (scheduled, second)| {
                fired.entry(*second).or_insert_with(Vec::new).push(*scheduled);
                fired
            });
        let (first, last) = (*fired.keys().next().unwrap(), *planned.iter().max().unwrap());
        let steps: Vec<Value> = (first..=last)
            .map(|now| {
                let start = fired.get(&now).into_iter().flatten();
                let events: Vec<Value> =
                    start.map(|scheduled| json!({"scheduled_time": self.instant(*scheduled)})).collect();
                // The clock goes on once everything that is due by now has been asked for: what a firing still to come plans is not.
                let due = self.firings.iter().filter(|(_scheduled, fired)| *fired <= now).flat_map(|(scheduled, _fired)| {
                    (0..60).map(move |second| scheduled + 60 + second)
                });
                json!({"clock": self.instant(now), "start": events, "until": FUNCTIONS * due.filter(|second| *second <= now).count()})
            })
            .collect();
        let refused: Vec<Value> =
            self.refused.iter().map(|(function, second)| json!([function, self.instant(*second)])).collect();
        let scenario = json!({"definition": definition(), "steps": steps, "refused": refused});
        serde_json::from_slice(&python("tick_plan.py", None, scenario.to_string().as_bytes())).expect("an outcome")
    }
}

/// The definition of the state machine, functions known by the names of the template's substitutions.
fn definition() -> Value {
    let template = Template::read();
    let properties = &template.0["Resources"]["TickPlan"]["Properties"];
    let mut text = properties["Definition"].to_string();
    for name in properties["DefinitionSubstitutions"].as_object().unwrap().keys() {
        text = text.replace(&format!("${{{name}}}"), name);
    }
    serde_json::from_str(&text).unwrap()
}
