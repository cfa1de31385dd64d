//! Logs: a group of its own for each function, kept for a time.

use serde_json::json;

use crate::template::{Template, arn, strings};

pub(crate) fn kept_for_a_time(template: &Template) -> Vec<String> {
    let groups = template.resources("AWS::Logs::LogGroup");
    let mut wrong = Vec::new();
    for function in template.functions() {
        let group = groups
            .iter()
            .find(|group| function.property("/LoggingConfig") == &json!({"LogGroup": {"Ref": group.name}}));
        let Some(group) = group else {
            wrong.push(format!("{} has no log group of this template", function.name));
            continue;
        };
        if group.property("/RetentionInDays") != &json!({"Ref": "LogRetentionDays"}) {
            wrong.push(format!("{}: RetentionInDays must be LogRetentionDays", group.name));
        }
        let written = template.by_arn(function.property("/Role")).is_some_and(|role| {
            let policies = role.property("/Policies").as_array().cloned().unwrap_or_default();
            policies.iter().filter(|policy| policy["PolicyName"] == "logs").all(|policy| {
                policy["PolicyDocument"]["Statement"][0]["Resource"] == arn(group.name)
                    && strings(policy).contains(&"logs:PutLogEvents")
            })
        });
        if !written {
            wrong.push(format!("{}: its role must write to {} alone", function.name, group.name));
        }
    }
    wrong
}
