use rust_decimal::Decimal;
use tidemark_stats::{InvalidHistory, LoadKind, compute};
use uuid::Uuid;

use crate::log::Log;

fn refused(change: impl FnOnce(&mut Log)) -> InvalidHistory {
    let mut log = Log::lifting().day("2025-01-01", &[("100 kg", 5)]);
    log.exercise(LoadKind::External);
    change(&mut log);
    compute(&log.0).unwrap_err()
}

#[test]
fn indices_out_of_range_are_refused() {
    assert_eq!(refused(|log| log.0.sets[0].workout = 1), InvalidHistory::SetWithoutWorkout { set: 0 });
    assert_eq!(refused(|log| log.0.sets[0].exercise = 2), InvalidHistory::SetWithoutExercise { set: 0 });
}

#[test]
fn merges_that_end_nowhere_are_refused_by_id() {
    let unknown = Uuid::from_u128(99);
    let error = refused(|log| log.0.exercises[0].merged_into = Some(unknown));
    assert_eq!(error, InvalidHistory::UnknownMergeTarget { exercise: Uuid::from_u128(1), target: unknown });
    let error = refused(|log| {
        log.0.exercises[0].merged_into = Some(Uuid::from_u128(2));
        log.0.exercises[1].merged_into = Some(Uuid::from_u128(1));
    });
    assert_eq!(error, InvalidHistory::MergeCycle { exercise: Uuid::from_u128(1) });
    let error = refused(|log| log.0.exercises[1].merged_into = Some(Uuid::from_u128(2)));
    assert_eq!(error, InvalidHistory::MergeCycle { exercise: Uuid::from_u128(2) });
    assert!(error.to_string().contains(&Uuid::from_u128(2).to_string()));
}

#[test]
fn attributes_without_meaning_are_refused() {
    let exercise = Uuid::from_u128(1);
    for share in [Decimal::new(-1, 2), Decimal::new(101, 2)] {
        let error = refused(|log| log.0.exercises[0].bodyweight_share = share);
        assert_eq!(error, InvalidHistory::BodyweightShare { exercise });
    }
    for implements in [0, 3] {
        assert_eq!(refused(|log| log.0.exercises[0].implements = implements), InvalidHistory::Implements { exercise });
    }
    assert_eq!(refused(|log| log.0.exercises[1].id = exercise), InvalidHistory::DuplicateExercise { exercise });
    let error = refused(|log| log.0.sets[0].reps = Some(-1));
    assert_eq!(error, InvalidHistory::NegativeReps { workout: Uuid::from_u128(1000), position: 0 });
}

#[test]
fn the_largest_values_that_can_be_typed_are_summed_exactly() {
    let mut log = Log::lifting().bodyweight("2025-01-01", "999999 kg").day("2025-01-01", &[("999999 kg", i32::MAX)]);
    log.0.exercises[0].load = LoadKind::Bodyweight;
    log.0.exercises[0].implements = 2;
    let stats = log.stats();
    assert_eq!(stats.total_volume_kg.to_string(), (999_999_i64 * i64::from(i32::MAX)).to_string());
    assert_eq!(stats.effective_volume_kg.to_string(), (4 * 999_999_i64 * i64::from(i32::MAX)).to_string());
}
