//! Rows, identities and skipped lines: nothing is lost and nothing is there twice.
#![allow(clippy::unwrap_used)]

use jiff::civil::DateTime;
use tidemark_importers::{Import, ImportError, ParseOptions, SkipReason, parse};
use tidemark_stats::SetKind;

const STRONG: &str =
    "Date,Workout Name,Duration,Exercise Name,Set Order,Weight,Reps,Distance,Seconds,Notes,Workout Notes,RPE\n";

fn strong(rows: &str) -> Result<Import, ImportError> {
    parse(format!("{STRONG}{rows}").as_bytes(), &ParseOptions::default())
}

fn identities(import: &Import) -> Vec<(&'static str, DateTime, u32, Vec<u32>)> {
    let of = |workout: &tidemark_importers::ImportedWorkout| {
        let positions = workout.sets.iter().map(|set| set.position).collect();
        (workout.source, workout.local_start, workout.slot, positions)
    };
    import.workouts.iter().map(of).collect()
}

fn imported(import: &Import) -> usize {
    import.workouts.iter().map(|workout| workout.sets.len()).sum()
}

#[test]
fn a_changed_comment_changes_no_identity_c33() {
    let rows = |comment: &str, notes: &str| {
        format!(
            "2024-03-01 10:00:00,Push,1h,Bench,1,60,8,0,0,\"{comment}\",\"{notes}\",\n\
             2024-03-01 10:00:00,Push,1h,Bench,2,60,8,0,0,,,\n"
        )
    };
    let (first, second) = (strong(&rows("felt good", "")).unwrap(), strong(&rows("felt\nbad", "tired")).unwrap());
    assert_ne!(first, second);
    assert_eq!(identities(&first), identities(&second));
}

#[test]
fn every_row_of_a_550_kilobyte_strong_file_over_new_year_is_accounted_for_c45() {
    let mut rows = String::new();
    let mut written: u64 = 0;
    let mut day = jiff::civil::date(2025, 7, 1);
    while rows.len() < 550_000 {
        for set in 1..=20 {
            let order = if set == 20 { "Rest Timer".to_owned() } else { set.to_string() };
            rows.push_str(&format!(
                "{day} 18:30:00,\"Push\",55m,\"Bench Press (Barbell)\",{order},60.0,8,0,0,\"\",\"\",\n"
            ));
            written += 1;
        }
        day = day.tomorrow().unwrap();
    }
    assert_eq!(day.year(), 2026);

    let import = strong(&rows).unwrap();
    assert_eq!(import.rows, written);
    assert_eq!(imported(&import) + import.skipped.len(), usize::try_from(written).unwrap());
    assert_eq!(import.skipped.len(), usize::try_from(written / 20).unwrap());
    assert_eq!(import.workouts.last().unwrap().local_start.date(), day.yesterday().unwrap());
}

#[test]
fn workouts_with_the_same_start_have_slots_by_title_in_order_of_appearance() {
    let import = strong(
        "2024-03-01 10:00:00,Push,1h,Bench,1,60,8,0,0,,,\n\
         2024-03-01 10:00:00,Abs,5m,Plank,1,0,0,0,60,,,\n\
         2024-03-02 10:00:00,Push,1h,Bench,1,60,8,0,0,,,\n\
         2024-03-01 10:00:00,Push,1h,Bench,2,60,8,0,0,,,\n",
    )
    .unwrap();
    let slots: Vec<_> =
        import.workouts.iter().map(|workout| (workout.title.as_str(), workout.slot, workout.sets.len())).collect();
    assert_eq!(slots, [("Push", 0, 2), ("Abs", 1, 1), ("Push", 0, 1)]);
    assert_eq!(import.workouts[0].sets[1].position, 1);
}

#[test]
fn identical_rows_are_all_sets() {
    let row = "2024-03-01 10:00:00,Push,1h,Bench,1,60,8,0,0,,,\n";
    assert_eq!(imported(&strong(&row.repeat(3)).unwrap()), 3);
}

#[test]
fn rest_timers_notes_and_blank_rows_are_skipped_with_line_and_reason() {
    let import = strong(
        "2024-03-01 10:00:00,Push,1h,Bench,1,60,8,0,0,,,\n\
         2024-03-01 10:00:00,Push,1h,Bench,Rest Timer,,,,90,,,\n\
         2024-03-01 10:00:00,Push,1h,Bench,Ruhezeit,0,0,0,90,,,\n\
         2024-03-01 10:00:00,Push,1h,Bench,Note,,,,,\"two\nlines\",,\n\
         ,,,,,,,,,,,\n\
         \n\
         2024-03-01 10:00:00,Push,1h,Bench,W,20,8,0,0,,,\n\
         2024-03-01 10:00:00,Push,1h,Bench,D,50,8,0,0,,,\n\
         2024-03-01 10:00:00,Push,1h,Bench,F,60,5,0,0,,,",
    )
    .unwrap();
    assert_eq!(import.rows, 8);
    let skipped: Vec<_> = import.skipped.iter().map(|row| (row.line, row.reason)).collect();
    let expected =
        [(3, SkipReason::RestTimer), (4, SkipReason::RestTimer), (5, SkipReason::Note), (7, SkipReason::BlankRow)];
    assert_eq!(skipped, expected);
    let sets: Vec<_> = import.workouts[0].sets.iter().map(|set| (set.line, set.position, set.kind)).collect();
    assert_eq!(
        sets,
        [(2, 0, SetKind::Normal), (9, 1, SetKind::Warmup), (10, 2, SetKind::Drop), (11, 3, SetKind::Failure)]
    );
    assert_eq!(
        serde_json::to_string(&import.skipped[0]).unwrap(),
        r#"{"line":3,"reason":"The row is a rest timer, not a set."}"#
    );
}

#[test]
fn a_header_without_rows_imports_nothing() {
    for text in [STRONG.to_owned(), STRONG.trim_end().to_owned(), format!("\u{feff}{STRONG}\r\n")] {
        let import = parse(text.as_bytes(), &ParseOptions::default()).unwrap();
        assert_eq!((import.rows, import.workouts.len(), import.skipped.len()), (0, 0, 0));
    }
}
