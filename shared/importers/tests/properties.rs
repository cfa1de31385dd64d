//! Whatever the bytes: no panic, and imported sets + skipped rows = data rows.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, path::Path, sync::LazyLock};

use proptest::prelude::*;
use tidemark_importers::{Import, ParseOptions, parse};

/// The first lines of each real export, enough for several workouts and quick to read, and look-alikes of the other formats.
static REAL: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names = [
        "hevy_MIT_kg_rpe_settypes_7211.csv",
        "fitnotes_MIT_kgs_2495.csv",
        "strong_MIT_2078.csv",
        "strong_MIT_no_notes_warmups_666.csv",
        "exports/strong_semicolons.csv",
        "exports/fitnotes_ios.csv",
        "exports/stronglifts_kg.csv",
        "exports/fitbod.csv",
        "exports/gymbook_it.csv",
    ];
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
        std::fs::read_to_string(path).unwrap().split_inclusive('\n').take(60).collect()
    };
    names.map(read).to_vec()
});

/// One change to a file.
#[derive(Debug, Clone)]
enum Mutation {
    Replace(prop::sample::Index, u8),
    Insert(prop::sample::Index, String),
    Remove(prop::sample::Index, usize),
    Cut(prop::sample::Index),
    Repeat(prop::sample::Index, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let snippets = prop::sample::select(vec![
        "\"",
        "\"\"",
        ",",
        ", ",
        "\n",
        "\r\n",
        "\r",
        "-",
        "0",
        "9999999",
        "e9",
        "W",
        "Rest Timer",
        "\u{202f}",
        "é",
        "\0",
        ";",
        ",,,,,,,,,,,\n",
    ]);
    prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
        (any::<prop::sample::Index>(), snippets).prop_map(|(at, text)| Mutation::Insert(at, text.to_owned())),
        (any::<prop::sample::Index>(), 1..200_usize).prop_map(|(at, length)| Mutation::Remove(at, length)),
        any::<prop::sample::Index>().prop_map(Mutation::Cut),
        (any::<prop::sample::Index>(), 1..200_usize).prop_map(|(at, length)| Mutation::Repeat(at, length)),
    ]
}

fn apply(bytes: &mut Vec<u8>, mutation: &Mutation) {
    if bytes.is_empty() {
        return;
    }
    match mutation {
        Mutation::Replace(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Mutation::Insert(at, text) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, text.bytes());
        }
        Mutation::Remove(at, length) => {
            let at = at.index(bytes.len());
            bytes.drain(at..(at + length).min(bytes.len()));
        }
        Mutation::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Mutation::Repeat(at, length) => {
            let at = at.index(bytes.len());
            let part = bytes[at..(at + length).min(bytes.len())].to_vec();
            bytes.splice(at..at, part);
        }
    }
}

/// Data rows by a count of its own: physical lines that are not empty, where no cell spans lines.
fn plain_rows(bytes: &[u8]) -> u64 {
    let lines = bytes.split(|&byte| byte == b'\n' || byte == b'\r').filter(|line| !line.is_empty());
    (lines.count() as u64).saturating_sub(1)
}

fn check(import: &Import) -> Result<(), TestCaseError> {
    // One row of StrongLifts holds several sets.
    let sets: BTreeSet<u64> = import.workouts.iter().flat_map(|workout| &workout.sets).map(|set| set.line).collect();
    let skipped: BTreeSet<u64> = import.skipped.iter().map(|row| row.line).collect();
    prop_assert_eq!(skipped.len(), import.skipped.len(), "two rows start on one line");
    prop_assert!(sets.is_disjoint(&skipped), "a row is imported and skipped");
    prop_assert_eq!((sets.len() + skipped.len()) as u64, import.rows);
    for workout in &import.workouts {
        prop_assert!(!workout.sets.is_empty());
        prop_assert!((0_u32..).zip(&workout.sets).all(|(position, set)| set.position == position));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        if let Ok(import) = parse(&bytes, &ParseOptions::default()) {
            check(&import)?;
        }
    }

    #[test]
    fn arbitrary_text_after_a_known_header_never_panics(file in 0..9_usize, rows in "[-0-9a-zA-Z \",;:\n\r.\u{202f}é月]{0,400}") {
        let header = REAL[file].lines().next().unwrap();
        if let Ok(import) = parse(format!("{header}\n{rows}").as_bytes(), &ParseOptions::default()) {
            check(&import)?;
        }
    }

    #[test]
    fn a_damaged_real_file_keeps_the_count_of_rows(file in 0..9_usize, mutations in prop::collection::vec(mutation(), 1..4)) {
        let mut bytes = REAL[file].clone().into_bytes();
        for mutation in &mutations {
            apply(&mut bytes, mutation);
        }
        if let Ok(import) = parse(&bytes, &ParseOptions::default()) {
            check(&import)?;
            // Cells that span lines make a row of several lines, never several rows of one line.
            prop_assert!(import.rows <= plain_rows(&bytes));
            let spans_lines = import.workouts.iter().any(|workout| {
                let texts = workout.sets.iter().flat_map(|set| [&set.exercise, &set.notes]);
                texts.chain([&workout.title, &workout.notes]).any(|text| text.contains(['\n', '\r']))
            });
            let has_quotes = bytes.contains(&b'"');
            if !spans_lines && !has_quotes {
                prop_assert_eq!(import.rows, plain_rows(&bytes));
            }
        }
    }
}
