use tidemark_stats::{LoadKind, Set, SetKind};

use crate::log::{Log, lift};

/// The row of one workout with sets of these kinds and reps at 10 kg.
fn counted(rows: &[(SetKind, i32)]) -> u64 {
    let mut log = Log::lifting();
    let workout = log.workout("2025-01-01");
    for &(kind, reps) in rows {
        log.add(Set { kind, ..lift(workout, 0, "10 kg", reps) });
    }
    log.stats().sets
}

#[test]
fn c30_reps_are_summed_as_numbers() {
    let stats = Log::lifting().day("2025-01-01", &[("20 kg", 0), ("20 kg", 10), ("20 kg", 12)]).stats();
    assert_eq!((stats.total_reps, stats.reps), (22, 22));
}

#[test]
fn c46_a_drop_adds_volume_and_is_joined_to_its_set() {
    let mut log = Log::lifting();
    let workout = log.workout("2025-01-01");
    log.add(lift(workout, 0, "80 kg", 6)).add(Set { kind: SetKind::Drop, ..lift(workout, 0, "75 kg", 2) });
    let projections = log.compute();
    let stats = &projections.exercises[0];
    assert_eq!((stats.sets, stats.working_set_rows), (1, 2));
    assert_eq!([stats.working_volume_kg, stats.effective_volume_kg].map(|mass| mass.to_string()), ["630", "630"]);
    assert_eq!((projections.weekly[0].sets, projections.summary.monthly[0].sets), (1, 1));
}

#[test]
fn a_chain_of_drops_counts_once_and_only_if_any_of_it_was_performed() {
    use SetKind::{Drop, Failure, Normal, Warmup};
    assert_eq!(counted(&[(Normal, 5), (Drop, 5), (Drop, 5), (Failure, 5), (Drop, 5)]), 2);
    assert_eq!(counted(&[(Normal, 0), (Drop, 5), (Drop, 5)]), 1, "the attempt went on as a performed drop");
    assert_eq!(counted(&[(Normal, 0), (Drop, 0)]), 0);
    assert_eq!(counted(&[(Drop, 5), (Drop, 5)]), 1, "a drop without a set begins one");
    assert_eq!(counted(&[(Normal, 5), (Warmup, 5), (Drop, 5)]), 2, "a warm-up is no set to drop from");
}

#[test]
fn a_drop_never_joins_a_set_of_another_workout_or_exercise() {
    let mut log = Log::lifting();
    let other = log.exercise(LoadKind::External);
    let (first, second) = (log.workout("2025-01-01"), log.workout("2025-01-02"));
    log.add(lift(first, 0, "80 kg", 6));
    log.add(Set { kind: SetKind::Drop, ..lift(first, other, "40 kg", 6) });
    log.add(Set { kind: SetKind::Drop, ..lift(second, 0, "60 kg", 6) });
    let sets = log.compute().exercises.iter().map(|row| row.sets).collect::<Vec<_>>();
    assert_eq!(sets, [2, 1]);
}

#[test]
fn c39_warm_ups_are_left_out_of_working_figures_of_cardio_too() {
    let mut log = Log::of_kind(LoadKind::Unloaded);
    let workout = log.workout("2025-01-01");
    let run = |kind, seconds| Set {
        kind,
        weight: None,
        reps: None,
        duration_seconds: Some(seconds),
        ..lift(workout, 0, "0 kg", 0)
    };
    log.add(run(SetKind::Warmup, 300)).add(run(SetKind::Normal, 1200));
    let stats = log.stats();
    assert_eq!((stats.sets, stats.warmup_sets, stats.working_set_rows), (1, 1, 1));
    assert_eq!(stats.working_duration_seconds, 1200);
}

#[test]
fn a_set_that_was_held_is_performed_even_where_the_export_writes_zero_reps() {
    for reps in [None, Some(0)] {
        let mut log = Log::of_kind(LoadKind::Unloaded);
        let workout = log.workout("2025-01-01");
        log.add(Set { reps, duration_seconds: Some(90), ..lift(workout, 0, "0 kg", 0) });
        let stats = log.stats();
        assert_eq!((stats.sets, stats.attempts, stats.training_days, stats.most_reps), (1, 0, 1, None));
    }
}

#[test]
fn both_volumes_are_published_everywhere() {
    let mut log = Log::lifting();
    let workout = log.workout("2025-01-01");
    log.add(Set { kind: SetKind::Warmup, ..lift(workout, 0, "40 kg", 10) }).add(lift(workout, 0, "100 kg", 5));
    let projections = log.compute();
    let (stats, week, summary) = (&projections.exercises[0], &projections.weekly[0], &projections.summary);
    let both = [
        (stats.working_volume_kg, stats.total_volume_kg),
        (week.working_volume_kg, week.total_volume_kg),
        (summary.working_volume_kg, summary.total_volume_kg),
        (summary.monthly[0].working_volume_kg, summary.monthly[0].total_volume_kg),
    ];
    for (working, total) in both {
        assert_eq!((working.to_string(), total.to_string()), ("500".to_owned(), "900".to_owned()));
    }
    assert_eq!((stats.reps, stats.total_reps, summary.reps, summary.total_reps), (5, 15, 5, 15));
}
