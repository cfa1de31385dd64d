//! Which reported fault is tested where. A case of `cases.json` that is missing here, or a test that is not there, fails.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::lifter::data;

/// Files with tests of cases, from the root of the repository.
const CALENDAR: &str = "tests/golden/calendar.rs";
const CHANGES: &str = "tests/golden/changes.rs";
const IMPORTS: &str = "tests/golden/imports.rs";
const LOADS: &str = "tests/golden/loads.rs";
const ONE_REP_MAX: &str = "shared/stats/tests/statistics/one_rep_max.rs";
const MASS: &str = "shared/stats/tests/statistics/mass.rs";
const SETS: &str = "shared/stats/tests/statistics/sets.rs";
const ACCOUNTING: &str = "shared/importers/tests/accounting.rs";
const VALUES: &str = "shared/importers/tests/values.rs";

/// Case, file, test.
const COVERAGE: &[(&str, &str, &str)] = &[
    ("C01", ONE_REP_MAX, "c01_one_repetition_is_its_own_maximum_in_any_formula"),
    ("C03", ONE_REP_MAX, "c03_a_set_of_191_reps_has_no_estimate_but_stands_as_reps_record"),
    ("C04", ONE_REP_MAX, "c04_no_estimate_is_made_above_the_cap_and_both_formulas_meet_at_ten_reps"),
    ("C06", LOADS, "c06_a_weighted_pull_up_is_published_on_bodyweight_and_added_weight"),
    ("C07", LOADS, "c07_less_assistance_is_published_as_a_record"),
    ("C09", LOADS, "c09_an_exercise_per_side_counts_twice_in_volume_and_once_in_sets"),
    ("C10", LOADS, "c10_one_implement_counts_once"),
    ("C12", LOADS, "c12_and_c13_pounds_and_kilograms_are_compared_in_one_unit"),
    ("C13", LOADS, "c12_and_c13_pounds_and_kilograms_are_compared_in_one_unit"),
    ("C15", VALUES, "pounds_stay_pounds_as_typed_c15"),
    ("C15", MASS, "c15_and_c16_a_weight_typed_in_pounds_is_converted_exactly_and_shown_as_typed"),
    ("C16", LOADS, "c16_and_c49_a_weight_comes_back_in_the_unit_it_was_typed_in"),
    ("C18", CALENDAR, "c18_a_workout_after_midnight_is_published_under_its_local_date_and_week"),
    ("C19", CALENDAR, "c19_new_year_at_midnight_is_published_in_january"),
    ("C21", CALENDAR, "c21_the_week_start_of_the_profile_moves_weeks_and_nothing_else"),
    ("C22", CALENDAR, "c22_a_sunday_evening_in_los_angeles_is_published_in_the_week_that_ends_with_it"),
    ("C24", CALENDAR, "c24_an_evening_run_is_published_on_one_day_only"),
    ("C25", CALENDAR, "c25_the_day_of_25_hours_is_one_day"),
    ("C27", LOADS, "c27_and_c28_ties_and_missed_sets_are_published_as_no_records"),
    ("C28", LOADS, "c27_and_c28_ties_and_missed_sets_are_published_as_no_records"),
    ("C30", SETS, "c30_reps_are_summed_as_numbers"),
    ("C31", CHANGES, "c31_deleting_the_best_workout_lowers_the_record"),
    ("C33", IMPORTS, "c33_importing_twice_adds_nothing_and_a_changed_comment_neither"),
    ("C33", ACCOUNTING, "a_changed_comment_changes_no_identity_c33"),
    ("C34", CHANGES, "c34_a_renamed_and_archived_exercise_keeps_its_sets"),
    ("C36", IMPORTS, "c36_the_figures_of_38786_sets_are_served_from_stored_rows"),
    ("C37", IMPORTS, "c37_an_import_of_772_workouts_makes_one_refresh"),
    ("C39", LOADS, "c39_and_c46_warm_ups_and_drops_are_published_by_their_rules"),
    ("C40", MASS, "c40_plates_are_rounded_to_the_nearest_step"),
    ("C42", CALENDAR, "c42_weeks_of_different_years_are_published_apart"),
    ("C43", CALENDAR, "c43_what_the_streak_needs_is_stored_as_dates"),
    ("C45", ACCOUNTING, "every_row_of_a_550_kilobyte_strong_file_over_new_year_is_accounted_for_c45"),
    ("C46", LOADS, "c39_and_c46_warm_ups_and_drops_are_published_by_their_rules"),
    ("C48", MASS, "c48_sums_of_decimals_have_no_binary_remainder"),
    ("C49", LOADS, "c16_and_c49_a_weight_comes_back_in_the_unit_it_was_typed_in"),
];

/// Cases that only an importer of a later version can show.
const NEEDS_A_LATER_IMPORTER: &[&str] = &[];

#[test]
fn every_reported_fault_has_its_place_and_no_place_is_made_up() {
    let cases: Value = serde_json::from_slice(&data("cases.json")).unwrap();
    let known: BTreeSet<&str> = cases.as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap()).collect();
    let covered: BTreeSet<&str> =
        COVERAGE.iter().map(|(case, _file, _test)| *case).chain(NEEDS_A_LATER_IMPORTER.iter().copied()).collect();
    assert_eq!(covered, known);
}

#[test]
fn every_test_that_the_table_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (case, file, test) in COVERAGE {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        assert!(text.contains(&format!("fn {test}(")), "{case}: {file} has no {test}");
    }
}
