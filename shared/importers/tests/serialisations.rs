//! One history, written in every shape and style, imports to the same workouts.
#![allow(clippy::unwrap_used)]

use jiff::civil::DateTime;
use proptest::prelude::*;
use rust_decimal::{Decimal, RoundingStrategy};
use tidemark_importers::{Import, ParseOptions, parse};
use tidemark_stats::{TypedWeight, Unit};

/// A workout as somebody logged it.
#[derive(Debug, Clone)]
struct Workout {
    start: DateTime,
    title: String,
    minutes: i64,
    notes: String,
    sets: Vec<Set>,
}

#[derive(Debug, Clone)]
struct Set {
    exercise: String,
    /// Place in the words that each application has for kinds of sets.
    kind: usize,
    /// Hundredths of the unit.
    weight: Option<i64>,
    reps: Option<i32>,
    meters: Option<i64>,
    seconds: Option<i64>,
    /// Halves.
    rpe: Option<i64>,
    notes: String,
}

/// How a file is written.
#[derive(Debug, Clone)]
struct Style {
    delimiter: char,
    line_end: &'static str,
    encoding: Encoding,
    quotes_all: bool,
    ends_line: bool,
    decimal_comma: bool,
    /// The order of the columns, by drawing them one after the other.
    order: Vec<prop::sample::Index>,
}

#[derive(Debug, Clone, Copy)]
enum Encoding {
    Plain,
    ByteOrderMark,
    Utf16Little,
    Utf16Big,
}

fn text() -> impl Strategy<Value = String> {
    "[A-Za-zé한][A-Za-z ,;'\"é한\n]{0,10}[a-zß한]"
}

fn set() -> impl Strategy<Value = Set> {
    let figures = (
        0..4_usize,
        prop::option::of(-5_000..50_000_i64),
        prop::option::of(0..60_i32),
        prop::option::of(1..20_000_i64),
        prop::option::of(1..7_200_i64),
        prop::option::of(2..20_i64),
    );
    ("[A-Z][a-z]{1,8}( [(]Bar, \"EZ\"[)])?", figures, prop_oneof![Just(String::new()), text()]).prop_map(
        |(exercise, (kind, weight, reps, meters, seconds, rpe), notes)| Set {
            exercise,
            kind,
            weight,
            reps,
            meters,
            seconds,
            rpe,
            notes,
        },
    )
}

/// Workouts on different days, so that no format joins two of them.
fn history() -> impl Strategy<Value = Vec<Workout>> {
    let workout = (
        0..24 * 60_i64,
        text(),
        1..400_i64,
        prop_oneof![Just(String::new()), text()],
        prop::collection::vec(set(), 1..6),
    );
    prop::collection::vec(workout, 1..5).prop_map(|workouts| {
        let day = |day: i64, minute: i64| {
            let first = jiff::civil::date(2024, 2, 27).at(0, 0, 0, 0);
            first.checked_add(jiff::Span::new().days(day).minutes(minute)).unwrap()
        };
        (0_i64..)
            .zip(workouts)
            .map(|(number, (minute, title, minutes, notes, sets))| Workout {
                start: day(number, minute),
                title,
                minutes,
                notes,
                sets,
            })
            .collect()
    })
}

fn style() -> impl Strategy<Value = Style> {
    (
        prop::sample::select(vec![',', ';', '\t']),
        prop::sample::select(vec!["\n", "\r\n", "\r"]),
        prop::sample::select(vec![Encoding::Plain, Encoding::ByteOrderMark, Encoding::Utf16Little, Encoding::Utf16Big]),
        any::<[bool; 3]>(),
        prop::collection::vec(any::<prop::sample::Index>(), 16),
    )
        .prop_map(|(delimiter, line_end, encoding, [quotes_all, ends_line, decimal_comma], order)| Style {
            delimiter,
            line_end,
            encoding,
            quotes_all,
            ends_line,
            decimal_comma,
            order,
        })
}

/// A cell whose comma is that of a number follows the style; any other stays.
enum Cell {
    Text(String),
    Number(String),
}

fn number<T: ToString>(value: Option<T>) -> Cell {
    Cell::Number(value.map_or(String::new(), |value| value.to_string()))
}

fn hundredths(value: Option<i64>) -> Option<Decimal> {
    value.map(|value| Decimal::new(value, 2))
}

fn write(columns: &[&str], rows: Vec<Vec<Cell>>, style: &Style) -> Vec<u8> {
    let mut left: Vec<usize> = (0..columns.len()).collect();
    let order: Vec<usize> =
        columns.iter().zip(&style.order).map(|(_, index)| left.remove(index.index(left.len()))).collect();
    let shown = |cell: &Cell| match cell {
        Cell::Text(text) => text.clone(),
        // Three decimals after a comma are ambiguous and refused.
        Cell::Number(number) if style.decimal_comma && number.split('.').nth(1).is_none_or(|part| part.len() != 3) => {
            number.replace('.', ",")
        }
        Cell::Number(number) => number.clone(),
    };
    let quoted = |cell: String| {
        let needs_quotes = cell.contains(['"', '\n', '\r', style.delimiter]);
        if style.quotes_all || needs_quotes { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
    };
    let line = |cells: Vec<String>| cells.join(&style.delimiter.to_string());
    let mut lines = vec![line(order.iter().map(|&place| quoted(columns[place].to_owned())).collect())];
    for row in rows {
        lines.push(line(order.iter().map(|&place| quoted(shown(&row[place]))).collect()));
    }
    let mut text = lines.join(style.line_end);
    if style.ends_line {
        text.push_str(style.line_end);
    }
    match style.encoding {
        Encoding::Plain => text.into_bytes(),
        Encoding::ByteOrderMark => format!("\u{feff}{text}").into_bytes(),
        Encoding::Utf16Little => format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Encoding::Utf16Big => format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect(),
    }
}

fn minutes(workout: &Workout) -> String {
    format!("{}h {}m", workout.minutes / 60, workout.minutes % 60)
}

/// The rows of a history, each made by `cells`.
fn rows(history: &[Workout], cells: impl Fn(&Workout, &Set) -> Vec<Cell>) -> Vec<Vec<Cell>> {
    history.iter().flat_map(|workout| workout.sets.iter().map(|set| cells(workout, set)).collect::<Vec<_>>()).collect()
}

const STRONG_KINDS: [&str; 4] = ["1", "W", "F", "D"];
const HEVY_KINDS: [&str; 4] = ["normal", "warmup", "failure", "dropset"];

fn strong_classic(history: &[Workout], style: &Style) -> Vec<u8> {
    let columns = [
        "Date",
        "Workout Name",
        "Duration",
        "Exercise Name",
        "Set Order",
        "Weight",
        "Reps",
        "Distance",
        "Seconds",
        "Notes",
        "Workout Notes",
        "RPE",
    ];
    let cells = |workout: &Workout, set: &Set| {
        vec![
            Cell::Text(workout.start.strftime("%Y-%m-%d %H:%M:%S").to_string()),
            Cell::Text(workout.title.clone()),
            Cell::Text(minutes(workout)),
            Cell::Text(set.exercise.clone()),
            Cell::Text(STRONG_KINDS[set.kind].to_owned()),
            number(hundredths(set.weight)),
            number(set.reps),
            number(set.meters.map(|meters| Decimal::new(meters, 3))),
            number(set.seconds),
            Cell::Text(set.notes.clone()),
            Cell::Text(workout.notes.clone()),
            number(set.rpe.map(|halves| Decimal::new(halves * 5, 1))),
        ]
    };
    write(&columns, rows(history, cells), style)
}

fn strong_units(history: &[Workout], style: &Style) -> Vec<u8> {
    let columns = [
        "Date",
        "Workout Name",
        "Exercise Name",
        "Set Order",
        "Weight",
        "Weight Unit",
        "Reps",
        "RPE",
        "Distance",
        "Distance Unit",
        "Seconds",
        "Notes",
        "Workout Notes",
        "Workout Duration",
    ];
    let cells = |workout: &Workout, set: &Set| {
        vec![
            Cell::Text(workout.start.strftime("%Y-%m-%d %-I:%M:%S\u{202f}%p").to_string()),
            Cell::Text(workout.title.clone()),
            Cell::Text(set.exercise.clone()),
            Cell::Text(STRONG_KINDS[set.kind].to_owned()),
            number(hundredths(set.weight)),
            Cell::Text("kg".to_owned()),
            number(set.reps),
            number(set.rpe.map(|halves| Decimal::new(halves * 5, 1))),
            number(set.meters),
            Cell::Text("m".to_owned()),
            number(set.seconds),
            Cell::Text(set.notes.clone()),
            Cell::Text(workout.notes.clone()),
            Cell::Text(minutes(workout)),
        ]
    };
    write(&columns, rows(history, cells), style)
}

fn strong_quoted(history: &[Workout], style: &Style) -> Vec<u8> {
    let columns = [
        "Workout #",
        "Date",
        "Workout Name",
        "Duration (sec)",
        "Exercise Name",
        "Set Order",
        "Weight (kg)",
        "Reps",
        "RPE",
        "Distance (meters)",
        "Seconds",
        "Notes",
        "Workout Notes",
    ];
    let cells = |workout: &Workout, set: &Set| {
        vec![
            Cell::Text("7".to_owned()),
            Cell::Text(workout.start.strftime("%Y-%m-%d %H:%M:%S").to_string()),
            Cell::Text(workout.title.clone()),
            number(Some(workout.minutes * 60)),
            Cell::Text(set.exercise.clone()),
            Cell::Text(STRONG_KINDS[set.kind].to_owned()),
            number(hundredths(set.weight)),
            number(set.reps),
            number(set.rpe.map(|halves| Decimal::new(halves * 5, 1))),
            number(set.meters),
            number(set.seconds),
            Cell::Text(set.notes.clone()),
            Cell::Text(workout.notes.clone()),
        ]
    };
    write(&columns, rows(history, cells), style)
}

fn hevy(history: &[Workout], style: &Style) -> Vec<u8> {
    let columns = [
        "title",
        "start_time",
        "end_time",
        "description",
        "exercise_title",
        "superset_id",
        "exercise_notes",
        "set_index",
        "set_type",
        "weight_kg",
        "reps",
        "distance_km",
        "duration_seconds",
        "rpe",
    ];
    let time = |at: DateTime| at.strftime("%-d %b %Y, %H:%M").to_string();
    let cells = |workout: &Workout, set: &Set| {
        let end = workout.start.checked_add(jiff::Span::new().minutes(workout.minutes)).unwrap();
        vec![
            Cell::Text(workout.title.clone()),
            Cell::Text(time(workout.start)),
            Cell::Text(time(end)),
            Cell::Text(workout.notes.clone()),
            Cell::Text(set.exercise.clone()),
            Cell::Text(String::new()),
            Cell::Text(set.notes.clone()),
            Cell::Text("0".to_owned()),
            Cell::Text(HEVY_KINDS[set.kind].to_owned()),
            number(hundredths(set.weight)),
            number(set.reps),
            number(set.meters.map(|meters| Decimal::new(meters, 3))),
            number(set.seconds),
            number(set.rpe.map(|halves| Decimal::new(halves * 5, 1))),
        ]
    };
    write(&columns, rows(history, cells), style)
}

/// What an import says, whatever the shape it came from: starts, titles, lengths, notes, and each set.
fn said(import: &Import) -> Vec<String> {
    let mut said = Vec::new();
    for workout in &import.workouts {
        let (start, length) = (workout.local_start, workout.duration_seconds);
        said.push(format!("{start} {} {:?} {length:?} {:?}", workout.slot, workout.title, workout.notes));
        for set in &workout.sets {
            let mut set = set.clone();
            set.line = 0;
            said.push(format!("{set:?}"));
        }
    }
    said
}

/// The same of the history itself.
fn expected(history: &[Workout]) -> Vec<String> {
    use tidemark_stats::SetKind::{Drop, Failure, Normal, Warmup};
    let mut said = Vec::new();
    for workout in history {
        let length = Some(workout.minutes * 60);
        said.push(format!("{} 0 {:?} {length:?} {:?}", workout.start, workout.title, workout.notes));
        for (position, set) in (0..).zip(&workout.sets) {
            let set = tidemark_importers::ImportedSet {
                line: 0,
                position,
                exercise: set.exercise.clone(),
                kind: [Normal, Warmup, Failure, Drop][set.kind],
                weight: hundredths(set.weight)
                    .map(|weight| TypedWeight::new(weight.normalize(), Unit::Kilogram).unwrap()),
                reps: set.reps,
                distance_meters: set.meters.map(|meters| Decimal::from(meters).normalize()),
                duration_seconds: set.seconds,
                rpe: set.rpe.map(|halves| Decimal::new(halves * 5, 1).normalize()),
                superset: None,
                notes: set.notes.clone(),
            };
            said.push(format!("{set:?}"));
        }
    }
    said
}

fn read(bytes: &[u8]) -> Result<Import, TestCaseError> {
    parse(bytes, &ParseOptions::default())
        .map_err(|error| TestCaseError::fail(format!("{error}\n{}", String::from_utf8_lossy(bytes))))
}

fn heaviest(import: &Import) -> Vec<Decimal> {
    let sets = import.workouts.iter().flat_map(|workout| &workout.sets);
    sets.filter_map(|set| Some(set.weight?.to_kilograms().to_unit_rounded(Unit::Kilogram, 12))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_history_is_the_same_in_every_shape_and_style(history in history(), style in style()) {
        let expected = expected(&history);
        let sets: usize = history.iter().map(|workout| workout.sets.len()).sum();
        for bytes in [
            strong_classic(&history, &style),
            strong_units(&history, &style),
            strong_quoted(&history, &style),
            hevy(&history, &style),
        ] {
            let import = read(&bytes)?;
            prop_assert_eq!(&said(&import), &expected);
            prop_assert_eq!((import.rows, import.skipped.len()), (sets as u64, 0));
        }
    }

    #[test]
    fn a_joined_export_says_what_its_parts_say(history in history(), mut style in style()) {
        style.ends_line = true;
        style.encoding = Encoding::Plain;
        let bytes = strong_units(&history, &style);
        let import = read(&bytes.repeat(2))?;
        prop_assert_eq!(said(&import), expected(&history));
        let sets: usize = history.iter().map(|workout| workout.sets.len()).sum();
        prop_assert_eq!((import.rows, import.skipped.len()), (2 * sets as u64 + 1, sets + 1));
    }

    #[test]
    fn pounds_with_nine_decimals_are_the_same_kilograms_to_a_millionth_of_a_gram(history in history(), style in style()) {
        let pound = Decimal::new(45_359_237, 8);
        let kilograms = read(&strong_classic(&history, &style))?;
        let mut in_pounds = String::from("Date,Workout Name,Exercise Name,Set Order,lbs,Reps\n");
        for (day, workout) in (1..).zip(&history) {
            for set in &workout.sets {
                let pounds = hundredths(set.weight)
                    .map(|weight| (weight / pound).round_dp_with_strategy(9, RoundingStrategy::MidpointNearestEven));
                let shown = pounds.map_or(String::new(), |pounds| pounds.to_string());
                in_pounds.push_str(&format!("2024-01-{day:02} 10:00:00,A,B,1,{shown},5\n"));
            }
        }
        let pounds = read(in_pounds.as_bytes())?;
        let (kilograms, pounds) = (heaviest(&kilograms), heaviest(&pounds));
        prop_assert_eq!(kilograms.len(), pounds.len());
        for (kilograms, pounds) in kilograms.iter().zip(&pounds) {
            prop_assert!((kilograms - pounds).abs() <= Decimal::new(1, 9), "{} {}", kilograms, pounds);
        }
    }
}
