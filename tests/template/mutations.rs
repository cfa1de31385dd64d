//! Each rule sees what it is for: a template that breaks one is found, by that rule.

use serde_json::{Value, json};

use crate::rules::RULES;
use crate::template::Template;

/// The rule that must see it, where the template is changed, and to what; `null` takes the value away.
fn mutations() -> Vec<(&'static str, &'static str, Value)> {
    let claim_logs = "/Resources/ClaimRole/Properties/Policies/0/PolicyDocument/Statement/0";
    let actions = json!(["logs:CreateLogStream", "logs:PutLogEvents", "logs:CreateLogGroup"]);
    let plan = "/Resources/TickPlan/Properties";
    let lanes = "/Resources/TickPlan/Properties/Definition/States/Lanes";
    let tick = "/Resources/TickPlan/Properties/Definition/States/Lanes/ItemProcessor/States/Instants/ItemProcessor/States/Tick";
    let of = |rule: &'static str, base: &str, rest: &str, value: Value| {
        (rule, &*Box::leak(format!("{base}{rest}").into_boxed_str()), value)
    };
    vec![
        of("one function for each folder of functions/", "/Resources/MigrateFunction", "", Value::Null),
        of(
            "one function for each folder of functions/",
            "/Resources/WorkFunction/Properties/CodeUri",
            "",
            json!("functions/claim"),
        ),
        of("functions are built by cargo-lambda for arm64", "/Globals/Function/Architectures", "", json!(["x86_64"])),
        of(
            "functions are built by cargo-lambda for arm64",
            "/Resources/ClaimFunction/Metadata/BuildMethod",
            "",
            json!("makefile"),
        ),
        of(
            "functions are built by cargo-lambda for arm64",
            "/Resources/ClaimFunction/Properties/Runtime",
            "",
            json!("provided.al2"),
        ),
        of(
            "no tick is tried again",
            "/Resources/ComputeFunction/Properties/EventInvokeConfig/MaximumRetryAttempts",
            "",
            json!(2),
        ),
        of("no tick is tried again", "/Resources/WorkFunction/Properties/EventInvokeConfig", "", Value::Null),
        of(
            "variables are those that the code reads",
            "/Resources/ClaimFunction/Properties/Environment/Variables/DATABASE_URI",
            "",
            json!("x"),
        ),
        of(
            "alarms say what is next",
            "/Resources/StaleAlarm/Properties/AlarmDescription",
            "",
            json!("Something waits."),
        ),
        of(
            "alarms say what is next",
            "/Resources/StaleAlarm/Properties/AlarmDescription",
            "",
            json!("It waits. Next: docs/OPERATIONS.md, stale."),
        ),
        of("the guide describes every parameter", "/Parameters/Region", "", json!({"Type": "String"})),
        of("timeouts exceed the largest budgets", "/Resources/ComputeFunction/Properties/Timeout", "", json!(600)),
        of("timeouts exceed the largest budgets", "/Resources/PublishFunction/Properties/Timeout", "", json!(9)),
        of("timeouts exceed the largest budgets", "/Resources/WorkFunction/Properties/Timeout", "", json!(1000)),
        of(
            "no budget stands in the template",
            "/Resources/ComputeFunction/Properties/Environment/Variables/COMPUTE_TIMEOUT_MS",
            "",
            json!("1"),
        ),
        of("no budget stands in the template", "/Parameters/MaxActive", "", json!({"Type": "Number"})),
        of("no budget stands in the template", "/Parameters/LeaseMinutes", "", json!({"Type": "Number"})),
        of(
            "connections stay below the worker's limit",
            "/Resources/WorkFunction/Properties/ReservedConcurrentExecutions",
            "",
            json!(8),
        ),
        of(
            "connections stay below the worker's limit",
            "/Resources/StatusFunction/Properties/ReservedConcurrentExecutions",
            "",
            Value::Null,
        ),
        of("no policy has a wildcard", claim_logs, "/Resource", json!("*")),
        of("no policy has a wildcard", claim_logs, "/Action", json!("logs:*")),
        of(
            "no policy has a wildcard",
            "/Resources/ClaimRole/Properties/ManagedPolicyArns",
            "",
            json!(["arn:aws:iam::aws:policy/AdministratorAccess"]),
        ),
        of("no policy has a wildcard", "/Resources/StatusFunction/Properties/Role", "", Value::Null),
        of("each role may do exactly what its function needs", claim_logs, "/Action", actions),
        of(
            "each role may do exactly what its function needs",
            "/Resources/TickPlanRole/Properties/Policies/0/PolicyDocument/Statement/0/Resource/4",
            "",
            json!({"Fn::GetAtt": ["MigrateFunction", "Arn"]}),
        ),
        of(
            "each role may do exactly what its function needs",
            "/Resources/ClaimFunction/Properties/Role",
            "",
            json!({"Fn::GetAtt": ["WorkRole", "Arn"]}),
        ),
        of(
            "each secret is read by those who are told of it",
            "/Resources/ClaimFunction/Properties/Environment/Variables/STATUS_TOKENS_SECRET_ARN",
            "",
            json!({"Ref": "StatusTokensSecretArn"}),
        ),
        of(
            "each secret is read by those who are told of it",
            "/Resources/StatusFunction/Properties/Environment/Variables/STATUS_TOKENS_SECRET_ARN",
            "",
            Value::Null,
        ),
        of(
            "the status function alone has a URL",
            "/Resources/WorkFunction/Properties/FunctionUrlConfig",
            "",
            json!({"AuthType": "NONE"}),
        ),
        of(
            "the status function alone has a URL",
            "/Resources/StatusFunction/Properties/FunctionUrlConfig/AuthType",
            "",
            json!("AWS_IAM"),
        ),
        of(
            "nothing else calls a function",
            "/Resources/Everybody",
            "",
            json!({"Type": "AWS::Lambda::Permission", "Properties": {"Principal": "*"}}),
        ),
        of(
            "nothing else calls a function",
            "/Resources/ClaimFunction/Properties/Events",
            "",
            json!({"Tick": {"Type": "ScheduleV2"}}),
        ),
        of(
            "one schedule, once a minute",
            "/Resources/Schedule/Properties/ScheduleExpression",
            "",
            json!("rate(10 seconds)"),
        ),
        of(
            "one schedule, once a minute",
            "/Resources/Schedule/Properties/FlexibleTimeWindow/Mode",
            "",
            json!("FLEXIBLE"),
        ),
        of("one schedule, once a minute", "/Resources/Schedule/Properties/State", "", json!("ENABLED")),
        of("one schedule, once a minute", plan, "/Type", json!("STANDARD")),
        of(
            "the plan reaches the functions that tick",
            plan,
            "/DefinitionSubstitutions/Work",
            json!({"Fn::GetAtt": ["MigrateFunction", "Arn"]}),
        ),
        of("the plan reaches the functions that tick", lanes, "/MaxConcurrency", json!(60)),
        of("the plan reaches the functions that tick", tick, "/Catch", Value::Null),
        of("the plan reaches the functions that tick", tick, "/TimeoutSeconds", Value::Null),
        of("the plan reaches the functions that tick", tick, "/Arguments/InvocationType", json!("RequestResponse")),
        of("logs are kept for a time", "/Resources/PublishLogs/Properties/RetentionInDays", "", Value::Null),
        of("logs are kept for a time", "/Resources/PublishFunction/Properties/LoggingConfig", "", Value::Null),
        of("logs are kept for a time", claim_logs, "/Resource", json!({"Fn::GetAtt": ["WorkLogs", "Arn"]})),
        of("alarms look at what there is", "/Resources/ClaimNotTickingAlarm", "", Value::Null),
        of(
            "alarms look at what there is",
            "/Resources/ClaimNotTickingAlarm/Properties/TreatMissingData",
            "",
            json!("missing"),
        ),
        of("alarms look at what there is", "/Resources/DeadJobsAlarm/Properties/MetricName", "", json!("DeadJob")),
        of("alarms look at what there is", "/Resources/StaleAlarm/Properties/AlarmActions", "", Value::Null),
        of("alarms look at what there is", "/Resources/Dashboard/Properties/DashboardBody/Fn::Sub", "", json!("{")),
    ]
}

/// Sets the value at a pointer whose last part may be new, or takes it away.
fn change(document: &mut Value, pointer: &str, value: Value) {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("there is no {parent}"));
    match (parent, value) {
        (Value::Array(items), value) => items.push(value),
        (parent, Value::Null) => {
            let taken = parent.as_object_mut().unwrap().remove(last);
            assert!(taken.is_some(), "there is no {pointer}");
        }
        (parent, value) => parent[last] = value,
    }
}

#[test]
fn each_rule_sees_what_it_is_for() {
    for (name, pointer, value) in mutations() {
        let mut template = Template::read();
        change(&mut template.0, pointer, value.clone());
        let rule = RULES.iter().find(|(rule, _)| *rule == name).unwrap_or_else(|| panic!("there is no rule {name}")).1;
        assert!(!rule(&template).is_empty(), "{name} does not see {pointer} = {value}");
    }
    for (name, _rule) in RULES {
        assert!(mutations().iter().any(|(rule, ..)| *rule == name), "nothing shows that {name} sees anything");
    }
}
