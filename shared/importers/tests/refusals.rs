//! A file with anything unreadable in it is refused as a whole, and the error says where and what to do.
#![allow(clippy::unwrap_used)]

use tidemark_importers::{CELL_BYTES_MAX, CellProblem, FILE_BYTES_MAX, ImportError, ParseOptions, parse};

const STRONG: &str = "Date,Workout Name,Duration,Exercise Name,Set Order,Weight,Reps,Distance,Seconds,RPE";
const HEVY: &str = "title,start_time,end_time,description,exercise_title,superset_id,exercise_notes,set_index,set_type,weight_kg,reps,distance_km,duration_seconds,rpe";
const FITNOTES: &str = "Date,Exercise,Category,Weight,Weight Unit,Reps,Distance,Distance Unit,Time";

fn refusal(bytes: &[u8]) -> ImportError {
    parse(bytes, &ParseOptions::default()).unwrap_err()
}

/// The refusal of a file whose second data row is given; the first is fine.
fn strong_refusal(row: &str) -> ImportError {
    refusal(format!("{STRONG}\n2024-03-01 10:00:00,Push,1h,Bench,1,60,8,0,0,\n{row}\n").as_bytes())
}

fn assert_cell(error: &ImportError, line: u64, column: &str, problem: CellProblem) {
    assert_eq!(*error, ImportError::Cell { line, column: column.to_owned(), problem });
}

#[test]
fn a_value_out_of_range_refuses_the_file_with_line_and_column() {
    let weights = CellProblem::OutOfRange { min: -999_999, max: 999_999 };
    let reps = CellProblem::OutOfRange { min: 0, max: 1_000_000 };
    let exertion = CellProblem::OutOfRange { min: 0, max: 10 };
    for (row, column, problem) in [
        ("2024-03-01 10:00:00,Push,1h,Bench,2,1000000000000,8,0,0,", "Weight", weights),
        ("2024-03-01 10:00:00,Push,1h,Bench,2,-1000000,8,0,0,", "Weight", weights),
        ("2024-03-01 10:00:00,Push,1h,Bench,2,1e400,8,0,0,", "Weight", CellProblem::NotANumber),
        ("2024-03-01 10:00:00,Push,1h,Bench,2,60,-8,0,0,", "Reps", reps),
        ("2024-03-01 10:00:00,Push,1h,Bench,2,60,99999999999,0,0,", "Reps", reps),
        ("2024-03-01 10:00:00,Push,1h,Bench,2,60,8.5,0,0,", "Reps", CellProblem::NotWhole),
        ("2024-03-01 10:00:00,Push,1h,Bench,2,60,eight,0,0,", "Reps", CellProblem::NotANumber),
        ("2024-03-01 10:00:00,Push,1h,Bench,2,60,8,0,0,11", "RPE", exertion),
        ("2024-02-31 10:00:00,Push,1h,Bench,2,60,8,0,0,", "Date", CellProblem::NotADate),
        ("0000-02-01 10:00:00,Push,1h,Bench,2,60,8,0,0,", "Date", CellProblem::YearOutOfRange),
        (",Push,1h,Bench,2,60,8,0,0,", "Date", CellProblem::Missing),
        ("2024-03-01 10:00:00,Push,soon,Bench,2,60,8,0,0,", "Duration", CellProblem::NotADuration),
        ("2024-03-01 10:00:00,Push,1h, ,2,60,8,0,0,", "Exercise Name", CellProblem::Missing),
        ("2024-03-01 10:00:00,Push,1h,Bench,X,60,8,0,0,", "Set Order", CellProblem::UnknownSetKind),
        ("2024-03-01 10:00:00,Push,1h,Bench,,60,8,0,0,", "Set Order", CellProblem::Missing),
    ] {
        assert_cell(&strong_refusal(row), 3, column, problem);
    }
}

#[test]
fn a_refusal_never_repeats_the_cell() {
    for row in [
        "2024-03-01 10:00:00,secret,1h,Bench,2,secret,8,0,0,",
        "2024-03-01 10:00:00,Push,secret,Bench,2,60,8,0,0,",
        "2024-03-01 10:00:00,Push,1h,Bench,secret,60,8,0,0,",
        "2024-03-01 10:00:00,Push,1h,Bench,2,60,8,0,0,\"secret",
        "secret,Push,1h,Bench,2,60,8,0,0,",
        "secret,secret",
    ] {
        let error = strong_refusal(row);
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
        assert!(error.to_string().starts_with("line 3"), "{error}");
    }
}

#[test]
fn the_text_of_a_refusal_says_where_and_what_to_do() {
    assert_eq!(
        strong_refusal("2024-03-01 10:00:00,Push,1h,Bench,2,60,-8,0,0,").to_string(),
        "line 3, column Reps: the number must be between 0 and 1000000; correct it in the file"
    );
    assert_eq!(
        strong_refusal("2024-03-01 10:00:00,Push").to_string(),
        "line 3: the row has 2 columns and the header has 10; put text that holds a comma in quotes, or export the file again"
    );
    assert_eq!(
        refusal(b"Day,Lift\n1,2\n").to_string(),
        "the header \"Day,Lift\" is not known; known formats are Strong, Hevy, FitNotes, StrongLifts, Fitbod, GymBook; export from one of these"
    );
}

#[test]
fn a_file_that_is_no_csv_export_is_refused() {
    assert_eq!(refusal(b""), ImportError::Empty);
    assert_eq!(refusal(b"\xef\xbb\xbf\r\n \n"), ImportError::Empty);
    assert!(matches!(refusal(b"PK\x03\x04stuff"), ImportError::NotCsv { .. }));
    assert_eq!(refusal(b"Date\nx\0y"), ImportError::NulByte { line: 2 });
    assert_eq!(
        refusal(format!("{STRONG}\n").into_bytes().into_iter().chain([0xff]).collect::<Vec<_>>().as_slice()),
        ImportError::Encoding { line: 2 }
    );
    let latin_1 = format!("{STRONG}\n2024-03-01 10:00:00,Push,1h,Bankdr").into_bytes().into_iter().chain([0xfc]);
    let error = refusal(&latin_1.collect::<Vec<_>>());
    assert_eq!(error, ImportError::Encoding { line: 2 });
    assert!(error.to_string().contains("Windows-1252 or Latin-1: save it as CSV UTF-8"), "{error}");
    let half = [0xff, 0xfe].into_iter().chain(STRONG.bytes().flat_map(|byte| [byte, 0])).chain([b'x']);
    assert_eq!(refusal(&half.collect::<Vec<_>>()), ImportError::Encoding { line: 1 });
}

#[test]
fn a_header_that_lacks_a_column_names_the_nearest_format_and_the_column() {
    let error = refusal(STRONG.replace(",Weight", "").as_bytes());
    assert_eq!(
        error.to_string(),
        format!(
            "the header \"{}\" is nearest to Strong and lacks Weight; known formats are Strong, Hevy, FitNotes, StrongLifts, Fitbod, GymBook; export the file again as it is",
            STRONG.replace(",Weight", "")
        )
    );
}

#[test]
fn an_unknown_header_is_shown_in_one_short_line() {
    let ImportError::UnknownFormat { header } = refusal(format!("a\tb\u{7}{}\nrow", "é".repeat(1000)).as_bytes())
    else {
        panic!("the header is of no format");
    };
    assert_eq!(header, format!("a b {}…", "é".repeat(196)));
}

#[test]
fn a_column_that_is_not_known_or_there_twice_refuses_the_file() {
    let unknown = refusal(format!("{HEVY},mood\n").as_bytes());
    assert_eq!(
        unknown.to_string(),
        "column mood: a Hevy export with this column is not known; remove the column, or report the header"
    );
    let twice = refusal(format!("{HEVY},weight_kg\n").as_bytes());
    assert!(matches!(twice, ImportError::RepeatedColumn { column, .. } if column == "weight_kg"));
}

#[test]
fn a_quote_cut_off_at_the_end_of_the_file_is_refused() {
    let error = strong_refusal("2024-03-01 10:00:00,\"Push,1h,Bench,2,60,8,0,0,");
    assert_eq!(error, ImportError::UnclosedQuote { line: 3 });
}

#[test]
fn a_missing_quote_never_joins_two_rows_into_one() {
    let row = |first: &str| {
        format!("{FITNOTES}\n2024-03-01,{first},Arms,20,kgs,8,,,\n2024-03-01,\"Curl, EZ\",Arms,20,kgs,8,,,\n")
    };
    assert!(parse(row("\"Curl, EZ\"").as_bytes(), &ParseOptions::default()).is_ok());
    assert_eq!(refusal(row("\"Curl, EZ").as_bytes()), ImportError::StrayQuote { line: 3 });
}

#[test]
fn commas_without_quotes_are_refused_where_their_place_is_not_certain() {
    let error = strong_refusal("2024-03-01 10:00:00,Push,1h,Bench,2,60,8,0,0,,7");
    assert_eq!(error, ImportError::ColumnCount { line: 3, expected: 10, found: 11 });
    let hevy = refusal(format!("{HEVY}\nA, B,15 Sep 2025,,,Row,,,0,normal,50,8,,,\n").as_bytes());
    assert!(matches!(hevy, ImportError::ColumnCount { line: 2, .. }));
}

#[test]
fn a_decimal_comma_without_quotes_is_refused_and_never_moves_the_figures_of_a_row() {
    let ambiguous = strong_refusal("2024-03-01 10:00:00,Push,1h,Bench,2,\"1,250\",8,0,0,");
    assert_cell(&ambiguous, 3, "Weight", CellProblem::AmbiguousComma);
    for row in [
        "2024-03-01 10:00:00,Push,1h,Bench,2,82,5,8,0,0,",
        "2024-03-01 10:00:00,Push,1h,Bench,W,82,5,8,0,0,",
        "2024-03-01 10:00:00,Push, Pull,1h,Bench,2,82,5,8,0,0,",
        "2024-03-01 10:00:00,Push,1h,Bench,2,82,8,0,0,7,5",
    ] {
        assert!(matches!(strong_refusal(row), ImportError::ColumnCount { line: 3, .. }), "{row}");
    }
    let header = STRONG.replace(",RPE", ",Notes,Workout Notes,RPE");
    for row in ["Bench,2,82,5,8,0,0,note,,", "Bench,2,82,5,8,0,,note,,", "Bench,D,82,5,8,0,0,note,more,8"] {
        let error = refusal(format!("{header}\n2024-03-01 10:00:00,Push,1h,{row}\n").as_bytes());
        assert!(matches!(error, ImportError::ColumnCount { line: 2, .. }), "{row}");
    }
}

#[test]
fn a_month_in_an_unknown_language_says_what_to_do() {
    let error = refusal(format!("{HEVY}\nA,\"15 Zář 2025, 07:48\",,,Row,,,0,normal,50,8,,,\n").as_bytes());
    assert_cell(&error, 2, "start_time", CellProblem::UnknownMonth);
    let error = refusal(format!("{HEVY}\nA,\"15 Sep 2025, 07:48\",,,Row,,,0,giant,50,8,,,\n").as_bytes());
    assert_cell(&error, 2, "set_type", CellProblem::UnknownSetKind);
}

#[test]
fn a_unit_that_is_not_known_is_never_guessed() {
    let error = refusal(format!("{FITNOTES}\n2024-03-01,Bench,Chest,10,stone,8,,,\n").as_bytes());
    assert_cell(&error, 2, "Weight Unit", CellProblem::UnknownUnit);
    let error = refusal(format!("{FITNOTES}\n2024-03-01,Run,Cardio,,,,5,,\n").as_bytes());
    assert_cell(&error, 2, "Distance Unit", CellProblem::UnknownUnit);
}

#[test]
fn a_hundred_megabytes_in_a_single_line_are_refused() {
    let bytes = vec![b'x'; 100 * 1024 * 1024];
    assert_eq!(refusal(&bytes), ImportError::TooLarge { bytes: bytes.len() });
    let allowed = &bytes[..FILE_BYTES_MAX];
    assert!(matches!(refusal(allowed), ImportError::UnknownFormat { .. }));
    let mut after_header = format!("{STRONG}\n").into_bytes();
    after_header.extend_from_slice(&bytes[..CELL_BYTES_MAX + 1]);
    assert_eq!(refusal(&after_header), ImportError::CellTooLong { line: 2 });
}

#[test]
fn a_column_without_a_name_is_accepted_as_long_as_nothing_is_in_it() {
    let file = |last: &str| format!("{FITNOTES},\n2024-03-01,Bench,Chest,60,kgs,5,,,,{last}\n");
    assert_eq!(parse(file("").as_bytes(), &ParseOptions::default()).unwrap().rows, 1);
    let error = refusal(file("secret").as_bytes());
    assert_eq!(error, ImportError::Nameless { line: 2, place: 10 });
    assert!(error.to_string().contains("column 10 no name"), "{error}");
}
