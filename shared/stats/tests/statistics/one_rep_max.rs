use rust_decimal::Decimal;
use tidemark_stats::{Formula, Kilograms, RecordKind, Unit, one_rep_max};

use crate::log::{Log, decimal, kilograms, records};

const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/e1rm_reference.csv");

fn estimate(formula: Formula, load: i64, reps: i32, max_reps: u8) -> Option<Decimal> {
    one_rep_max(formula, Kilograms::whole(load), reps, max_reps)
        .map(|estimate| estimate.rounded().to_unit_rounded(Unit::Kilogram, 4))
}

#[test]
fn every_row_of_the_reference_table_is_met() {
    let mut reader = csv::Reader::from_path(REFERENCE).unwrap();
    let columns = reader.headers().unwrap().clone();
    let column = |name: &str| columns.iter().position(|column| column == name).unwrap();
    let mut compared = 0;
    for row in reader.records() {
        let row = row.unwrap();
        let (load, reps) = (row[column("weight")].parse().unwrap(), row[column("reps")].parse().unwrap());
        for (formula, name) in [(Formula::Epley, "epley"), (Formula::Brzycki, "brzycki")] {
            let expected = row[column(name)].parse::<Decimal>().ok();
            assert_eq!(estimate(formula, load, reps, 40), expected, "{name}, {reps} reps");
            compared += 1;
        }
    }
    assert_eq!(compared, 40);
}

#[test]
fn c01_one_repetition_is_its_own_maximum_in_any_formula() {
    for formula in [Formula::Brzycki, Formula::Epley] {
        assert_eq!(estimate(formula, 100, 1, 12), Some(decimal("100")));
    }
}

#[test]
fn c03_a_set_of_191_reps_has_no_estimate_but_stands_as_reps_record() {
    let stats = Log::lifting().day("2025-01-01", &[("60 kg", 20)]).day("2025-01-02", &[("60 kg", 191)]).stats();
    assert_eq!((stats.best_e1rm_kg, stats.best_e1rm_formula, stats.most_reps), (None, None, Some(191)));
    assert!(records(&stats, RecordKind::EstimatedOneRepMax).is_empty());
    assert_eq!(records(&stats, RecordKind::Reps), [("2025-01-02".to_owned(), "191".to_owned())]);
}

#[test]
fn c04_no_estimate_is_made_above_the_cap_and_both_formulas_meet_at_ten_reps() {
    for formula in [Formula::Brzycki, Formula::Epley] {
        assert_eq!(estimate(formula, 100, 10, 10), Some(decimal("133.3333")));
        assert_eq!(estimate(formula, 100, 11, 10), None);
    }
    let [brzycki, epley] = [Formula::Brzycki, Formula::Epley].map(|f| one_rep_max(f, Kilograms::whole(100), 10, 12));
    assert_eq!(brzycki, epley, "equal as fractions, before any rounding");
}

#[test]
fn the_cap_of_the_profile_holds_and_never_exceeds_twelve() {
    let capped_at = |max_reps| {
        let mut log = Log::lifting().day("2025-01-01", &[("100 kg", 11)]).day("2025-01-02", &[("100 kg", 13)]);
        log.0.profile.estimate_max_reps = max_reps;
        kilograms(log.stats().best_e1rm_kg)
    };
    assert_eq!(capped_at(10), None);
    assert_eq!(capped_at(11), Some("138.461538".to_owned()));
    assert_eq!(capped_at(200), Some("138.461538".to_owned()));
}

#[test]
fn no_estimate_is_made_without_a_positive_load() {
    for load in [0, -20] {
        assert_eq!(estimate(Formula::Brzycki, load, 5, 12), None);
    }
    let stats = Log::lifting().day("2025-01-01", &[("0 kg", 5), ("-20 kg", 5)]).stats();
    assert_eq!((stats.best_e1rm_kg, stats.heaviest_kg, stats.best_set_volume_kg), (None, None, None));
    assert_eq!(stats.most_reps, Some(5));
}

#[test]
fn no_estimate_is_made_for_no_repetitions_or_where_the_formula_ends() {
    assert_eq!(estimate(Formula::Epley, 100, 0, 12), None);
    assert_eq!(estimate(Formula::Brzycki, 100, 36, 255), Some(decimal("3600")));
    assert_eq!(estimate(Formula::Brzycki, 100, 37, 255), None);
}

#[test]
fn estimates_are_compared_as_fractions_and_rounded_only_on_output() {
    // 120 × 10 and 160 × 1 are the same estimate; a later tie changes nothing.
    let stats = Log::lifting().day("2025-01-01", &[("120 kg", 10)]).day("2025-01-02", &[("160 kg", 1)]).stats();
    assert_eq!((kilograms(stats.best_e1rm_kg), stats.best_e1rm_on.unwrap().day()), (Some("160".to_owned()), 1));
    assert_eq!(stats.best_e1rm_formula, Some(Formula::Brzycki));
    // A millionth of a gram more is a record, although both are written alike.
    let stats = Log::lifting().day("2025-01-01", &[("100 kg", 4), ("100.000000001 kg", 4)]).stats();
    assert_eq!(kilograms(stats.best_e1rm_kg), Some("109.090909".to_owned()));
    assert_eq!(records(&stats, RecordKind::EstimatedOneRepMax).len(), 1);
}
