//! What can be reached from outside.

use serde_json::json;

use crate::template::Template;

pub(crate) fn one_url(template: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    for function in template.functions() {
        let url = function.property("/FunctionUrlConfig");
        // The function asks for tokens itself.
        let expected = if function.function_name() == "status" {
            json!({"AuthType": "NONE", "InvokeMode": "BUFFERED"})
        } else {
            json!(null)
        };
        if url != &expected {
            wrong.push(format!("{}: FunctionUrlConfig must be {expected}", function.name));
        }
    }
    wrong
}

/// Resources are of the types that are known here, and no function has events: whatever would call one is seen.
pub(crate) fn no_other_callers(template: &Template) -> Vec<String> {
    const KNOWN: [&str; 7] = [
        "AWS::Serverless::Function",
        "AWS::Serverless::StateMachine",
        "AWS::Scheduler::Schedule",
        "AWS::IAM::Role",
        "AWS::Logs::LogGroup",
        "AWS::CloudWatch::Alarm",
        "AWS::CloudWatch::Dashboard",
    ];
    let mut wrong = Vec::new();
    for (name, resource) in template.0["Resources"].as_object().into_iter().flatten() {
        if !KNOWN.iter().any(|kind| resource["Type"] == *kind) {
            wrong.push(format!("{name} is of a type that no rule knows: {}", resource["Type"]));
        }
        if !resource["Properties"]["Events"].is_null() {
            wrong.push(format!("{name} has events; ticks come from the schedule alone"));
        }
    }
    wrong
}
