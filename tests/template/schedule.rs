//! Where ticks come from.

use serde_json::{Value, json};

use crate::template::{Template, arn, strings};

/// An inline Map runs no more iterations at a time.
const INLINE_MAP_MAX: u64 = 40;

pub(crate) fn once_a_minute(template: &Template) -> Vec<String> {
    let schedules = template.resources("AWS::Scheduler::Schedule");
    let machines = template.resources("AWS::Serverless::StateMachine");
    let ([schedule], [machine]) = (schedules.as_slice(), machines.as_slice()) else {
        return vec!["there must be one schedule and one state machine".to_owned()];
    };
    let expected = [
        ("/ScheduleExpression", json!("rate(1 minute)")),
        ("/FlexibleTimeWindow", json!({"Mode": "OFF"})),
        ("/State", json!({"Ref": "ScheduleState"})),
        ("/Target/Arn", json!({"Ref": machine.name})),
        ("/Target/Input", json!(r#"{"scheduled_time": "<aws.scheduler.scheduled-time>"}"#)),
        ("/Target/RetryPolicy/MaximumEventAgeInSeconds", json!(60)),
    ];
    let mut wrong: Vec<String> = expected
        .iter()
        .filter(|(pointer, expected)| schedule.property(pointer) != expected)
        .map(|(pointer, expected)| format!("{}{pointer} must be {expected}", schedule.name))
        .collect();
    // Two minutes of a Standard execution for each minute would cost a hundred times as much.
    if machine.property("/Type") != "EXPRESS" {
        wrong.push(format!("{} must be EXPRESS", machine.name));
    }
    wrong
}

pub(crate) fn plan_reaches_functions(template: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    for machine in template.resources("AWS::Serverless::StateMachine") {
        let substitutions = machine.property("/DefinitionSubstitutions").as_object().cloned().unwrap_or_default();
        let mut reached: Vec<&Value> = substitutions.values().collect();
        let mut ticking: Vec<Value> = template.ticking().iter().map(|function| arn(function.name)).collect();
        reached.sort_by_key(|value| value.to_string());
        ticking.sort_by_key(Value::to_string);
        if reached != ticking.iter().collect::<Vec<_>>() {
            wrong.push(format!("{} must know the functions that tick and no other", machine.name));
        }
        let lanes = machine.property("/Definition/States/Lanes");
        if lanes["MaxConcurrency"].as_u64().is_none_or(|lanes| lanes == 0 || lanes > INLINE_MAP_MAX / 2) {
            wrong.push(format!("{}: two nested Maps run more than {INLINE_MAP_MAX} iterations", machine.name));
        }
        let tick = &lanes["ItemProcessor"]["States"]["Instants"]["ItemProcessor"]["States"]["Tick"];
        if tick["Arguments"]["InvocationType"] != "Event" {
            wrong.push(format!("{}: a tick that waits for its function delays the next", machine.name));
        }
        if !strings(&tick["Catch"]).contains(&"States.ALL")
            || tick["TimeoutSeconds"].as_u64().is_none_or(|limit| limit >= 5)
        {
            wrong.push(format!("{}: a tick that fails or hangs costs those after it", machine.name));
        }
    }
    wrong
}
