//! Random histories on a real database: what is published by refreshes of dirty exercises alone equals a full computation and what
//! plain SQL over the source gives. Failures name the seed.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::lifter::Lifter;

/// Figures by exercise, week and muscle, computed from the source by another and slower road than the statistics crate. External
/// exercises and no merges only; sets are not counted here. $2: the muscles of each name as [{"name", "muscle", "weight"}].
const SLOWLY: &str = include_str!("slowly.sql");

const NAMES: [&str; 6] = ["Bench Press", "Squat", "Deadlift (Barbell)", "Hammer Curl", "Stone of My Garden", "Pull Up"];

/// Changes of what a figure depends on besides the workouts; $1 is the user.
const CHANGES: [&str; 10] = [
    "UPDATE public.exercises SET load_kind = 'bodyweight' WHERE user_id = $1 AND name = 'Pull Up'",
    "UPDATE public.exercises SET load_kind = 'assisted' WHERE user_id = $1 AND name = 'Pull Up'",
    "UPDATE public.exercises SET implements = 3 - implements WHERE user_id = $1 AND name = 'Hammer Curl'",
    "INSERT INTO public.bodyweight_log (user_id, measured_on, weight) VALUES ($1, '2025-01-05', 80.5)
        ON CONFLICT (user_id, measured_on) DO UPDATE SET weight = bodyweight_log.weight + 1",
    "INSERT INTO public.training_profiles (user_id, week_start) VALUES ($1, 7)
        ON CONFLICT (user_id) DO UPDATE SET week_start = training_profiles.week_start % 7 + 1",
    "INSERT INTO public.training_profiles (user_id, e1rm_formula) VALUES ($1, 'epley')
        ON CONFLICT (user_id) DO UPDATE SET e1rm_formula = 'epley'",
    "UPDATE public.exercises SET name = CASE name WHEN 'Squat' THEN 'Front Squat' ELSE 'Squat' END
        WHERE user_id = $1 AND name IN ('Squat', 'Front Squat')
            AND NOT EXISTS (SELECT FROM public.exercises AS other WHERE other.user_id = $1 AND other.name = 'Front Squat')",
    "UPDATE public.exercises SET merged_into = (SELECT id FROM public.exercises WHERE user_id = $1 AND name = 'Bench Press')
        WHERE user_id = $1 AND name = 'Stone of My Garden'",
    "UPDATE public.exercises SET merged_into = NULL WHERE user_id = $1",
    "DELETE FROM public.exercises WHERE user_id = $1 AND merged_into IS NULL
        AND NOT EXISTS (SELECT FROM public.workout_sets AS held WHERE held.user_id = $1 AND held.exercise_id = exercises.id)
        AND NOT EXISTS (SELECT FROM public.exercises AS other WHERE other.user_id = $1 AND other.merged_into = exercises.id)",
];

fn random(seed: u8) -> TestRng {
    TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32])
}

fn below(rng: &mut TestRng, bound: u32) -> u32 {
    rng.next_u32() % bound
}

fn workout(rng: &mut TestRng) -> Value {
    let sets: Vec<Value> = (0..below(rng, 9))
        .map(|_| {
            let exercise = NAMES[below(rng, 6) as usize];
            let kind = ["warmup", "normal", "normal", "failure", "drop"][below(rng, 5) as usize];
            let unit = ["kg", "lb"][below(rng, 2) as usize];
            json!({"exercise": exercise, "kind": kind, "unit": unit, "weight": f64::from(below(rng, 800)) / 4.0, "reps": below(rng, 14)})
        })
        .collect();
    let id = Uuid::from_u128(u128::from(rng.next_u64()));
    let (month, day, hour) = (1 + below(rng, 3), 1 + below(rng, 28), below(rng, 24));
    json!({"id": id, "started_at": format!("2025-0{month}-{day:02}T{hour:02}:30:00Z"), "time_zone": "Asia/Seoul", "sets": sets})
}

fn id(workout: &Value) -> Uuid {
    workout["id"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn after_any_changes_a_refresh_of_what_is_dirty_publishes_what_a_full_computation_gives() {
    for seed in 1..=3 {
        let mut rng = random(seed);
        let mut lifter = Lifter::new().await;
        let mut stored: Vec<Uuid> = Vec::new();
        for round in 0..25 {
            let place = below(&mut rng, 1000) as usize;
            match below(&mut rng, 6) {
                0 if !stored.is_empty() => lifter.delete(stored.swap_remove(place % stored.len())).await,
                1 if !stored.is_empty() => lifter.edit(stored[place % stored.len()], workout(&mut rng)).await,
                2 => drop(lifter.run(CHANGES[place % CHANGES.len()], &[&lifter.user]).await),
                _ => stored.push(lifter.save(workout(&mut rng)).await),
            }
            println!("seed {seed}, round {round}");
            if stored.len() > 1 {
                // Compares with a full computation from plain SQL and checks the invariants.
                lifter.refresh().await;
            }
        }
    }
}

#[tokio::test]
async fn plain_sql_over_the_source_gives_the_same_sums_days_and_maxima() {
    for seed in 11..=14 {
        let mut rng = random(seed);
        let mut lifter = Lifter::new().await;
        lifter.save(json!({"started_at": "2025-01-01T12:00:00Z"})).await;
        for _ in 0..20 {
            lifter.save(workout(&mut rng)).await;
        }
        lifter.refresh().await;
        let muscles: Vec<Value> = NAMES
            .iter()
            .flat_map(|name| {
                let worked = tidemark_stats::muscles_of(name);
                let whole =
                    worked.primary.iter().map(move |muscle| json!({"name": name, "muscle": muscle, "share": 1}));
                whole.chain(
                    worked.secondary.iter().map(move |muscle| json!({"name": name, "muscle": muscle, "share": 0.5})),
                )
            })
            .collect();
        let rows =
            lifter.pipeline.admin.query(SLOWLY, &[&lifter.user, &tokio_postgres::types::Json(muscles)]).await.unwrap();
        let differences: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(differences, [""; 0], "seed {seed}");
    }
}

#[tokio::test]
async fn the_order_of_saves_does_not_matter_and_a_workout_added_and_deleted_leaves_no_trace() {
    let mut rng = random(21);
    let workouts: Vec<Value> = (0..12).map(|_| workout(&mut rng)).collect();
    let mut first = Lifter::new().await;
    for workout in &workouts {
        first.save(workout.clone()).await;
    }
    first.refresh().await;
    let before = tidemark_tests::figures(&first.pipeline.admin, first.user).await;

    let mut second = Lifter::new().await;
    for workout in workouts.iter().rev() {
        second.save(workout.clone()).await;
        second.refresh().await;
    }
    assert_eq!(tidemark_tests::figures(&second.pipeline.admin, second.user).await, before);

    for _ in 0..4 {
        let extra = workout(&mut rng);
        first.save(extra.clone()).await;
        first.refresh().await;
        first.delete(id(&extra)).await;
        first.refresh().await;
        assert_eq!(tidemark_tests::figures(&first.pipeline.admin, first.user).await, before);
    }
}
