//! Attributes, bodyweights, units and kinds of sets through saves and plain SQL.

use rust_decimal::Decimal;
use serde_json::{Value, json};
use tidemark_stats::{TypedWeight, Unit};

use crate::lifter::Lifter;

/// A published mass in pounds, rounded for display.
fn in_pounds(kilograms: Option<String>, decimals: u32) -> Decimal {
    let mass = TypedWeight::new(kilograms.unwrap().parse().unwrap(), Unit::Kilogram).unwrap().to_kilograms();
    mass.to_unit_rounded(Unit::Pound, decimals).normalize()
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

async fn epley(lifter: &Lifter) {
    lifter
        .run("INSERT INTO public.training_profiles (user_id, e1rm_formula) VALUES ($1, 'epley')", &[&lifter.user])
        .await;
}

async fn attribute(lifter: &Lifter, change: &str, exercise: &str) {
    let statement = format!("UPDATE public.exercises SET {change} WHERE user_id = $1 AND name = $2");
    assert_eq!(lifter.run(&statement, &[&lifter.user, &exercise]).await, 1);
}

async fn weigh(lifter: &Lifter, date: &str, weight: &str, unit: &str) {
    let statement = "INSERT INTO public.bodyweight_log (user_id, measured_on, weight, weight_unit)
        VALUES ($1, $2::text::date, $3::text::numeric, $4)";
    lifter.run(statement, &[&lifter.user, &date, &weight, &unit]).await;
}

#[tokio::test]
async fn c06_a_weighted_pull_up_is_published_on_bodyweight_and_added_weight() {
    let mut lifter = Lifter::new().await;
    epley(&lifter).await;
    lifter.lift("2025-01-02", "Pull Up", &[(22.0, "lb", 8)]).await;
    lifter.refresh().await;
    assert_eq!(
        in_pounds(lifter.exercise("Pull Up", "best_e1rm_kg").await, 3),
        decimal("27.867"),
        "as an external load"
    );

    attribute(&lifter, "load_kind = 'bodyweight'", "Pull Up").await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Pull Up", "best_e1rm_kg").await, None, "the bodyweight is not known");
    assert_eq!(lifter.exercise("Pull Up", "reps").await.as_deref(), Some("8"), "reps still count");

    weigh(&lifter, "2025-01-01", "180", "lb").await;
    lifter.refresh().await;
    assert_eq!(in_pounds(lifter.exercise("Pull Up", "best_e1rm_kg").await, 3), decimal("255.867"));
    assert_eq!(lifter.exercise("Pull Up", "best_e1rm_formula").await.as_deref(), Some("epley"));
}

#[tokio::test]
async fn c07_less_assistance_is_published_as_a_record() {
    let mut lifter = Lifter::new().await;
    epley(&lifter).await;
    weigh(&lifter, "2025-01-01", "80", "kg").await;
    lifter.lift("2025-01-01", "Pull Up (Assisted)", &[(30.0, "kg", 8)]).await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Pull Up (Assisted)", "best_e1rm_kg").await.as_deref(), Some("63.333333"));
    assert_eq!(lifter.exercise("Pull Up (Assisted)", "heaviest_kg").await.as_deref(), Some("50"));
    lifter.lift("2025-01-02", "Pull Up (Assisted)", &[(20.0, "kg", 8)]).await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Pull Up (Assisted)", "best_e1rm_kg").await.as_deref(), Some("76"));
    assert_eq!(lifter.exercise("Pull Up (Assisted)", "heaviest_kg").await.as_deref(), Some("60"));
    assert_eq!(lifter.exercise("Pull Up (Assisted)", "least_assistance_kg").await.as_deref(), Some("20"));
    assert_eq!(lifter.exercise("Pull Up (Assisted)", "least_assistance_on").await.as_deref(), Some("2025-01-02"));
    let records = "SELECT string_agg(record ->> 'on' || ' ' || (record ->> 'value'), ', ')
        FROM public.user_exercise_stats, jsonb_array_elements(records) AS record
        WHERE user_id = $1 AND record ->> 'kind' = 'assistance'";
    assert_eq!(lifter.text(records).await.as_deref(), Some("2025-01-02 20"));
}

#[tokio::test]
async fn c09_an_exercise_per_side_counts_twice_in_volume_and_once_in_sets() {
    let mut lifter = Lifter::new().await;
    lifter.lift("2025-01-01", "Bulgarian Split Squat", &[(120.0, "lb", 3)]).await;
    attribute(&lifter, "implements = 2", "Bulgarian Split Squat").await;
    lifter.refresh().await;
    assert_eq!(in_pounds(lifter.exercise("Bulgarian Split Squat", "effective_volume_kg").await, 3), decimal("720"));
    assert_eq!(lifter.exercise("Bulgarian Split Squat", "sets").await.as_deref(), Some("1"));
    // Written for one side, the repetitions count twice as well.
    attribute(&lifter, "implements = 1, per_side = true", "Bulgarian Split Squat").await;
    lifter.refresh().await;
    assert_eq!(in_pounds(lifter.exercise("Bulgarian Split Squat", "effective_volume_kg").await, 3), decimal("720"));
    assert_eq!(lifter.exercise("Bulgarian Split Squat", "reps").await.as_deref(), Some("6"));
    assert_eq!(lifter.exercise("Bulgarian Split Squat", "sets").await.as_deref(), Some("1"));
}

#[tokio::test]
async fn c10_one_implement_counts_once() {
    let mut lifter = Lifter::new().await;
    lifter.lift("2025-01-01", "Cable Curl", &[(60.0, "lb", 10)]).await;
    lifter.refresh().await;
    assert_eq!(in_pounds(lifter.exercise("Cable Curl", "effective_volume_kg").await, 3), decimal("600"));
}

#[tokio::test]
async fn c12_and_c13_pounds_and_kilograms_are_compared_in_one_unit() {
    let mut lifter = Lifter::new().await;
    lifter.lift("2025-01-01", "Squat", &[(50.0, "lb", 1), (50.0, "kg", 1), (110.0, "lb", 1)]).await;
    lifter.lift("2025-01-01", "Leg Press", &[(100.0, "kg", 5), (200.0, "lb", 6)]).await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Squat", "heaviest_kg").await.as_deref(), Some("50"));
    assert_eq!(lifter.exercise("Squat", "heaviest_position").await.as_deref(), Some("1"));
    assert_eq!(lifter.exercise("Leg Press", "best_set_volume_kg").await.as_deref(), Some("544.310844"));
    assert_eq!(lifter.exercise("Leg Press", "best_set_position").await.as_deref(), Some("1"));
}

#[tokio::test]
async fn c16_and_c49_a_weight_comes_back_in_the_unit_it_was_typed_in() {
    let mut lifter = Lifter::new().await;
    lifter.lift("2025-01-01", "Deadlift", &[(233.0, "lb", 1)]).await;
    lifter.lift("2025-01-02", "Curl", &[(6.803_893_642, "kg", 1)]).await;
    lifter.refresh().await;
    let stored = "SELECT string_agg(trim_scale(weight) || ' ' || weight_unit, ', ' ORDER BY weight DESC)
        FROM public.workout_sets WHERE user_id = $1";
    assert_eq!(lifter.text(stored).await.as_deref(), Some("233 lb, 6.803893642 kg"));
    assert_eq!(lifter.exercise("Deadlift", "heaviest_kg").await.as_deref(), Some("105.68702221"));
    assert_eq!(in_pounds(lifter.exercise("Deadlift", "heaviest_kg").await, 6), decimal("233"));
    assert_eq!(in_pounds(lifter.exercise("Curl", "heaviest_kg").await, 1), decimal("15"));
}

#[tokio::test]
async fn c27_and_c28_ties_and_missed_sets_are_published_as_no_records() {
    let mut lifter = Lifter::new().await;
    lifter.lift("2025-01-01", "Bench Press", &[(95.0, "kg", 5)]).await;
    lifter.lift("2025-01-02", "Bench Press", &[(100.0, "kg", 5); 3]).await;
    lifter.lift("2025-01-02", "Deadlift", &[(140.0, "kg", 0); 2]).await;
    lifter.refresh().await;
    let weight_records =
        "SELECT count(*)::text FROM public.user_exercise_stats, jsonb_array_elements(records) AS record
        WHERE user_id = $1 AND record ->> 'kind' = 'weight'";
    assert_eq!(lifter.text(weight_records).await.as_deref(), Some("1"));
    for (column, expected) in [("sets", "0"), ("attempts", "2"), ("total_volume_kg", "0"), ("records", "[]")] {
        assert_eq!(lifter.exercise("Deadlift", column).await.as_deref(), Some(expected), "{column}");
    }
}

#[tokio::test]
async fn c39_and_c46_warm_ups_and_drops_are_published_by_their_rules() {
    let mut lifter = Lifter::new().await;
    let set = |kind: &str, weight: Value, reps: Value, seconds: Value, exercise: &str| json!({"exercise": exercise, "kind": kind, "weight": weight, "reps": reps, "duration_seconds": seconds});
    lifter
        .save(json!({"started_at": "2025-01-01T12:00:00Z", "sets": [
            set("warmup", Value::Null, Value::Null, json!(300), "Row Machine"),
            set("normal", Value::Null, Value::Null, json!(1200), "Row Machine"),
            set("normal", json!(80), json!(6), Value::Null, "Bench Press"),
            set("drop", json!(75), json!(2), Value::Null, "Bench Press"),
        ]}))
        .await;
    lifter.refresh().await;
    assert_eq!(lifter.exercise("Row Machine", "sets").await.as_deref(), Some("1"));
    assert_eq!(lifter.exercise("Row Machine", "warmup_sets").await.as_deref(), Some("1"));
    assert_eq!(lifter.exercise("Row Machine", "working_duration_seconds").await.as_deref(), Some("1200"));
    assert_eq!(lifter.exercise("Bench Press", "working_volume_kg").await.as_deref(), Some("630"));
    assert_eq!(lifter.exercise("Bench Press", "sets").await.as_deref(), Some("1"));
}

#[tokio::test]
async fn a_twin_who_types_pounds_has_the_figures_of_the_one_who_types_kilograms() {
    let mut lifter = Lifter::new().await;
    let pounds = uuid::Uuid::new_v4();
    // Weights that are exact in both units: 0.45359237 kg is one pound.
    for (date, count, reps) in [("2025-01-01", 100, 5), ("2025-01-03", 200, 3), ("2025-01-10", 150, 10)] {
        let exact = Decimal::from(count) * decimal("0.45359237");
        for (user, weight, unit) in [(lifter.user, exact, "kg"), (pounds, Decimal::from(count), "lb")] {
            let statement = "SELECT public.save_workout_v1($1, jsonb_build_object('started_at', $2::text, 'id', $3::text,
                'sets', jsonb_build_array(jsonb_build_object('exercise', 'Squat', 'weight', $4::numeric, 'unit', $5::text,
                'reps', $6::integer))))";
            let id = uuid::Uuid::new_v5(&uuid::Uuid::nil(), date.as_bytes()).to_string();
            lifter.run(statement, &[&user, &format!("{date}T12:00:00Z"), &id, &weight, &unit, &reps]).await;
        }
    }
    lifter.refresh().await;
    let differing = "SELECT count(*) FROM (
            SELECT to_jsonb(stats) - 'user_id' - 'generation' - 'exercise_id' FROM public.user_exercise_stats AS stats
            WHERE user_id = $1
            EXCEPT
            SELECT to_jsonb(stats) - 'user_id' - 'generation' - 'exercise_id' FROM public.user_exercise_stats AS stats
            WHERE user_id = $2
        ) AS surplus";
    assert_eq!(lifter.pipeline.one(differing, &[&lifter.user, &pounds]).await.get::<_, i64>(0), 0);
    let summaries = "SELECT count(DISTINCT to_jsonb(summary) - 'user_id' - 'generation'), count(*)
        FROM public.user_stats_summary AS summary";
    let row = lifter.pipeline.one(summaries, &[]).await;
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (1, 2));
}
