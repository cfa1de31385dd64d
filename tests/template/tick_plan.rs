//! The state machine that plans ticks, run for real: one tick a second and function, at its planned instant.

use std::collections::BTreeMap;

use crate::scenario::{Outcome, Scenario};

const FUNCTIONS: [&str; 4] = ["Claim", "Compute", "Publish", "Work"];

/// Each function has ticked once for each planned second, at that second and no other.
fn assert_one_tick_a_second(scenario: &Scenario, outcome: &Outcome) {
    let mut asked: BTreeMap<(&str, i64), usize> = BTreeMap::new();
    for invocation in &outcome.invocations {
        assert_eq!((invocation.kind.as_str(), invocation.at), ("Event", invocation.planned_at), "{invocation:?}");
        let second = invocation.planned_at.duration_since(scenario.begin).as_secs();
        *asked.entry((invocation.function.as_str(), second)).or_default() += 1;
    }
    let expected =
        FUNCTIONS.iter().flat_map(|name| scenario.planned().into_iter().map(move |second| ((*name, second), 1)));
    assert_eq!(asked, expected.collect());
    assert!(outcome.executions.iter().all(|status| status == "SUCCEEDED"), "{:?}", outcome.executions);
}

fn scenario(firings: &[(i64, i64)]) -> Scenario {
    Scenario { begin: "2026-03-01T11:59:00Z".parse().unwrap(), firings: firings.to_vec(), refused: Vec::new() }
}

#[test]
fn two_minutes_have_a_tick_each_second_at_its_instant_however_late_in_their_minutes_the_firings_come() {
    // At once and in the last second; late and early; scheduled between two minutes.
    for firings in [[(0, 0), (60, 119)], [(0, 59), (60, 60)], [(30, 47), (90, 133)]] {
        let scenario = scenario(&firings);
        assert_one_tick_a_second(&scenario, &scenario.run());
    }
}

#[test]
fn a_tick_that_the_platform_refuses_costs_its_own_second_and_nothing_else() {
    let scenario = Scenario { refused: vec![("Claim", 70), ("Work", 60), ("Publish", 119)], ..scenario(&[(0, 10)]) };
    assert_one_tick_a_second(&scenario, &scenario.run());
}

#[test]
fn a_firing_that_is_delivered_twice_doubles_the_ticks_and_moves_none() {
    let scenario = scenario(&[(0, 3), (0, 5)]);
    let outcome = scenario.run();
    assert_eq!(outcome.invocations.len(), 2 * 4 * 60);
    assert!(outcome.invocations.iter().all(|invocation| invocation.at == invocation.planned_at));
    assert_eq!(outcome.executions, ["SUCCEEDED"; 2]);
}
