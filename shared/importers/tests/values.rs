//! What a cell means: units, blanks, zeros, times and text, in each format.
#![allow(clippy::unwrap_used)]

use rust_decimal::Decimal;
use tidemark_importers::{Format, Import, ImportedSet, ParseOptions, parse};
use tidemark_stats::{SetKind, TypedWeight, Unit};

const STRONG: &str = "Date,Workout Name,Duration,Exercise Name,Set Order,Weight,Reps,Distance,Seconds,RPE";
const STRONG_WITH_NOTES: &str =
    "Date,Workout Name,Duration,Exercise Name,Set Order,Weight,Reps,Distance,Seconds,Notes,Workout Notes,RPE";
const HEVY_POUNDS: &str = r#""title","start_time","end_time","description","exercise_title","superset_id","exercise_notes","set_index","set_type","weight_lbs","reps","distance_miles","duration_seconds","rpe""#;
const FITNOTES: &str = "Date,Exercise,Category,Weight,Weight Unit,Reps,Distance,Distance Unit,Time,Comment";

fn import_in(unit: Option<Unit>, header: &str, rows: &[&str]) -> Import {
    let text = format!("{header}\n{}", rows.join("\n"));
    parse(text.as_bytes(), &ParseOptions { unit }).unwrap()
}

fn import(header: &str, rows: &[&str]) -> Import {
    import_in(None, header, rows)
}

fn only_set(import: &Import) -> &ImportedSet {
    assert_eq!((import.workouts.len(), import.workouts[0].sets.len()), (1, 1));
    &import.workouts[0].sets[0]
}

fn weight(value: &str, unit: Unit) -> Option<TypedWeight> {
    Some(TypedWeight::new(value.parse().unwrap(), unit).unwrap())
}

#[test]
fn pounds_stay_pounds_as_typed_c15() {
    let hevy =
        import(HEVY_POUNDS, &[r#""A","15 Sep 2025, 07:48","15 Sep 2025, 09:13","","Bench",,"",0,"normal",135,5,,,"#]);
    let strong = import_in(Some(Unit::Pound), STRONG, &["2024-03-01 10:00:00,A,1h,Bench,1,135.0,5,0,0,"]);
    let fitnotes = import(FITNOTES, &["2024-03-01,Bench,Chest,135,lbs,5,,,,"]);
    for import in [hevy, strong, fitnotes] {
        let typed = only_set(&import).weight.unwrap();
        assert_eq!((typed.value().to_string().as_str(), typed.unit()), ("135", Unit::Pound), "{}", import.format);
        assert_eq!(typed.to_kilograms().to_unit_rounded(Unit::Kilogram, 3).to_string(), "61.235");
        assert_eq!(typed.to_kilograms().to_unit_rounded(Unit::Pound, 9).normalize().to_string(), "135");
    }
}

#[test]
fn the_unit_of_the_file_wins_over_the_option() {
    let import = import_in(Some(Unit::Pound), FITNOTES, &["2024-03-01,Bench,Chest,60,kgs,5,,,,"]);
    assert_eq!(only_set(&import).weight, weight("60", Unit::Kilogram));
    let header = "Date,Exercise,Category,Weight (lbs),Reps,Distance,Distance Unit,Time";
    let import = import_in(Some(Unit::Kilogram), header, &["2024-03-01,Bench,Chest,60,5,,,"]);
    assert_eq!(only_set(&import).weight, weight("60", Unit::Pound));
}

#[test]
fn a_blank_weight_is_unknown_and_a_zero_is_zero() {
    let rows = [
        "2024-03-01 10:00:00,A,1h,Pull Up,1,,8,0,0,",
        "2024-03-01 10:00:00,A,1h,Pull Up,2,0.0,,0,0,",
        "2024-03-01 10:00:00,A,1h,Pull Up,3,-20,0,0,0,",
    ];
    let import = import(STRONG, &rows);
    let sets: Vec<_> = import.workouts[0].sets.iter().map(|set| (set.weight, set.reps)).collect();
    let expected = [(None, Some(8)), (weight("0", Unit::Kilogram), None), (weight("-20", Unit::Kilogram), Some(0))];
    assert_eq!(sets, expected);
}

#[test]
fn distances_are_metres_whatever_the_unit_written() {
    let hevy =
        import(HEVY_POUNDS, &[r#""A","15 Sep 2025, 07:48","15 Sep 2025, 09:13","","Run",,"",0,"normal",,,1.5,720,"#]);
    assert_eq!(only_set(&hevy).distance_meters, Some(Decimal::new(2_414_016, 3)));
    assert_eq!(only_set(&hevy).duration_seconds, Some(720));
    let strong = import(STRONG, &["2024-03-01 10:00:00,A,1h,Run,1,0,0,5,1500.0,"]);
    assert_eq!(only_set(&strong).distance_meters, Some(Decimal::from(5000)));
    let fitnotes = import(FITNOTES, &["2024-03-01,Run,Cardio,,,,400,m,0:01:30,easy"]);
    let set = only_set(&fitnotes);
    assert_eq!(
        (set.distance_meters, set.duration_seconds, set.notes.as_str()),
        (Some(Decimal::from(400)), Some(90), "easy")
    );
}

#[test]
fn a_distance_or_time_of_zero_is_not_measured() {
    let import = import(STRONG, &["2024-03-01 10:00:00,A,1h,Bench,1,60,8,0,0.0,"]);
    assert_eq!((only_set(&import).distance_meters, only_set(&import).duration_seconds), (None, None));
}

#[test]
fn hevy_sets_keep_kind_exertion_superset_and_notes() {
    let rows = [
        r#""A","15 Sep 2025, 07:48","15 Sep 2025, 09:13","long day","Row",0,"slow, ""very"" slow",0,"dropset",50,8,,0,9.5"#,
        r#""A","15 Sep 2025, 07:48","15 Sep 2025, 09:13","long day","Row",0,"",1,"failure",50,8,,0,"#,
    ];
    let import = import(HEVY_POUNDS, &rows);
    let workout = &import.workouts[0];
    assert_eq!((workout.duration_seconds, workout.notes.as_str()), (Some(85 * 60), "long day"));
    let set = &workout.sets[0];
    assert_eq!((set.kind, set.superset, set.rpe), (SetKind::Drop, Some(0), Some(Decimal::new(95, 1))));
    assert_eq!(set.notes, "slow, \"very\" slow");
    assert_eq!((workout.sets[1].kind, workout.sets[1].rpe), (SetKind::Failure, None));
}

#[test]
fn an_end_before_the_start_leaves_the_duration_unknown() {
    let row = r#""A","26 Oct 2025, 02:50","26 Oct 2025, 02:20","","Row",,"",0,"normal",50,8,,,"#;
    assert_eq!(import(HEVY_POUNDS, &[row]).workouts[0].duration_seconds, None);
}

#[test]
fn a_workout_over_midnight_belongs_to_the_date_it_started() {
    let row = r#""A","31 dic 2025, 23:30","1 ene 2026, 00:45","","Row",,"",0,"normal",50,8,,,"#;
    let import = import(HEVY_POUNDS, &[row]);
    assert_eq!(import.workouts[0].local_start.to_string(), "2025-12-31T23:30:00");
    assert_eq!(import.workouts[0].duration_seconds, Some(75 * 60));
}

#[test]
fn byte_order_mark_carriage_returns_and_semicolons_change_nothing() {
    let plain = format!("{STRONG}\n2024-03-01 10:00:00,\"A, B\",1h,Bench,1,60,8,0,0,\n");
    let expected = parse(plain.as_bytes(), &ParseOptions::default()).unwrap();
    assert_eq!(expected.workouts[0].title, "A, B");
    let semicolons = plain.replace("A, B", "A# B").replace(',', ";").replace('#', ",");
    for text in [format!("\u{feff}{plain}"), plain.replace('\n', "\r\n"), plain.trim_end().to_owned(), semicolons] {
        assert_eq!(parse(text.as_bytes(), &ParseOptions::default()).unwrap(), expected, "{text:?}");
    }
}

#[test]
fn narrow_no_break_spaces_in_times_are_spaces() {
    let strong = import(STRONG, &["2024-03-01 4:05:09\u{202f}PM,A,1h\u{a0}5m,Bench,1,60,8,0,0,"]);
    assert_eq!(strong.workouts[0].local_start.to_string(), "2024-03-01T16:05:09");
    assert_eq!(strong.workouts[0].duration_seconds, Some(65 * 60));
    let hevy =
        import(HEVY_POUNDS, &["\"A\",\"Sep 15, 2025, 7:48\u{202f}PM\",\"\",\"\",\"Row\",,\"\",0,\"normal\",50,8,,,"]);
    assert_eq!(hevy.workouts[0].local_start.to_string(), "2025-09-15T19:48:00");
}

#[test]
fn notes_may_span_lines_and_hold_doubled_quotes() {
    let import = import(
        STRONG_WITH_NOTES,
        &[
            "2024-03-01 10:00:00,A,1h,Bench,1,60,8,0,0,\"a \"\"b\"\"\n\nc\",\"d\r\ne\",",
            "2024-03-01 10:00:00,A,1h,Bench,2,60,8,0,0,,,",
        ],
    );
    let workout = &import.workouts[0];
    assert_eq!((workout.notes.as_str(), workout.sets[0].notes.as_str()), ("d\r\ne", "a \"b\"\n\nc"));
    assert_eq!(workout.sets.iter().map(|set| set.line).collect::<Vec<_>>(), [2, 6]);
}

#[test]
fn commas_without_quotes_in_strong_text_are_put_back() {
    let import = import(
        STRONG_WITH_NOTES,
        &["2024-03-01 10:00:00,Chest, Back,1h,Curl, EZ-Bar, heavy,1,60,8,0,0,slow, steady,,"],
    );
    let set = only_set(&import);
    assert_eq!((import.format, import.workouts[0].title.as_str()), (Format::Strong, "Chest, Back"));
    assert_eq!((set.exercise.as_str(), set.notes.as_str()), ("Curl, EZ-Bar, heavy", "slow, steady"));
}

#[test]
fn noise_of_binary_floats_is_cut_from_weights() {
    let import = import(STRONG, &["2024-03-01 10:00:00,A,1h,Bench,1,61.234969949999996,8.0,0,0,"]);
    assert_eq!(only_set(&import).weight, weight("61.23496995", Unit::Kilogram));
}
