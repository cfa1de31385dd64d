//! What roles may do: exactly what is needed, on exactly what it is needed for.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::template::{Resource, Template, arn, listed, strings};

/// Every statement of a role, those that stand under a condition as well.
fn statements(role: Resource<'_>) -> Vec<&Value> {
    let mut found = Vec::new();
    let policies = listed(role.property("/Policies"));
    for policy in policies {
        let alternatives = policy["Fn::If"].as_array().map_or_else(|| vec![policy], |parts| parts.iter().collect());
        for alternative in alternatives {
            found.extend(listed(&alternative["PolicyDocument"]["Statement"]));
        }
    }
    found.retain(|statement| statement.is_object());
    found
}

pub(crate) fn no_wildcards(template: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    let managed = json!([{"Fn::If": [
        "InVpc",
        {"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole"},
        {"Ref": "AWS::NoValue"},
    ]}]);
    for role in template.resources("AWS::IAM::Role") {
        for statement in statements(role) {
            if strings(statement).iter().any(|text| text.contains('*') || text.starts_with("Not")) {
                wrong.push(format!("{}: a wildcard in {statement}", role.name));
            }
        }
        // Network interfaces of a VPC cannot be named before they are there: Amazon's own policy, and only in a VPC.
        if !role.property("/ManagedPolicyArns").is_null() && role.property("/ManagedPolicyArns") != &managed {
            wrong.push(format!("{}: a managed policy but that of a VPC", role.name));
        }
    }
    for function in template.functions() {
        // SAM adds managed policies of its own to a function without a role.
        let role = template.by_arn(function.property("/Role"));
        if role.is_none() || !function.property("/Policies").is_null() {
            wrong.push(format!("{}: it must name a role of this template and have no policies", function.name));
        }
    }
    wrong
}

pub(crate) fn exact_actions(template: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for function in template.functions() {
        let Some(role) = template.by_arn(function.property("/Role")) else { continue };
        let worker = function.function_name() != "migrate";
        let mut expected =
            BTreeSet::from(["logs:CreateLogStream", "logs:PutLogEvents", "secretsmanager:GetSecretValue"]);
        if worker {
            expected.insert("rds-db:connect");
        }
        compare(role, &expected, &mut wrong);
        if !used.insert(role.name) {
            wrong.push(format!("{} shares its role", function.name));
        }
    }
    let invokes = template.resources("AWS::Serverless::StateMachine");
    for machine in invokes {
        if let Some(role) = template.by_arn(machine.property("/Role")) {
            compare(role, &BTreeSet::from(["lambda:InvokeFunction"]), &mut wrong);
            used.insert(role.name);
            let called: Vec<Value> = template.ticking().iter().map(|function| arn(function.name)).collect();
            let allowed: Vec<&Value> =
                statements(role).into_iter().flat_map(|statement| listed(&statement["Resource"])).collect();
            if allowed != called.iter().collect::<Vec<_>>() {
                wrong.push(format!("{}: it must invoke the four functions that tick", role.name));
            }
        }
    }
    for schedule in template.resources("AWS::Scheduler::Schedule") {
        if let Some(role) = template.by_arn(schedule.property("/Target/RoleArn")) {
            compare(role, &BTreeSet::from(["states:StartExecution"]), &mut wrong);
            used.insert(role.name);
        }
    }
    for role in template.resources("AWS::IAM::Role") {
        if !used.contains(role.name) {
            wrong.push(format!("{}: nobody takes it on", role.name));
        }
    }
    wrong
}

fn compare(role: Resource<'_>, expected: &BTreeSet<&str>, wrong: &mut Vec<String>) {
    let statements = statements(role);
    let actions: BTreeSet<&str> =
        statements.iter().flat_map(|statement| listed(&statement["Action"])).filter_map(Value::as_str).collect();
    if &actions != expected {
        wrong.push(format!("{}: it may do {actions:?} and needs {expected:?}", role.name));
    }
    if statements.iter().any(|statement| statement["Effect"] != "Allow" || statement["Resource"].is_null()) {
        wrong.push(format!("{}: a statement that names no resource", role.name));
    }
}

/// A function that is told a secret's name may read that secret, and no other function may.
pub(crate) fn secrets_follow_variables(template: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    for function in template.functions() {
        let Some(role) = template.by_arn(function.property("/Role")) else { continue };
        let secrets = |value: &Value| -> BTreeSet<String> {
            strings(value).into_iter().filter(|text| text.ends_with("SecretArn")).map(str::to_owned).collect()
        };
        let told = secrets(function.property("/Environment/Variables"));
        let read: BTreeSet<String> = statements(role)
            .into_iter()
            .filter(|statement| statement["Action"] == "secretsmanager:GetSecretValue")
            .flat_map(|statement| secrets(&statement["Resource"]))
            .collect();
        if told != read {
            wrong.push(format!("{}: it is told of {told:?} and may read {read:?}", function.name));
        }
    }
    wrong
}
