use tidemark_stats::{RecordKind, Set, SetKind};

use crate::log::{Log, kilograms, lift, records};

#[test]
fn c27_a_repeated_record_set_is_one_record() {
    let log = Log::lifting().day("2025-01-01", &[("95 kg", 5)]);
    let stats = log.day("2025-01-02", &[("100 kg", 5), ("100 kg", 5), ("100 kg", 5)]).stats();
    for kind in [RecordKind::Weight, RecordKind::EstimatedOneRepMax, RecordKind::SetVolume] {
        assert_eq!(records(&stats, kind).len(), 1, "{kind}");
    }
    assert!(stats.records.iter().all(|record| record.position == 0));
    assert_eq!((stats.heaviest_position, stats.best_e1rm_position), (Some(0), Some(0)));
    assert_eq!(records(&stats, RecordKind::Reps), []);
    assert_eq!(stats.sets, 4, "identical sets are legal and all count");
}

#[test]
fn the_first_sighting_sets_the_base_and_is_no_record() {
    let stats = Log::lifting().day("2025-01-01", &[("100 kg", 5)]).stats();
    assert_eq!(stats.records, []);
    assert_eq!(kilograms(stats.heaviest_kg), Some("100".to_owned()));
}

#[test]
fn a_tie_keeps_the_earliest_by_local_time_and_then_workout() {
    let mut log = Log::lifting();
    for at in ["2025-01-01T18:00", "2025-01-01T07:00", "2025-01-01T07:00"] {
        log = log.day(at, &[("100 kg", 5)]);
    }
    let earliest = log.0.workouts[1].id;
    assert!(earliest < log.0.workouts[2].id);
    let stats = log.stats();
    assert_eq!([stats.heaviest_workout_id, stats.best_set_workout_id, stats.most_reps_workout_id], [Some(earliest); 3]);
}

#[test]
fn the_heaviest_set_is_the_one_with_the_most_reps_at_that_load() {
    let log = Log::lifting().day("2025-01-01", &[("100 kg", 3)]).day("2025-01-02", &[("100 kg", 5), ("100 kg", 5)]);
    let stats = log.stats();
    assert_eq!((stats.heaviest_reps, stats.heaviest_on.unwrap().day(), stats.heaviest_position), (Some(5), 2, Some(0)));
    assert_eq!(records(&stats, RecordKind::Weight), [], "the same load is no weight record");
}

#[test]
fn c28_a_missed_set_is_an_attempt_and_never_a_record() {
    let projections = Log::lifting().day("2025-01-01", &[("140 kg", 0), ("140 kg", 0)]).compute();
    let stats = &projections.exercises[0];
    assert_eq!((stats.sets, stats.attempts, stats.working_set_rows), (0, 2, 2));
    assert_eq!((stats.total_volume_kg.to_string(), stats.heaviest_kg, stats.most_reps), ("0".to_owned(), None, None));
    assert_eq!((stats.first_performed_on, stats.training_days), (None, 0));
    assert!(stats.records.is_empty() && projections.rep_maxes.is_empty());
}

#[test]
fn warm_ups_stand_in_no_record() {
    let mut log = Log::lifting().day("2025-01-01", &[("60 kg", 5)]);
    let workout = log.workout("2025-01-02");
    log.add(Set { kind: SetKind::Warmup, ..lift(workout, 0, "100 kg", 8) });
    let projections = log.compute();
    let stats = &projections.exercises[0];
    assert_eq!((kilograms(stats.heaviest_kg), stats.most_reps), (Some("60".to_owned()), Some(5)));
    assert_eq!((stats.records.len(), projections.rep_maxes.len()), (0, 5));
    assert_eq!((stats.training_days, stats.last_performed_on.unwrap().day()), (1, 1));
}

#[test]
fn failure_sets_and_drops_stand_in_records() {
    let mut log = Log::lifting();
    let workout = log.workout("2025-01-01");
    log.add(Set { kind: SetKind::Failure, ..lift(workout, 0, "80 kg", 6) });
    log.add(Set { kind: SetKind::Drop, ..lift(workout, 0, "60 kg", 15) });
    let stats = log.stats();
    assert_eq!((kilograms(stats.heaviest_kg), stats.most_reps), (Some("80".to_owned()), Some(15)));
}

#[test]
fn the_rep_max_table_holds_the_heaviest_load_with_at_least_n_reps() {
    let log = Log::lifting().day("2025-01-01", &[("100 kg", 3), ("90 kg", 5), ("85 kg", 4), ("50 kg", 20)]);
    let rows = log.compute().rep_maxes;
    let table = rows.iter().map(|row| (row.reps, row.weight_kg.to_string(), row.performed_reps)).collect::<Vec<_>>();
    let mut expected = vec![(1, "100", 3), (2, "100", 3), (3, "100", 3), (4, "90", 5), (5, "90", 5)];
    expected.extend((6..=12).map(|reps| (reps, "50", 20)));
    assert_eq!(table, expected.into_iter().map(|(n, load, reps)| (n, load.to_owned(), reps)).collect::<Vec<_>>());
}

#[test]
fn suspect_values_are_flagged_and_counted_but_stand_in_no_record() {
    let log = Log::lifting().day("2025-01-01", &[("100 kg", 5)]);
    let with = |text, reps| log.clone().day("2025-01-02", &[(text, reps)]).compute();
    for (text, reps, volume) in [("860 kg", 5, "4800"), ("20 kg", 3310, "66700"), ("-860 kg", 5, "-3800")] {
        let projections = with(text, reps);
        let stats = &projections.exercises[0];
        assert_eq!((stats.suspect_sets, stats.sets, stats.total_volume_kg.to_string()), (1, 2, volume.to_owned()));
        assert_eq!((kilograms(stats.heaviest_kg), stats.most_reps), (Some("100".to_owned()), Some(5)));
        assert!(stats.records.is_empty());
        assert_eq!(projections.rep_maxes.len(), 5);
        assert_eq!(projections.weekly[0].best_e1rm_kg, stats.best_e1rm_kg);
    }
    assert_eq!(with("700 kg", 1000).exercises[0].suspect_sets, 0, "the bound itself is believed");
}

#[test]
fn every_set_of_a_workout_longer_than_a_day_is_suspect() {
    let mut log = Log::lifting().day("2025-01-01", &[("100 kg", 5)]);
    for (duration, suspect) in [(86_400, 0), (86_401, 1), (172_800, 1)] {
        log.0.workouts[0].duration_seconds = Some(duration);
        let stats = log.stats();
        assert_eq!((stats.suspect_sets, stats.heaviest_kg.is_none()), (suspect, suspect == 1), "{duration} s");
    }
}
