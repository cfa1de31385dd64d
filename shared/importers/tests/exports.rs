//! The look-alike exports of `tests/data/exports`: each row imported or skipped as its table says, each set as in its snapshot.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeSet,
    fmt::Write,
    path::{Path, PathBuf},
};

use tidemark_importers::{Format, Import, ImportedSet, ParseOptions, parse};

/// File, application, rows, skipped rows, workouts, sets. Counted by hand.
const EXPORTS: &[(&str, Format, u64, usize, usize, usize)] = &[
    ("strong_classic", Format::Strong, 13, 3, 2, 10),
    ("strong_semicolons", Format::Strong, 6, 1, 1, 5),
    ("strong_quoted", Format::Strong, 5, 2, 2, 3),
    ("strong_2015", Format::Strong, 4, 0, 1, 4),
    ("strong_de", Format::Strong, 3, 1, 1, 2),
    ("hevy_kg_km_en", Format::Hevy, 7, 0, 1, 7),
    ("hevy_lbs_miles_en_12h", Format::Hevy, 7, 0, 1, 7),
    ("hevy_kg_miles_de", Format::Hevy, 7, 0, 1, 7),
    ("hevy_lbs_km_fr", Format::Hevy, 7, 0, 1, 7),
    ("hevy_kg_km_es", Format::Hevy, 7, 0, 1, 7),
    ("hevy_kg_km_it", Format::Hevy, 7, 0, 1, 7),
    ("hevy_kg_km_pt", Format::Hevy, 7, 0, 1, 7),
    ("hevy_kg_km_tr", Format::Hevy, 7, 0, 1, 7),
    ("hevy_kg_km_ko", Format::Hevy, 7, 0, 1, 7),
    ("hevy_kg_km_ja", Format::Hevy, 7, 0, 1, 7),
    ("fitnotes_android", Format::FitNotes, 6, 0, 2, 6),
    ("fitnotes_kgs", Format::FitNotes, 3, 0, 1, 3),
    ("fitnotes_ios", Format::FitNotes, 5, 0, 1, 5),
    ("stronglifts_kg", Format::StrongLifts, 4, 1, 2, 6),
    ("stronglifts_lb", Format::StrongLifts, 4, 1, 2, 6),
    ("fitnotes_commas", Format::FitNotes, 3, 0, 1, 3),
    ("stronglifts_rows_us", Format::StrongLifts, 3, 1, 2, 11),
    ("stronglifts_rows_kg", Format::StrongLifts, 2, 0, 2, 10),
    ("fitbod", Format::Fitbod, 5, 0, 2, 5),
    ("gymbook_en", Format::GymBook, 5, 1, 2, 4),
    ("gymbook_it", Format::GymBook, 4, 1, 2, 3),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/exports")
}

fn import(name: &str) -> Import {
    let bytes = std::fs::read(folder().join(format!("{name}.csv"))).unwrap();
    parse(&bytes, &ParseOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

fn line_of(set: &ImportedSet) -> String {
    let weight = set.weight.map(|weight| format!("{} {}", weight.value(), weight.unit().as_str()));
    format!(
        "  line {}, {} {}: {} {} x {}, {} m, {} s, rpe {}, superset {}, {:?}",
        set.line,
        set.position,
        set.kind.as_str(),
        set.exercise,
        shown(weight),
        shown(set.reps),
        shown(set.distance_meters),
        shown(set.duration_seconds),
        shown(set.rpe),
        shown(set.superset),
        set.notes,
    )
}

/// Everything in an import, a line for each set and each skipped row.
fn listed(import: &Import) -> String {
    let mut text = String::new();
    for workout in &import.workouts {
        let zone = if workout.is_utc { " UTC" } else { "" };
        let (start, length) = (workout.local_start, shown(workout.duration_seconds));
        writeln!(text, "{start}{zone} #{} {:?} {length} s {:?}", workout.slot, workout.title, workout.notes).unwrap();
        for set in &workout.sets {
            writeln!(text, "{}", line_of(set)).unwrap();
        }
    }
    for row in &import.skipped {
        writeln!(text, "line {} skipped: {}", row.line, row.reason).unwrap();
    }
    writeln!(text, "assumed unit: {}", shown(import.assumed_unit.map(|unit| unit.as_str()))).unwrap();
    text
}

#[test]
fn every_row_of_a_look_alike_export_is_imported_or_skipped() {
    for &(name, format, rows, skipped, workouts, sets) in EXPORTS {
        let import = import(name);
        let all: Vec<&ImportedSet> = import.workouts.iter().flat_map(|workout| &workout.sets).collect();
        let lines: BTreeSet<u64> = all.iter().map(|set| set.line).collect();
        assert_eq!((import.format, import.rows, import.skipped.len()), (format, rows, skipped), "{name}");
        assert_eq!((import.workouts.len(), all.len()), (workouts, sets), "{name}");
        assert_eq!((lines.len() + skipped) as u64, rows, "{name}");
    }
}

#[test]
fn every_look_alike_export_is_in_the_table() {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let names = files.filter(|path| path.extension().is_some_and(|extension| extension == "csv"));
    let names: BTreeSet<String> = names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, EXPORTS.iter().map(|&(name, ..)| name.to_owned()).collect());
}

#[test]
fn each_set_of_a_look_alike_export_is_as_in_its_snapshot() {
    for &(name, ..) in EXPORTS {
        // The languages of Hevy say the same.
        let is_translation = name.starts_with("hevy_kg_km_") && name != "hevy_kg_km_en";
        if is_translation {
            assert_eq!(listed(&import(name)), listed(&import("hevy_kg_km_en")), "{name}");
        } else {
            insta::assert_snapshot!(name, listed(&import(name)));
        }
    }
}
