//! The four real exports: every figure of `golden.json` that the published tables hold.

use std::collections::BTreeMap;

use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::Value;

use crate::lifter::{Lifter, data};

/// A number of `golden.json`, read without a binary float.
fn decimal(value: &Value) -> Decimal {
    value.to_string().parse::<Decimal>().unwrap().normalize()
}

fn rounded(value: Decimal) -> Decimal {
    value.round_dp_with_strategy(3, RoundingStrategy::MidpointNearestEven).normalize()
}

async fn check(file: &str) {
    let golden: Value = serde_json::from_slice(&data("golden.json")).unwrap();
    let golden = &golden["files"][file];
    let mut lifter = Lifter::new().await;
    let account = lifter.import(&data(file), Some("Europe/Berlin")).await;
    assert_eq!(Some(account.rows), golden["rows"].as_u64());
    assert_eq!(Some(account.imported), golden["set_rows"].as_u64());

    lifter.refresh().await;
    check_summary(&lifter, golden).await;
    check_kinds(&lifter, golden).await;
    check_exercises(&lifter, golden, "best_e1rm_brzycki").await;
    check_weeks(&lifter, golden, "monday").await;

    let profile = "INSERT INTO public.training_profiles (user_id, week_start, e1rm_formula) VALUES ($1, 7, 'epley')";
    lifter.run(profile, &[&lifter.user]).await;
    lifter.refresh().await;
    check_summary(&lifter, golden).await;
    check_exercises(&lifter, golden, "best_e1rm_epley").await;
    check_weeks(&lifter, golden, "sunday").await;

    let again = lifter.import(&data(file), Some("Europe/Berlin")).await;
    assert_eq!((again.imported, again.skipped.len() as u64), (0, account.rows), "importing twice adds nothing");
    let (requested, applied) = lifter.pipeline.generations(lifter.user).await;
    assert_eq!(requested, applied, "and makes nobody stale");
    lifter.pipeline.check_invariants().await;
}

async fn check_summary(lifter: &Lifter, golden: &Value) {
    let query = "SELECT workouts::text, training_days::text, exercises::text, total_reps::text, working_set_rows::text,
            first_performed_on::text, last_performed_on::text, total_volume_kg, working_volume_kg
        FROM public.user_stats_summary WHERE user_id = $1";
    let row = lifter.pipeline.one(query, &[&lifter.user]).await;
    let warmups = golden["kinds"].get("warmup").or(golden["kinds"].get("W")).and_then(Value::as_u64).unwrap_or(0);
    let working = golden["set_rows"].as_u64().unwrap() - warmups;
    for (index, key) in ["sessions", "training_days", "exercises", "reps_all"].into_iter().enumerate() {
        assert_eq!(row.get::<_, String>(index), golden[key].to_string(), "{key}");
    }
    assert_eq!(row.get::<_, String>(4), working.to_string(), "working sets");
    assert_eq!(row.get::<_, Option<String>>(5).as_deref(), golden["first"].as_str());
    assert_eq!(row.get::<_, Option<String>>(6).as_deref(), golden["last"].as_str());
    assert_eq!(row.get::<_, Decimal>(7).normalize(), decimal(&golden["volume_all"]), "total volume");
    assert_eq!(row.get::<_, Decimal>(8).normalize(), decimal(&golden["volume_without_warmup"]), "working volume");
}

/// Kinds as stored, and the warm-ups as published.
async fn check_kinds(lifter: &Lifter, golden: &Value) {
    let names = BTreeMap::from([
        ("warmup", "warmup"),
        ("W", "warmup"),
        ("normal", "normal"),
        ("N", "normal"),
        ("failure", "failure"),
        ("dropset", "drop"),
    ]);
    for (written, expected) in golden["kinds"].as_object().unwrap() {
        let query = "SELECT count(*) FROM public.workout_sets WHERE user_id = $1 AND kind = $2";
        let kind = names[written.as_str()];
        let found: i64 = lifter.pipeline.one(query, &[&lifter.user, &kind]).await.get(0);
        assert_eq!(Some(found), expected.as_i64(), "{written}");
        if kind == "warmup" {
            let query = "SELECT sum(warmup_sets) FROM public.user_exercise_stats WHERE user_id = $1";
            let published: i64 = lifter.pipeline.one(query, &[&lifter.user]).await.get(0);
            assert_eq!(Some(published), expected.as_i64());
        }
    }
}

async fn check_exercises(lifter: &Lifter, golden: &Value, formula: &str) {
    let query =
        "SELECT working_set_rows::bigint + warmup_sets, working_set_rows::bigint, stats.reps, working_volume_kg,
            training_days::bigint, first_performed_on::text, last_performed_on::text, heaviest_kg, heaviest_reps,
            best_e1rm_kg, best_e1rm_formula, estimated.weight, estimated.reps
        FROM public.user_exercise_stats AS stats
        LEFT JOIN public.workout_sets AS estimated ON estimated.user_id = stats.user_id
            AND estimated.workout_id = best_e1rm_workout_id AND estimated.position = best_e1rm_position
        WHERE stats.user_id = $1 AND exercise_name = $2";
    for (name, figures) in golden["top_exercises"].as_object().unwrap() {
        let row = lifter.pipeline.one(query, &[&lifter.user, name]).await;
        for (index, key) in ["sets_all", "sets_working", "reps_working"].into_iter().enumerate() {
            assert_eq!(Some(row.get::<_, i64>(index)), figures[key].as_i64(), "{name}: {key}");
        }
        assert_eq!(row.get::<_, Decimal>(3).normalize(), decimal(&figures["volume_working"]), "{name}: volume");
        assert_eq!(Some(row.get::<_, i64>(4)), figures["days"].as_i64(), "{name}: days");
        assert_eq!(row.get::<_, Option<String>>(5).as_deref(), figures["first"].as_str(), "{name}: first");
        assert_eq!(row.get::<_, Option<String>>(6).as_deref(), figures["last"].as_str(), "{name}: last");
        let heaviest: Option<Decimal> = row.get(7);
        assert_eq!(heaviest.map(|kg| kg.normalize()), optional(&figures["max_weight"]), "{name}: heaviest");
        assert_eq!(row.get::<_, Option<i32>>(8).map(i64::from), figures["reps_at_max_weight"].as_i64(), "{name}");

        let estimate: Option<Decimal> = row.get(9);
        assert_eq!(estimate.map(rounded), optional(&figures[formula][0]), "{name}: {formula}");
        if estimate.is_some() {
            let named = format!("best_e1rm_{}", row.get::<_, &str>(10));
            assert_eq!(named, formula, "{name}: the formula is named in the row");
            assert_eq!(row.get::<_, Decimal>(11).normalize(), decimal(&figures[formula][1]), "{name}: weight of it");
            assert_eq!(Some(i64::from(row.get::<_, i32>(12))), figures[formula][2].as_i64(), "{name}: reps of it");
        }
    }
}

fn optional(value: &Value) -> Option<Decimal> {
    (!value.is_null()).then(|| decimal(value))
}

async fn check_weeks(lifter: &Lifter, golden: &Value, start: &str) {
    let query = "SELECT count(DISTINCT week_start) FROM public.user_exercise_stats_weekly WHERE user_id = $1";
    let weeks: i64 = lifter.pipeline.one(query, &[&lifter.user]).await.get(0);
    assert_eq!(Some(weeks), golden[format!("weeks_{start}")].as_i64(), "weeks from {start}");
    let longest = golden[format!("longest_week_streak_{start}")].to_string();
    assert_eq!(lifter.summary("longest_streak_weeks").await, Some(longest), "longest streak from {start}");
}

#[tokio::test]
async fn the_hevy_export_is_published_with_the_golden_figures() {
    check("hevy_MIT_kg_rpe_settypes_7211.csv").await;
}

#[tokio::test]
async fn the_fitnotes_export_is_published_with_the_golden_figures() {
    check("fitnotes_MIT_kgs_2495.csv").await;
}

#[tokio::test]
async fn the_classic_strong_export_is_published_with_the_golden_figures() {
    check("strong_MIT_2078.csv").await;
}

#[tokio::test]
async fn the_strong_export_with_warm_ups_is_published_with_the_golden_figures() {
    check("strong_MIT_no_notes_warmups_666.csv").await;
}
