//! Connections: as many as environments may be at once, below what the role of the functions is allowed.

use crate::template::Template;

const ROLES: &str = include_str!("../../migrations/sql/0001_roles.sql");

/// Connections of one environment. The work function has one for claims, one for the heartbeat and one for its handlers.
fn of_one_environment(function: &str) -> u64 {
    if function == "work" { 3 } else { 1 }
}

/// What the migrations allow tidemark_worker.
fn limit() -> u64 {
    let (_before, after) = ROLES.split_once("CONNECTION LIMIT ").expect("the role has a limit");
    after.split(|character: char| !character.is_ascii_digit()).next().unwrap().parse().unwrap()
}

pub(crate) fn below_the_limit(template: &Template) -> Vec<String> {
    let mut sum = 0;
    let mut wrong = Vec::new();
    for function in template.functions() {
        match function.property("/ReservedConcurrentExecutions").as_u64() {
            None | Some(0) => wrong.push(format!("{} has no reserved concurrency", function.name)),
            // Its credentials are another role's.
            Some(_) if function.function_name() == "migrate" => {}
            Some(concurrency) => sum += concurrency * of_one_environment(function.function_name()),
        }
    }
    if sum > limit() {
        wrong.push(format!("{sum} connections, and tidemark_worker may have {}", limit()));
    }
    wrong
}
