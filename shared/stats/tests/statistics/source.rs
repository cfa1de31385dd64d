use tidemark_stats::LoadKind;

use crate::log::{Log, date, kilograms, lift};

#[test]
fn c31_deleting_a_workout_takes_its_records_with_it() {
    let kept = Log::lifting().day("2025-01-01", &[("100 kg", 5)]);
    let before = kept.clone().day("2025-01-02", &[("120 kg", 5)]).stats();
    assert_eq!((kilograms(before.heaviest_kg), before.records.len()), (Some("120".to_owned()), 3));
    let after = kept.stats();
    assert_eq!((kilograms(after.heaviest_kg), after.heaviest_reps), (Some("100".to_owned()), Some(5)));
    assert_eq!((after.total_volume_kg.to_string(), after.last_performed_on), ("500".into(), Some(date("2025-01-01"))));
    assert!(after.records.is_empty());
}

#[test]
fn c34_a_renamed_exercise_keeps_its_sets() {
    let mut log = Log::lifting().day("2025-01-01", &[("100 kg", 5), ("100 kg", 5), ("100 kg", 5)]);
    let before = log.stats();
    log.0.exercises[0].name = "B".to_owned();
    let after = log.stats();
    assert_eq!((after.exercise_name.as_str(), after.sets, after.exercise_id), ("B", 3, before.exercise_id));
}

#[test]
fn sets_of_merged_exercises_count_under_the_last_target_alone() {
    let mut log = Log::lifting();
    let (middle, last) = (log.exercise(LoadKind::Unloaded), log.exercise(LoadKind::External));
    let workout = log.workout("2025-01-01");
    log.add(lift(workout, 0, "100 kg", 5)).add(lift(workout, middle, "110 kg", 5)).add(lift(workout, last, "90 kg", 5));
    let [middle_id, last_id] = [middle, last].map(|index| log.0.exercises[index as usize].id);
    log.0.exercises[0].merged_into = Some(middle_id);
    log.0.exercises[middle as usize].merged_into = Some(last_id);
    let projections = log.compute();
    let stats = &projections.exercises[0];
    assert_eq!((projections.exercises.len(), stats.exercise_id, stats.sets), (1, last_id, 3));
    assert_eq!(kilograms(stats.heaviest_kg), Some("110".to_owned()), "with the attributes of the target");
    assert!(projections.rep_maxes.iter().all(|row| row.exercise_id == last_id));
    assert!(projections.weekly.iter().all(|row| row.exercise_id == last_id));
    assert_eq!(projections.summary.exercises, 1);
}

#[test]
fn an_exercise_without_sets_has_no_rows_and_an_empty_workout_is_a_training_day() {
    let mut log = Log::lifting();
    log.workout("2025-01-01");
    let projections = log.compute();
    assert!(projections.exercises.is_empty() && projections.weekly.is_empty() && projections.rep_maxes.is_empty());
    assert_eq!((projections.summary.workouts, projections.summary.training_days), (1, 1));
    assert_eq!((projections.summary.exercises, projections.summary.sets), (0, 0));
}
