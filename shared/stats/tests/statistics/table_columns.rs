use serde_json::Value;

use crate::log::Log;

const EXERCISE_COLUMNS: &str = "exercise_id exercise_name sets working_set_rows warmup_sets attempts suspect_sets reps \
    total_reps working_duration_seconds working_volume_kg total_volume_kg effective_volume_kg best_e1rm_kg best_e1rm_formula \
    best_e1rm_workout_id best_e1rm_position best_e1rm_on heaviest_kg heaviest_reps heaviest_workout_id \
    heaviest_position heaviest_on best_set_volume_kg best_set_kg best_set_reps best_set_workout_id best_set_position \
    best_set_on most_reps most_reps_workout_id most_reps_position most_reps_on least_assistance_kg \
    least_assistance_workout_id least_assistance_position least_assistance_on first_performed_on last_performed_on \
    training_days training_weeks days_per_week records";
const RECORD_COLUMNS: &str = "kind value reps workout_id position on";
const REP_MAX_COLUMNS: &str = "exercise_id reps weight_kg performed_reps workout_id position performed_on";
const WEEK_COLUMNS: &str = "exercise_id week_start iso_week sets reps working_volume_kg total_volume_kg \
    effective_volume_kg best_e1rm_kg";
const MUSCLE_COLUMNS: &str = "muscle week_start iso_week sets primary_sets secondary_sets working_volume_kg total_volume_kg \
    effective_volume_kg";
const SUMMARY_COLUMNS: &str = "workouts training_days exercises sets working_set_rows reps total_reps total_volume_kg \
    working_volume_kg effective_volume_kg first_performed_on last_performed_on last_training_week last_streak_weeks \
    longest_streak_weeks longest_streak_started_on monthly";
const MONTH_COLUMNS: &str =
    "month workouts training_days sets reps total_volume_kg working_volume_kg effective_volume_kg";

fn rows() -> Value {
    let mut log = Log::lifting().day("2024-02-01", &[("100.50 kg", 10)]).day("2024-02-02", &[("101 kg", 10)]);
    log.0.exercises[0].name = "Bench Press".to_owned();
    serde_json::to_value(log.compute()).unwrap()
}

fn assert_columns(row: &Value, columns: &str) {
    let mut expected = columns.split_whitespace().collect::<Vec<_>>();
    let mut actual = row.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>();
    expected.sort_unstable();
    actual.sort_unstable();
    assert_eq!(actual, expected);
}

#[test]
fn serialised_rows_have_exactly_the_columns_of_the_tables() {
    let rows = rows();
    assert_columns(&rows, "exercises rep_maxes weekly muscles summary");
    assert_columns(&rows["exercises"][0], EXERCISE_COLUMNS);
    assert_columns(&rows["exercises"][0]["records"][0], RECORD_COLUMNS);
    assert_columns(&rows["rep_maxes"][0], REP_MAX_COLUMNS);
    assert_columns(&rows["weekly"][0], WEEK_COLUMNS);
    assert_columns(&rows["muscles"][0], MUSCLE_COLUMNS);
    assert_columns(&rows["summary"], SUMMARY_COLUMNS);
    assert_columns(&rows["summary"]["monthly"][0], MONTH_COLUMNS);
}

#[test]
fn masses_are_decimal_strings_dates_are_iso_and_the_unknown_is_null() {
    let rows = rows();
    let stats = &rows["exercises"][0];
    assert_eq!(stats["total_volume_kg"], "2015");
    assert_eq!(stats["best_e1rm_kg"], "134.666667");
    assert_eq!((&stats["best_e1rm_formula"], &stats["best_e1rm_on"]), (&"brzycki".into(), &"2024-02-02".into()));
    assert_eq!(stats["least_assistance_kg"], Value::Null);
    assert_eq!(
        (&rows["weekly"][0]["week_start"], &rows["weekly"][0]["iso_week"]),
        (&"2024-01-29".into(), &"2024-W05".into())
    );
    let records = stats["records"].as_array().unwrap();
    let written = records.iter().map(|record| format!("{} {}", record["kind"], record["value"])).collect::<Vec<_>>();
    assert_eq!(written, [r#""e1rm" "134.666667""#, r#""weight" "101""#, r#""set_volume" "1010""#]);
}
