//! Settings against the functions' own timeouts: a budget that the function does not live to see is none.

use serde_json::Value;

use super::finding::Finding;

/// Seconds that the functions of template.yaml may run.
const TIMEOUTS: [(&str, i64, &str); 4] = [
    ("claim", 60, "claim_timeout_ms"),
    ("compute", 720, "compute_timeout_ms"),
    ("publish", 60, "publish_timeout_ms"),
    ("work", 900, "work_timeout_ms"),
];

/// What a function needs besides its budget, to connect before and to record the outcome after, in milliseconds.
const BESIDES_MS: i64 = 5_000;

/// A function that is deployed with another timeout than template.yaml gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FunctionTimeout {
    function: String,
    seconds: i64,
}

impl std::str::FromStr for FunctionTimeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused =
            || "must be FUNCTION=SECONDS with one of claim, compute, publish, work, and 1 to 900 seconds".to_owned();
        let (function, seconds) = text.split_once('=').ok_or_else(refused)?;
        let seconds = seconds.parse().ok().filter(|seconds| (1..=900).contains(seconds)).ok_or_else(refused)?;
        if !TIMEOUTS.iter().any(|(name, ..)| *name == function) {
            return Err(refused());
        }
        Ok(Self { function: function.to_owned(), seconds })
    }
}

/// Compares the budgets of `row`, the settings, with the functions' timeouts.
pub(crate) fn check(row: &Value, deployed: &[FunctionTimeout]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = TIMEOUTS
        .iter()
        .filter_map(|(function, seconds, setting)| {
            budget(row, function, timeout(function, *seconds, deployed), setting)
        })
        .collect();
    if findings.is_empty() {
        findings.push(Finding::ok("settings", "every budget fits in its function's timeout"));
    }
    findings
}

fn timeout(function: &str, of_template: i64, deployed: &[FunctionTimeout]) -> i64 {
    deployed.iter().rev().find(|one| one.function == function).map_or(of_template, |one| one.seconds)
}

fn budget(row: &Value, function: &str, seconds: i64, setting: &str) -> Option<Finding> {
    let budget = row[setting].as_i64()?;
    let least = (budget + BESIDES_MS + 999) / 1000;
    (least > seconds).then(|| {
        let what = format!("{setting} is {budget}, and {function} is ended after {seconds} s: its work is cut off before its budget is over");
        let largest = seconds * 1000 - BESIDES_MS;
        let next = if largest > 0 {
            format!("`tidemark settings set {setting}={largest}` at most, or give {function} a timeout of {least} s or more")
        } else {
            format!("give {function} a timeout of {least} s or more")
        };
        Finding::failed("settings", what, next)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::finding::State;

    const TEMPLATE: &str = include_str!("../../../../template.yaml");

    #[test]
    fn the_timeouts_are_those_of_the_template() {
        for (function, seconds, _setting) in TIMEOUTS {
            let title = format!("  {}{}Function:\n", function[..1].to_uppercase(), &function[1..]);
            let (_before, resource) = TEMPLATE.split_once(&title).expect("the template has the function");
            let (_before, value) = resource.split_once("\n      Timeout: ").expect("the function has a timeout");
            assert_eq!(value.lines().next(), Some(seconds.to_string().as_str()), "{function}");
        }
    }

    #[test]
    fn the_largest_budgets_that_the_row_allows_fit_in_the_template() {
        let row = json!({"claim_timeout_ms": 30_000, "compute_timeout_ms": 600_000, "publish_timeout_ms": 7_999, "work_timeout_ms": 840_000});
        assert_eq!(check(&row, &[])[0].state, State::Ok);
    }

    #[test]
    fn a_function_that_is_ended_before_its_budget_is_told_with_both_remedies() {
        let row = json!({"claim_timeout_ms": 3000, "compute_timeout_ms": 60_000, "publish_timeout_ms": 6000, "work_timeout_ms": 60_000});
        let findings = check(&row, &["compute=30".parse().expect("a timeout")]);
        assert_eq!((findings.len(), findings[0].state), (1, State::Failed));
        let next = findings[0].next.as_deref().expect("a remedy");
        assert!(next.contains("compute_timeout_ms=25000") && next.contains("65 s"), "{next}");
        for wrong in ["compute", "compute=0", "compute=901", "status=3", "=3"] {
            assert!(wrong.parse::<FunctionTimeout>().is_err(), "{wrong}");
        }
    }
}
