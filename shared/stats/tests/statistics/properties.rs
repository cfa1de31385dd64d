use std::cmp::Ordering;
use std::collections::HashMap;

use jiff::ToSpan;
use proptest::prelude::*;
use rust_decimal::Decimal;
use tidemark_stats::{
    Kilograms, LoadKind, Projections, RecordKind, RecordValue, Set, SetKind, TypedWeight, Unit, compute, muscles_of,
};

use crate::log::{Log, date, lift, weight};

/// Days after the first, hour of the day, and sets as (exercise, kind, quarter kilograms, reps).
type Day = (i64, i8, Vec<(u32, SetKind, Option<i64>, Option<i32>)>);

fn kinds() -> impl Strategy<Value = SetKind> {
    prop::sample::select(vec![SetKind::Warmup, SetKind::Normal, SetKind::Failure, SetKind::Drop])
}

fn day() -> impl Strategy<Value = Day> {
    let set = (0_u32..4, kinds(), prop::option::weighted(0.9, -40_i64..3000), prop::option::weighted(0.9, 0_i32..15));
    (0_i64..120, 0_i8..24, prop::collection::vec(set, 0..12))
}

fn add_day(log: &mut Log, (after, hour, sets): &Day) {
    let at = date("2024-11-20").saturating_add(after.days()).at(*hour, 0, 0, 0);
    let workout = log.workout(&at.to_string());
    for &(exercise, kind, quarters, reps) in sets {
        let weight = quarters.map(|quarters| TypedWeight::new(Decimal::new(quarters * 25, 2), Unit::Kilogram).unwrap());
        log.add(Set { kind, weight, reps, ..lift(workout, exercise, "0 kg", 0) });
    }
}

fn log(days: &[Day]) -> Log {
    let mut log = Log::lifting().bodyweight("2024-12-01", "80.2 kg").bodyweight("2025-01-15", "179.3 lb");
    for load in [LoadKind::Bodyweight, LoadKind::Assisted, LoadKind::Unloaded] {
        log.exercise(load);
    }
    for (exercise, name) in log.0.exercises.iter_mut().zip(["Bench Press", "Pull Up", "Triceps Dip", "Nobody Knows It"])
    {
        name.clone_into(&mut exercise.name);
    }
    days.iter().for_each(|day| add_day(&mut log, day));
    log
}

/// The same log with its rows in another order and the indices to fit.
fn reversed(log: &Log) -> Log {
    let mut other = log.clone();
    other.0.workouts.reverse();
    other.0.exercises.reverse();
    other.0.bodyweights.reverse();
    other.0.sets.reverse();
    let last = |count: usize| u32::try_from(count).unwrap() - 1;
    for set in &mut other.0.sets {
        set.workout = last(log.0.workouts.len()) - set.workout;
        set.exercise = last(log.0.exercises.len()) - set.exercise;
    }
    other
}

fn strictly_better(kind: RecordKind, earlier: RecordValue, later: RecordValue) -> bool {
    let order = match (earlier, later) {
        (RecordValue::Mass(earlier), RecordValue::Mass(later)) => earlier.cmp(&later),
        (RecordValue::Reps(earlier), RecordValue::Reps(later)) => earlier.cmp(&later),
        _ => return false,
    };
    order == if kind == RecordKind::Assistance { Ordering::Greater } else { Ordering::Less }
}

fn assert_totals_agree(projections: &Projections) {
    let sum = |masses: &mut dyn Iterator<Item = Kilograms>| masses.sum::<Kilograms>();
    let summary = &projections.summary;
    assert_eq!(summary.total_volume_kg, sum(&mut projections.exercises.iter().map(|row| row.total_volume_kg)));
    assert_eq!(summary.total_volume_kg, sum(&mut projections.weekly.iter().map(|row| row.total_volume_kg)));
    assert_eq!(summary.total_volume_kg, sum(&mut summary.monthly.iter().map(|row| row.total_volume_kg)));
    assert_eq!(summary.effective_volume_kg, sum(&mut projections.weekly.iter().map(|row| row.effective_volume_kg)));
    assert_eq!(summary.sets, projections.exercises.iter().map(|row| row.sets).sum::<u64>());
    assert_eq!(summary.sets, projections.weekly.iter().map(|row| row.sets).sum::<u64>());
    assert_eq!(summary.sets, summary.monthly.iter().map(|row| row.sets).sum::<u64>());
    assert_eq!(summary.effective_volume_kg, sum(&mut summary.monthly.iter().map(|row| row.effective_volume_kg)));
    assert_muscles_agree(projections);
}

/// Sets of each muscle and week, added up from the weeks of the exercises in halves.
fn assert_muscles_agree(projections: &Projections) {
    let names: HashMap<_, _> = projections.exercises.iter().map(|row| (row.exercise_id, &row.exercise_name)).collect();
    let mut halves = HashMap::new();
    for week in &projections.weekly {
        let worked = muscles_of(names[&week.exercise_id]);
        for (muscles, share) in [(&worked.primary, 2), (&worked.secondary, 1)] {
            for &muscle in muscles {
                *halves.entry((muscle, week.week_start)).or_insert(0) += share * week.sets;
            }
        }
    }
    let published: HashMap<_, _> =
        projections.muscles.iter().map(|row| ((row.muscle, row.week_start), row.sets * Decimal::TWO)).collect();
    assert_eq!(published.len(), projections.muscles.len(), "each muscle and week once");
    assert_eq!(published, halves.into_iter().map(|(key, sets)| (key, Decimal::from(sets))).collect());
}

proptest! {
    #[test]
    fn adding_and_deleting_a_workout_restores_every_row(days in prop::collection::vec(day(), 0..12), extra in day()) {
        let mut edited = log(&days);
        let before = edited.compute();
        add_day(&mut edited, &extra);
        let added = u32::try_from(days.len()).unwrap();
        prop_assert_eq!(edited.compute().summary.workouts, before.summary.workouts + 1);
        edited.0.sets.retain(|set| set.workout != added);
        edited.0.workouts.pop();
        prop_assert_eq!(edited.compute(), before);
    }

    #[test]
    fn the_order_of_the_rows_does_not_matter(days in prop::collection::vec(day(), 1..12)) {
        let log = log(&days);
        prop_assert_eq!(reversed(&log).compute(), log.compute());
    }

    #[test]
    fn the_same_mass_typed_in_either_unit_gives_the_same_rows(days in prop::collection::vec(day(), 1..8)) {
        // 0.45359237 kg is exactly 1 lb; tenths of a pound keep the kilograms within the nine decimals of a typed weight.
        let mut in_pounds = log(&days);
        let mut in_kilograms = in_pounds.clone();
        for (pound, kilogram) in in_pounds.0.sets.iter_mut().zip(&mut in_kilograms.0.sets) {
            if let Some(typed) = pound.weight {
                let pounds = (typed.value() / Decimal::from(100)).round_dp(1);
                pound.weight = Some(TypedWeight::new(pounds, Unit::Pound).unwrap());
                let mass = pounds * Decimal::new(45_359_237, 8);
                kilogram.weight = Some(TypedWeight::new(mass, Unit::Kilogram).unwrap());
            }
        }
        prop_assert_eq!(in_pounds.compute(), in_kilograms.compute());
    }

    #[test]
    fn records_strictly_improve_and_end_with_the_best(days in prop::collection::vec(day(), 1..20)) {
        let projections = log(&days).compute();
        assert_totals_agree(&projections);
        for row in &projections.exercises {
            let mut last = HashMap::new();
            prop_assert!(row.records.is_sorted_by_key(|record| record.on));
            for record in &row.records {
                if let Some(earlier) = last.insert(record.kind, record.value) {
                    prop_assert!(strictly_better(record.kind, earlier, record.value));
                }
            }
            let best = [
                (RecordKind::EstimatedOneRepMax, row.best_e1rm_kg.map(RecordValue::Mass)),
                (RecordKind::Weight, row.heaviest_kg.map(RecordValue::Mass)),
                (RecordKind::SetVolume, row.best_set_volume_kg.map(RecordValue::Mass)),
                (RecordKind::Reps, row.most_reps.map(RecordValue::Reps)),
                (RecordKind::Assistance, row.least_assistance_kg.map(RecordValue::Mass)),
            ];
            for (kind, best) in best {
                prop_assert!(last.get(&kind).is_none_or(|&value| Some(value) == best), "{}", kind);
            }
        }
    }

    #[test]
    fn rep_maxima_never_grow_with_the_reps(days in prop::collection::vec(day(), 1..12)) {
        let rows = log(&days).compute().rep_maxes;
        for pair in rows.windows(2).filter(|pair| pair[0].exercise_id == pair[1].exercise_id) {
            prop_assert!(pair[0].reps < pair[1].reps && pair[0].weight_kg >= pair[1].weight_kg);
        }
        prop_assert!(rows.iter().all(|row| row.performed_reps >= row.reps && (1..=12).contains(&row.reps)));
    }

    #[test]
    fn a_typed_weight_comes_back_from_kilograms(mantissa in -999_999_999_999_i64..999_999_999_999, pounds: bool) {
        let unit = if pounds { Unit::Pound } else { Unit::Kilogram };
        let typed = TypedWeight::new(Decimal::new(mantissa, 6), unit).unwrap();
        prop_assert_eq!(typed.to_kilograms().to_unit_rounded(unit, 6), typed.value());
    }
}

#[test]
fn a_log_without_rows_gives_no_rows() {
    let projections = compute(&Log::default().0).unwrap();
    assert!(projections.exercises.is_empty() && projections.summary.monthly.is_empty());
    assert_eq!(projections.summary.total_volume_kg, weight("0 kg").to_kilograms());
}
