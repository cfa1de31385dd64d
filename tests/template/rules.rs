//! Every rule by its name. What a rule returns is what is wrong, in words.

use crate::template::Template;
use crate::{alarms, budgets, connections, functions, logs, policies, schedule, surface};

/// A rule.
pub(crate) type Rule = fn(&Template) -> Vec<String>;

/// All of them.
pub(crate) const RULES: [(&str, Rule); 18] = [
    ("one function for each folder of functions/", functions::one_for_each_folder),
    ("functions are built by cargo-lambda for arm64", functions::built_for_arm),
    ("no tick is tried again", functions::ticks_are_not_tried_again),
    ("variables are those that the code reads", functions::variables_are_read),
    ("the guide describes every parameter", functions::parameters_are_described),
    ("timeouts exceed the largest budgets", budgets::timeouts_exceed_budgets),
    ("no budget stands in the template", budgets::no_budget_is_repeated),
    ("connections stay below the worker's limit", connections::below_the_limit),
    ("no policy has a wildcard", policies::no_wildcards),
    ("each role may do exactly what its function needs", policies::exact_actions),
    ("each secret is read by those who are told of it", policies::secrets_follow_variables),
    ("the status function alone has a URL", surface::one_url),
    ("nothing else calls a function", surface::no_other_callers),
    ("one schedule, once a minute", schedule::once_a_minute),
    ("the plan reaches the functions that tick", schedule::plan_reaches_functions),
    ("logs are kept for a time", logs::kept_for_a_time),
    ("alarms look at what there is", alarms::look_at_what_there_is),
    ("alarms say what is next", alarms::say_what_is_next),
];

#[test]
fn the_template_keeps_every_rule() {
    let template = Template::read();
    let broken: Vec<String> = RULES
        .iter()
        .flat_map(|(name, rule)| rule(&template).into_iter().map(move |what| format!("{name}: {what}")))
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
