//! Prints how long `compute` takes and the peak memory of the process, for the sizes of the performance targets.
//!
//! `cargo run --release -p tidemark-stats --example compute_speed`
//!
//! The history is made, not real: ten years of workouts of 25 sets over 80 exercises in both units, growing slowly, with
//! warm-ups and drops, and its rows shuffled so that nothing profits from their order.

use std::time::Instant;

use jiff::ToSpan;
use jiff::civil::{date, time};
use rust_decimal::Decimal;
use tidemark_stats::{
    Bodyweight, Exercise, History, InvalidHistory, InvalidWeight, LoadKind, Profile, Set, SetKind, TypedWeight, Unit,
    Workout, compute,
};
use uuid::Uuid;

const EXERCISES: u32 = 80;
const SETS_PER_WORKOUT: u32 = 25;
const NAMES: [&str; 8] =
    ["Bench Press", "Squat", "Deadlift", "Barbell Row", "Overhead Press", "Hammer Curl", "Leg Curl", "Crunch"];
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for sets in [23_000, 1_000_000] {
        let history = history(sets)?;
        let before = peak_megabytes()?;
        let milliseconds = fastest(&history)?;
        println!(
            "{sets:>9} sets  {milliseconds:>8.1} ms (fastest of {RUNS})  peak {:>5.0} MB, of which the history {before:.0} MB",
            peak_megabytes()?
        );
    }
    Ok(())
}

fn fastest(history: &History) -> Result<f64, InvalidHistory> {
    let mut fastest = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        let projections = compute(history)?;
        fastest = fastest.min(start.elapsed().as_secs_f64() * 1000.0);
        std::hint::black_box(projections);
    }
    Ok(fastest)
}

fn history(sets: u32) -> Result<History, InvalidWeight> {
    let workouts = sets / SETS_PER_WORKOUT;
    let mut rows = Vec::with_capacity(sets as usize);
    for index in 0..sets {
        // A step that shares no factor with the number of sets visits every set once, in scattered order.
        let place = u32::try_from(u64::from(index) * 999_983 % u64::from(sets)).unwrap_or_default();
        rows.push(set(place / SETS_PER_WORKOUT, place % SETS_PER_WORKOUT, workouts)?);
    }
    let bodyweights = (0..120_i32)
        .map(|month| {
            let weight = TypedWeight::new(Decimal::new(i64::from(800 + month % 50), 1), Unit::Kilogram)?;
            Ok(Bodyweight { on: date(2015, 1, 1).saturating_add(month.months()), weight })
        })
        .collect::<Result<_, _>>()?;
    Ok(History {
        profile: Profile::default(),
        exercises: (0..EXERCISES).map(exercise).collect(),
        workouts: (0..workouts).map(|index| workout(index, workouts)).collect(),
        sets: rows,
        bodyweights,
    })
}

fn exercise(index: u32) -> Exercise {
    let load = match index % 8 {
        6 => LoadKind::Bodyweight,
        7 => LoadKind::Assisted,
        _ => LoadKind::External,
    };
    Exercise {
        id: Uuid::from_u128(u128::from(index) << 64 | 1),
        // Full stops do not matter to the catalogue, so that all of them work muscles.
        name: NAMES[index as usize % NAMES.len()].to_owned() + &".".repeat(index as usize / NAMES.len()),
        load,
        bodyweight_share: Decimal::new(95, 2),
        implements: if index.is_multiple_of(5) { 2 } else { 1 },
        per_side: false,
        merged_into: None,
    }
}

fn workout(index: u32, count: u32) -> Workout {
    Workout {
        id: Uuid::from_u128(u128::from(index) << 32 | 7),
        local_date: date(2015, 1, 1).saturating_add((i64::from(index) * 3650 / i64::from(count)).days()),
        local_time: time(7, 30, 0, 0),
        duration_seconds: Some(4200),
    }
}

fn set(workout: u32, position: u32, workouts: u32) -> Result<Set, InvalidWeight> {
    let progress = i64::from(workout) * 40 / i64::from(workouts);
    let unit = if workout.is_multiple_of(3) { Unit::Pound } else { Unit::Kilogram };
    let quarters = 4 * (40 + progress) + i64::from((workout * 7 + position) % 23);
    Ok(Set {
        workout,
        exercise: (workout * 5 + position / 5) % EXERCISES,
        position: position.cast_signed(),
        kind: match position % 5 {
            0 => SetKind::Warmup,
            3 => SetKind::Failure,
            4 => SetKind::Drop,
            _ => SetKind::Normal,
        },
        weight: Some(TypedWeight::new(Decimal::new(quarters * 25, 2), unit)?),
        reps: Some(3 + ((workout + position) % 10).cast_signed()),
        duration_seconds: None,
        distance_meters: None,
    })
}

/// The most memory that the process ever held; 0 where the system does not tell.
fn peak_megabytes() -> std::io::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kilobytes =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    Ok(kilobytes.unwrap_or(0.0) / 1024.0)
}
