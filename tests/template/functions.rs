//! What every function has in common.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::template::Template;
use crate::tools::root;

const GUIDE: &str = include_str!("../../docs/DEPLOY.md");

pub(crate) fn one_for_each_folder(template: &Template) -> Vec<String> {
    let folders: BTreeSet<String> = fs::read_dir(root().join("functions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let names: Vec<String> = template.functions().iter().map(|function| function.function_name().to_owned()).collect();
    let distinct: BTreeSet<String> = names.iter().cloned().collect();
    if distinct == folders && names.len() == folders.len() {
        return Vec::new();
    }
    vec![format!("the folders are {folders:?}, the functions {names:?}")]
}

pub(crate) fn built_for_arm(template: &Template) -> Vec<String> {
    let globals = &template.0["Globals"]["Function"];
    let shared = json!({"Runtime": "provided.al2023", "Architectures": ["arm64"]});
    let mut wrong = Vec::new();
    for (property, expected) in shared.as_object().unwrap() {
        if &globals[property] != expected {
            wrong.push(format!("Globals: {property} must be {expected}"));
        }
    }
    for function in template.functions() {
        if function.whole["Metadata"]["BuildMethod"] != "rust-cargolambda" {
            wrong.push(format!("{}: BuildMethod must be rust-cargolambda", function.name));
        }
        if ["/Runtime", "/Architectures"].iter().any(|pointer| !function.property(pointer).is_null()) {
            wrong.push(format!("{}: Runtime and Architectures stand in Globals", function.name));
        }
    }
    wrong
}

pub(crate) fn ticks_are_not_tried_again(template: &Template) -> Vec<String> {
    let expected = json!({"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60});
    let other = template.ticking().into_iter().filter(|function| function.property("/EventInvokeConfig") != &expected);
    other.map(|function| format!("{}: EventInvokeConfig must be {expected}", function.name)).collect()
}

/// Variables that the runtime's configuration is about to read.
const AGREED: [&str; 4] =
    ["DATABASE_SECRET_ARN", "DATABASE_IAM_AUTH", "STATUS_TOKENS_SECRET_ARN", "ALERT_TARGETS_SECRET_ARN"];

/// A variable is read where its name stands in the code of a room that ends in a function.
pub(crate) fn variables_are_read(template: &Template) -> Vec<String> {
    let mut code = String::new();
    for room in ["functions", "shared/runtime/src", "shared/handlers/src", "shared/status/src"] {
        gather(&root().join(room), &mut code);
    }
    let mut wrong = Vec::new();
    for function in template.functions() {
        let variables = function.property("/Environment/Variables").as_object();
        for name in variables.into_iter().flat_map(|variables| variables.keys()) {
            if !AGREED.contains(&name.as_str()) && !code.contains(&format!("\"{name}\"")) {
                wrong.push(format!("{}: nothing reads {name}", function.name));
            }
        }
    }
    wrong
}

fn gather(folder: &Path, code: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, code);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

pub(crate) fn parameters_are_described(template: &Template) -> Vec<String> {
    let names = template.0["Parameters"].as_object().into_iter().flatten().map(|(name, _)| name);
    let unknown = names.filter(|name| !GUIDE.contains(&format!("`{name}`")));
    unknown.map(|name| format!("docs/DEPLOY.md does not say what {name} is")).collect()
}
