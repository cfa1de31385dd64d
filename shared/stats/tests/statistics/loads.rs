use rust_decimal::Decimal;
use tidemark_stats::{LoadKind, RecordKind, Set};

use crate::log::{Log, decimal, kilograms, lift, pounds, records, weight};

#[test]
fn c06_a_weighted_pull_up_is_estimated_on_bodyweight_and_added_weight() {
    let log = Log::of_kind(LoadKind::Bodyweight).epley().bodyweight("2025-01-01", "180 lb");
    let stats = log.day("2025-01-02", &[("22 lb", 8)]).stats();
    assert_eq!(pounds(stats.best_e1rm_kg, 3), Some(decimal("255.867")));
    assert_eq!(pounds(stats.heaviest_kg, 6), Some(decimal("202")));
}

#[test]
fn c07_less_assistance_is_a_record() {
    let log = Log::of_kind(LoadKind::Assisted).epley().bodyweight("2025-01-01", "80 kg");
    let first = log.clone().day("2025-01-01", &[("30 kg", 8)]).stats();
    assert_eq!(kilograms(first.best_e1rm_kg), Some("63.333333".to_owned()));
    let stats = log.day("2025-01-01", &[("30 kg", 8)]).day("2025-01-02", &[("20 kg", 8)]).stats();
    assert_eq!(kilograms(stats.heaviest_kg), Some("60".to_owned()));
    assert_eq!(kilograms(stats.best_e1rm_kg), Some("76".to_owned()));
    assert_eq!(records(&stats, RecordKind::Assistance), [("2025-01-02".to_owned(), "20".to_owned())]);
    assert_eq!(kilograms(stats.least_assistance_kg), Some("20".to_owned()));
    assert_eq!(stats.least_assistance_on.unwrap().to_string(), "2025-01-02");
}

#[test]
fn assistance_may_be_written_with_either_sign() {
    let log = Log::of_kind(LoadKind::Assisted).bodyweight("2025-01-01", "80 kg");
    let [minus, plus] = ["-30 kg", "30 kg"].map(|text| log.clone().day("2025-01-01", &[(text, 8)]).stats());
    assert_eq!((minus.heaviest_kg, minus.least_assistance_kg), (plus.heaviest_kg, plus.least_assistance_kg));
    assert_eq!(kilograms(minus.heaviest_kg), Some("50".to_owned()));
}

#[test]
fn without_a_bodyweight_the_load_is_unknown_but_reps_and_least_assistance_count() {
    let assisted = Log::of_kind(LoadKind::Assisted).day("2025-01-01", &[("30 kg", 8), ("20 kg", 6)]).stats();
    assert_eq!((assisted.heaviest_kg, assisted.best_e1rm_kg), (None, None));
    assert_eq!(kilograms(assisted.least_assistance_kg), Some("20".to_owned()));
    assert_eq!((assisted.reps, assisted.most_reps), (14, Some(8)));
    let bodyweight = Log::of_kind(LoadKind::Bodyweight).day("2025-01-01", &[("10 kg", 8)]).stats();
    assert_eq!((bodyweight.heaviest_kg, bodyweight.effective_volume_kg.to_string()), (None, "0".to_owned()));
    assert_eq!((bodyweight.working_volume_kg.to_string(), bodyweight.sets), ("80".to_owned(), 1));
}

#[test]
fn the_bodyweight_is_the_latest_logged_on_or_before_the_date() {
    let log = Log::of_kind(LoadKind::Bodyweight)
        .bodyweight("2025-03-01", "90 kg")
        .bodyweight("2025-01-10", "80 kg")
        .bodyweight("2025-02-01", "0 kg");
    let heaviest_on = |on: &str| kilograms(log.clone().day(on, &[("5 kg", 3)]).stats().heaviest_kg);
    assert_eq!(heaviest_on("2025-01-09"), None);
    assert_eq!(heaviest_on("2025-01-10"), Some("85".to_owned()));
    assert_eq!(heaviest_on("2025-02-28"), Some("85".to_owned()), "a bodyweight of zero is passed over");
    assert_eq!(heaviest_on("2025-03-01"), Some("95".to_owned()));
}

#[test]
fn a_share_of_the_bodyweight_is_moved_and_no_weight_written_adds_nothing() {
    let mut log = Log::of_kind(LoadKind::Bodyweight).bodyweight("2025-01-01", "80 kg");
    log.0.exercises[0].bodyweight_share = decimal("0.65");
    let workout = log.workout("2025-01-01");
    log.add(Set { weight: None, ..lift(workout, 0, "0 kg", 10) });
    let stats = log.stats();
    assert_eq!(kilograms(stats.heaviest_kg), Some("52".to_owned()));
    assert_eq!((stats.effective_volume_kg.to_string(), stats.total_volume_kg.to_string()), ("520".into(), "0".into()));
}

#[test]
fn a_share_of_typed_pounds_is_exact() {
    let mut log = Log::of_kind(LoadKind::Bodyweight).bodyweight("2025-01-01", "180.5 lb");
    log.0.exercises[0].bodyweight_share = decimal("0.35");
    let expected = decimal("180.5") * decimal("0.45359237") * decimal("0.35");
    let stats = log.day("2025-01-01", &[("0 kg", 1)]).stats();
    assert_eq!(kilograms(stats.heaviest_kg), Some(expected.normalize().to_string()));
}

#[test]
fn assistance_above_the_bodyweight_is_no_load_and_no_volume() {
    let log = Log::of_kind(LoadKind::Assisted).bodyweight("2025-01-01", "60 kg");
    let stats = log.day("2025-01-01", &[("70 kg", 8), ("60 kg", 8)]).stats();
    assert_eq!(
        (stats.heaviest_kg, stats.best_e1rm_kg, stats.effective_volume_kg.to_string()),
        (None, None, "0".into())
    );
}

#[test]
fn c09_volume_of_a_per_side_exercise_counts_twice_and_its_sets_once() {
    let mut log = Log::lifting();
    log.0.exercises[0].implements = 2;
    let stats = log.day("2025-01-01", &[("120 lb", 3)]).stats();
    assert_eq!(pounds(Some(stats.effective_volume_kg), 6), Some(decimal("720")));
    assert_eq!(pounds(stats.best_set_volume_kg, 6), Some(decimal("720")));
    assert_eq!((pounds(stats.best_set_kg, 6), stats.sets), (Some(decimal("120")), 1));
    assert_eq!(pounds(Some(stats.total_volume_kg), 6), Some(decimal("360")), "as logged");
}

#[test]
fn c09_repetitions_of_one_side_count_for_both() {
    let mut log = Log::lifting();
    log.0.exercises[0].per_side = true;
    let stats = log.day("2025-01-01", &[("120 lb", 3)]).stats();
    assert_eq!(pounds(Some(stats.effective_volume_kg), 6), Some(decimal("720")));
    assert_eq!((stats.reps, stats.total_reps, stats.sets), (6, 6, 1));
    assert_eq!(stats.most_reps, Some(3), "a record is what was done in a row");
}

#[test]
fn c10_volume_of_one_implement_counts_once() {
    let stats = Log::lifting().day("2025-01-01", &[("60 lb", 10)]).stats();
    assert_eq!(pounds(Some(stats.effective_volume_kg), 6), Some(decimal("600")));
}

#[test]
fn an_exercise_without_load_has_reps_and_volume_as_logged_but_no_load_records() {
    let stats = Log::of_kind(LoadKind::Unloaded).bodyweight("2025-01-01", "80 kg").day("2025-01-02", &[("10 kg", 12)]);
    let stats = stats.stats();
    assert_eq!((stats.heaviest_kg, stats.best_e1rm_kg, stats.best_set_volume_kg), (None, None, None));
    assert_eq!((stats.most_reps, stats.total_volume_kg.to_string()), (Some(12), "120".to_owned()));
    assert_eq!(stats.effective_volume_kg.to_string(), "0");
}

#[test]
fn an_external_set_without_weight_has_no_load() {
    let mut log = Log::lifting();
    let workout = log.workout("2025-01-01");
    log.add(Set { weight: None, ..lift(workout, 0, "0 kg", 10) });
    let stats = log.stats();
    assert_eq!((stats.heaviest_kg, stats.total_volume_kg.to_string(), stats.reps), (None, "0".to_owned(), 10));
}

#[test]
fn a_set_that_was_carried_stands_as_heaviest_without_reps() {
    let mut log = Log::lifting();
    let workout = log.workout("2025-01-01");
    let carry = Set { reps: None, distance_meters: Some(Decimal::from(40)), ..lift(workout, 0, "50 kg", 0) };
    log.add(carry.clone()).add(Set { distance_meters: None, weight: Some(weight("90 kg")), ..carry });
    let projections = log.compute();
    let stats = &projections.exercises[0];
    assert_eq!((kilograms(stats.heaviest_kg), stats.heaviest_reps), (Some("50".to_owned()), None));
    assert_eq!(stats.best_set_volume_kg, None);
    assert!(projections.rep_maxes.is_empty());
}
