//! The four real exports give exactly the figures of `golden.json`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use anyhow::{Context, Result};
use jiff::ToSpan;
use rust_decimal::Decimal;
use serde_json::Value;
use tidemark_importers::{Format, Import, ImportedSet, ImportedWorkout, ParseOptions, parse};
use tidemark_stats::{SetKind, Unit};

/// Every figure of golden.json. Weeks and streaks are checked where they are computed, in the golden lane; the kinds of sets below.
const FIGURES: [&str; 27] = [
    "blank_weight_sets",
    "exercises",
    "first",
    "kinds",
    "last",
    "longest_week_streak_monday",
    "longest_week_streak_sunday",
    "malformed_rows",
    "negative_weight_sets",
    "non_set_rows",
    "reps_37_or_more",
    "reps_all",
    "reps_over_12",
    "rows",
    "sessions",
    "sessions_crossing_midnight",
    "sessions_longer_than_6h",
    "sessions_starting_00_to_04h",
    "set_rows",
    "top_exercises",
    "training_days",
    "volume_all",
    "volume_without_warmup",
    "weeks_monday",
    "weeks_sunday",
    "zero_or_blank_reps_sets",
    "zero_weight_sets",
];

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

fn import(name: &str) -> Result<Import> {
    let bytes = std::fs::read(data(name)).with_context(|| format!("cannot read {name}"))?;
    Ok(parse(&bytes, &ParseOptions::default())?)
}

fn golden(name: &str) -> Result<Value> {
    let document: Value = serde_json::from_slice(&std::fs::read(data("golden.json"))?)?;
    document["files"].get(name).cloned().with_context(|| format!("golden.json has no {name}"))
}

fn sets(import: &Import) -> impl Iterator<Item = &ImportedSet> {
    import.workouts.iter().flat_map(|workout| &workout.sets)
}

fn count(import: &Import, is_counted: impl Fn(&ImportedSet) -> bool) -> usize {
    sets(import).filter(|set| is_counted(set)).count()
}

fn volume(import: &Import, is_counted: impl Fn(&ImportedSet) -> bool) -> Decimal {
    sets(import)
        .filter(|set| is_counted(set))
        .filter_map(|set| Some(set.weight?.value() * Decimal::from(set.reps?)))
        .sum::<Decimal>()
        .normalize()
}

/// A number of golden.json, which holds at most 3 decimals and is read without going through a binary float.
fn decimal(value: &Value) -> Result<Decimal> {
    Ok(value.to_string().parse::<Decimal>()?.normalize())
}

/// Checks every figure that a file of any format has.
fn check_figures(name: &str, format: Format) -> Result<()> {
    let (import, golden) = (import(name)?, golden(name)?);
    let figure = |key: &str| golden[key].as_u64().with_context(|| format!("golden.json has no {key}"));
    let equals = |key: &str, found: usize| -> Result<()> {
        anyhow::ensure!(figure(key)? == found as u64, "{name}: {key} is {} and {found} was found", figure(key)?);
        Ok(())
    };

    assert_eq!(import.format, format);
    equals("rows", usize::try_from(import.rows)?)?;
    equals("set_rows", sets(&import).count())?;
    equals("non_set_rows", import.skipped.len())?;
    equals("exercises", sets(&import).map(|set| &set.exercise).collect::<BTreeSet<_>>().len())?;
    equals("sessions", import.workouts.len())?;
    let days: BTreeSet<_> = import.workouts.iter().map(|workout| workout.local_start.date()).collect();
    equals("training_days", days.len())?;
    assert_eq!(days.first().map(ToString::to_string).as_deref(), golden["first"].as_str(), "{name}: first");
    assert_eq!(days.last().map(ToString::to_string).as_deref(), golden["last"].as_str(), "{name}: last");

    assert_eq!(volume(&import, |_| true), decimal(&golden["volume_all"])?, "{name}: volume");
    let working = volume(&import, |set| set.kind != SetKind::Warmup);
    assert_eq!(working, decimal(&golden["volume_without_warmup"])?, "{name}: working volume");
    let reps: i64 = sets(&import).filter_map(|set| set.reps).map(i64::from).sum();
    assert_eq!(Some(reps), golden["reps_all"].as_i64(), "{name}: reps");

    equals("zero_weight_sets", count(&import, |set| set.weight.is_some_and(|weight| weight.value().is_zero())))?;
    equals("blank_weight_sets", count(&import, |set| set.weight.is_none()))?;
    equals(
        "negative_weight_sets",
        count(&import, |set| set.weight.is_some_and(|weight| weight.value() < Decimal::ZERO)),
    )?;
    equals("zero_or_blank_reps_sets", count(&import, |set| set.reps.unwrap_or(0) == 0))?;
    equals("reps_over_12", count(&import, |set| set.reps.is_some_and(|reps| reps > 12)))?;
    equals("reps_37_or_more", count(&import, |set| set.reps.is_some_and(|reps| reps >= 37)))?;
    check_times(&import, &equals)?;
    let unknown: Vec<_> =
        golden.as_object().context("an object")?.keys().filter(|key| !FIGURES.contains(&key.as_str())).collect();
    assert!(unknown.is_empty(), "{name}: nobody checks {unknown:?}");
    // A row that could not be read would have refused the whole file.
    equals("malformed_rows", 0)?;
    check_top_exercises(&import, &golden)
}

/// Checks when workouts were and how long they took, as far as the file says.
fn check_times(import: &Import, equals: &impl Fn(&str, usize) -> Result<()>) -> Result<()> {
    let sessions = |holds: &dyn Fn(&ImportedWorkout) -> bool| import.workouts.iter().filter(|one| holds(one)).count();
    // FitNotes knows dates only.
    let has_times = import.format != Format::FitNotes;
    equals("sessions_starting_00_to_04h", sessions(&|one| has_times && one.local_start.hour() < 4))?;
    if import.format == Format::Hevy {
        assert!(import.workouts.iter().all(|one| one.duration_seconds.is_some()), "Hevy writes both times");
        let seconds = |one: &ImportedWorkout| one.duration_seconds.unwrap_or(0);
        let ends_on = |one: &ImportedWorkout| one.local_start.saturating_add(seconds(one).seconds()).date();
        equals("sessions_crossing_midnight", sessions(&|one| ends_on(one) != one.local_start.date()))?;
        equals("sessions_longer_than_6h", sessions(&|one| seconds(one) > 6 * 3_600))?;
    }
    Ok(())
}

/// The figures of one exercise are over its working sets, its days too: a day of warm-ups only does not count.
fn check_top_exercises(import: &Import, golden: &Value) -> Result<()> {
    for (exercise, figures) in golden["top_exercises"].as_object().context("golden.json has top exercises")? {
        let of_exercise = |set: &ImportedSet| set.exercise == *exercise;
        let is_working = |set: &ImportedSet| of_exercise(set) && set.kind != SetKind::Warmup;
        assert_eq!(Some(count(import, of_exercise) as u64), figures["sets_all"].as_u64(), "{exercise}");
        assert_eq!(Some(count(import, is_working) as u64), figures["sets_working"].as_u64(), "{exercise}");
        assert_eq!(volume(import, is_working), decimal(&figures["volume_working"])?, "{exercise}");
        let days: BTreeSet<_> = import
            .workouts
            .iter()
            .filter(|workout| workout.sets.iter().any(is_working))
            .map(|workout| workout.local_start.date())
            .collect();
        assert_eq!(Some(days.len() as u64), figures["days"].as_u64(), "{exercise}");
        assert_eq!(days.first().map(ToString::to_string).as_deref(), figures["first"].as_str(), "{exercise}");
        assert_eq!(days.last().map(ToString::to_string).as_deref(), figures["last"].as_str(), "{exercise}");
    }
    Ok(())
}

fn kinds(import: &Import) -> BTreeMap<&'static str, u64> {
    let mut kinds = BTreeMap::new();
    for set in sets(import) {
        *kinds.entry(set.kind.as_str()).or_default() += 1;
    }
    kinds
}

#[test]
fn the_hevy_export_gives_the_golden_figures() -> Result<()> {
    check_figures("hevy_MIT_kg_rpe_settypes_7211.csv", Format::Hevy)
}

#[test]
fn the_fitnotes_export_gives_the_golden_figures() -> Result<()> {
    check_figures("fitnotes_MIT_kgs_2495.csv", Format::FitNotes)
}

#[test]
fn the_classic_strong_export_gives_the_golden_figures() -> Result<()> {
    check_figures("strong_MIT_2078.csv", Format::Strong)
}

#[test]
fn the_strong_export_without_notes_gives_the_golden_figures() -> Result<()> {
    check_figures("strong_MIT_no_notes_warmups_666.csv", Format::Strong)
}

#[test]
fn every_kind_of_set_is_counted_as_in_the_golden_figures() -> Result<()> {
    let hevy = golden("hevy_MIT_kg_rpe_settypes_7211.csv")?;
    let expected = ["warmup", "normal", "failure", "dropset"].map(|kind| hevy["kinds"][kind].as_u64());
    let found = kinds(&import("hevy_MIT_kg_rpe_settypes_7211.csv")?);
    assert_eq!(["warmup", "normal", "failure", "drop"].map(|kind| found.get(kind).copied()), expected);

    let strong = golden("strong_MIT_no_notes_warmups_666.csv")?;
    let found = kinds(&import("strong_MIT_no_notes_warmups_666.csv")?);
    let expected = ["W", "N"].map(|kind| strong["kinds"][kind].as_u64());
    assert_eq!(["warmup", "normal"].map(|kind| found.get(kind).copied()), expected);
    Ok(())
}

#[test]
fn a_real_workout_is_read_with_its_title_duration_and_positions() -> Result<()> {
    let import = import("strong_MIT_2078.csv")?;
    let workout = &import.workouts[0];
    assert_eq!((workout.source, workout.slot, workout.title.as_str()), ("strong", 0, "Workout 001"));
    assert_eq!(workout.local_start.to_string(), "2021-02-10T16:46:13");
    assert_eq!(workout.duration_seconds, Some((2 * 60 + 18) * 60));
    for (position, set) in (0_u32..).zip(&workout.sets) {
        assert_eq!((set.position, set.line), (position, u64::from(position) + 2));
        assert_eq!(set.weight.map(|weight| weight.unit()), Some(Unit::Kilogram));
    }
    Ok(())
}

#[test]
fn no_workout_is_empty_and_no_line_is_imported_twice() -> Result<()> {
    for name in ["hevy_MIT_kg_rpe_settypes_7211.csv", "fitnotes_MIT_kgs_2495.csv", "strong_MIT_2078.csv"] {
        let import = import(name)?;
        assert!(import.workouts.iter().all(|workout| !workout.sets.is_empty()), "{name}");
        let lines: BTreeSet<_> = sets(&import).map(|set| set.line).collect();
        assert_eq!(lines.len(), sets(&import).count(), "{name}");
    }
    Ok(())
}
