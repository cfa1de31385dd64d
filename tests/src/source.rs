//! One user's source read by plain SQL: a second road to the figures, independent of the pipeline's own reading.

use std::collections::HashMap;

use jiff::civil::Weekday;
use rust_decimal::Decimal;
use tidemark_stats::{
    Bodyweight, ESTIMATE_REPS_MAX, Exercise, History, Profile, Projections, Set, TypedWeight, Workout,
};
use tokio_postgres::{Client, Row};
use uuid::Uuid;

/// Everything that `user` has logged, as `client` (the superuser's connection) sees it now.
///
/// # Panics
/// When the rows cannot be read or hold what the statistics do not know.
pub async fn history(client: &Client, user: Uuid) -> History {
    let rows = async |query: &str| client.query(query, &[&user]).await.expect("the source can be read");
    let profiles = rows("SELECT week_start, e1rm_formula FROM public.training_profiles WHERE user_id = $1").await;
    let exercises = rows(
        "SELECT id, name, load_kind, bodyweight_share, implements, merged_into, per_side
         FROM public.exercises WHERE user_id = $1",
    )
    .await;
    let workouts =
        rows("SELECT id, local_date, local_time, duration_seconds FROM public.workouts WHERE user_id = $1").await;
    let sets = rows(
        "SELECT workout_id, exercise_id, position, kind, weight, weight_unit, reps, duration_seconds, distance_meters
         FROM public.workout_sets WHERE user_id = $1",
    )
    .await;
    let bodyweights =
        rows("SELECT measured_on, weight, weight_unit FROM public.bodyweight_log WHERE user_id = $1").await;

    let workout_places = places(&workouts);
    let exercise_places = places(&exercises);
    History {
        profile: profiles.first().map_or_else(Profile::default, profile),
        exercises: exercises.iter().map(exercise).collect(),
        workouts: workouts.iter().map(workout).collect(),
        sets: sets.iter().map(|row| set(row, &workout_places, &exercise_places)).collect(),
        bodyweights: bodyweights
            .iter()
            .map(|row| Bodyweight { on: row.get(0), weight: weight(row.get(1), row.get(2)) })
            .collect(),
    }
}

/// A fresh full computation from [`history`].
///
/// # Panics
/// When the history makes no sense.
pub async fn compute(client: &Client, user: Uuid) -> Projections {
    tidemark_stats::compute(&history(client, user).await).expect("the stored source makes sense")
}

fn places(rows: &[Row]) -> HashMap<Uuid, u32> {
    rows.iter().map(|row| row.get(0)).zip(0_u32..).collect()
}

fn profile(row: &Row) -> Profile {
    let week_start: i16 = row.get(0);
    Profile {
        week_start: Weekday::from_monday_one_offset(i8::try_from(week_start).expect("a weekday")).expect("a weekday"),
        formula: row.get::<_, &str>(1).parse().expect("a formula"),
        estimate_max_reps: ESTIMATE_REPS_MAX,
    }
}

fn exercise(row: &Row) -> Exercise {
    Exercise {
        id: row.get(0),
        name: row.get(1),
        load: row.get::<_, &str>(2).parse().expect("a kind of load"),
        bodyweight_share: row.get(3),
        implements: u8::try_from(row.get::<_, i16>(4)).expect("a number of implements"),
        merged_into: row.get(5),
        per_side: row.get(6),
    }
}

fn workout(row: &Row) -> Workout {
    Workout { id: row.get(0), local_date: row.get(1), local_time: row.get(2), duration_seconds: row.get(3) }
}

fn set(row: &Row, workouts: &HashMap<Uuid, u32>, exercises: &HashMap<Uuid, u32>) -> Set {
    Set {
        workout: workouts[&row.get(0)],
        exercise: exercises[&row.get(1)],
        position: row.get(2),
        kind: row.get::<_, &str>(3).parse().expect("a kind of set"),
        weight: row.get::<_, Option<Decimal>>(4).map(|value| weight(value, row.get(5))),
        reps: row.get(6),
        duration_seconds: row.get(7),
        distance_meters: row.get(8),
    }
}

fn weight(value: Decimal, unit: &str) -> TypedWeight {
    TypedWeight::new(value, unit.parse().expect("a unit")).expect("a weight that can be held exactly")
}
