//! P8 and P9: a lifter with 23,000 sets who saves one workout after the other, and what his saves wait for.

use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;
use tidemark_handlers::Registry;
use tidemark_queue::{Connection, Function, Invocation};
use tokio::sync::watch;
use tokio_postgres::Client;
use tokio_postgres::types::{Json, Type};
use uuid::Uuid;

use super::{Goal, Scale, quantile_ms};
use crate::commands::tick::invoke;
use crate::database::Database;

const SEED: &str = include_str!("../sql/bench_lifter.sql");
const SAVE: &str = "SELECT (public.save_workout_v1($1, $2) ->> 'workout_id')::uuid";
const EDIT: &str = "SELECT public.edit_workout_v1($1, $2, $3)";
/// Those of [`SEED`] without a full stop.
const EXERCISES: [&str; 8] =
    ["Bench Press", "Squat", "Deadlift", "Barbell Row", "Overhead Press", "Hammer Curl", "Leg Curl", "Crunch"];
const RUN_FIGURES: &str = include_str!("../sql/bench_runs.sql");

/// One workout after the other, each published at once, with a second session that saves all the time.
pub(crate) async fn measure(database: &Database, scale: Scale, id: &str) -> anyhow::Result<Vec<Goal>> {
    let admin = database.admin().await?;
    if id == "P9" {
        return compute(database, &admin, scale).await;
    }
    let user = Uuid::new_v4();
    seed(&admin, user, 1_150, 20).await?;
    let mut connection = database.worker("bench")?;
    refresh(&mut connection).await;

    // The same workout is edited over and over, so that the history stays as long as it is.
    let rounds = scale.pick(30, 300);
    let workout = save(&admin, user).await?;
    let mut alone = Vec::new();
    for round in 0..rounds {
        alone.push(edit(&admin, user, workout, round).await?);
    }
    refresh(&mut connection).await;

    // From here on every save meets a publish of the same user.
    let (stop, stopped) = watch::channel(false);
    let saver = tokio::spawn(edit_until(database.admin().await?, user, workout, stopped));
    let mut published = Vec::new();
    let mut round = 0;
    while round < rounds {
        invoke(Function::Claim, &mut connection, &now(), &Registry::new()).await;
        invoke(Function::Compute, &mut connection, &now(), &Registry::new()).await;
        let began = Instant::now();
        let summary = invoke(Function::Publish, &mut connection, &now(), &Registry::new()).await;
        if summary.succeeded > 0 {
            published.push(began.elapsed());
            round += 1;
        }
    }
    stop.send(true)?;
    let mut together = saver.await??;
    let (alone_p99, together_p99) = (quantile_ms(&mut alone, 0.99), quantile_ms(&mut together, 0.99));
    Ok(vec![
        Goal::at_most(
            "P8",
            quantile_ms(&mut published, 0.99),
            "ms",
            20.0,
            format!(
                "publish of changed workouts, lifter of 23,000 sets: p99 of the whole invocation; median {:.1} ms",
                quantile_ms(&mut published, 0.5)
            ),
        ),
        Goal::at_most(
            "P8",
            (together_p99 - alone_p99).max(0.0),
            "ms",
            5.0,
            format!("what a save waits: p99 {together_p99:.1} ms beside publishes, {alone_p99:.1} ms alone"),
        ),
    ])
}

async fn compute(database: &Database, admin: &Client, scale: Scale) -> anyhow::Result<Vec<Goal>> {
    let mut goals = Vec::new();
    for (workouts, sets, limit_ms) in [(1_150, 20, 30.0), (scale.pick(5_000, 50_000), 20, 1_000.0)] {
        let user = Uuid::new_v4();
        seed(admin, user, workouts, sets).await?;
        let mut connection = database.worker("bench")?;
        refresh(&mut connection).await;
        let row = admin.query_one(RUN_FIGURES, &[&user]).await?;
        let (compute_ms, publish_ms): (i32, i32) = (row.get(0), row.get(1));
        let detail = format!(
            "first compute of {} sets, reading included; its first publish took {publish_ms} ms",
            workouts * sets
        );
        goals.push(Goal::at_most("P9", f64::from(compute_ms), "ms", limit_ms, detail));
    }
    Ok(goals)
}

async fn seed(admin: &Client, user: Uuid, workouts: i32, sets: i32) -> anyhow::Result<()> {
    for statement in SEED.split(";\n").filter(|statement| !statement.trim().is_empty()) {
        admin.query_typed(statement, &[(&user, Type::UUID), (&workouts, Type::INT4), (&sets, Type::INT4)]).await?;
    }
    admin.batch_execute("ANALYZE").await?;
    Ok(())
}

async fn edit_until(
    client: Client,
    user: Uuid,
    workout: Uuid,
    stopped: watch::Receiver<bool>,
) -> anyhow::Result<Vec<Duration>> {
    let mut durations = Vec::new();
    let mut round = 0;
    while !*stopped.borrow() {
        durations.push(edit(&client, user, workout, round).await?);
        round += 1;
    }
    Ok(durations)
}

/// A workout of eight exercises with three sets each.
fn document(round: i32) -> Json<serde_json::Value> {
    let sets: Vec<_> =
        (0..24).map(|place| json!({"exercise": EXERCISES[place / 3], "weight": 60 + round % 50, "reps": 5})).collect();
    Json(json!({"started_at": "2026-07-19T17:30:00Z", "sets": sets}))
}

async fn save(client: &Client, user: Uuid) -> anyhow::Result<Uuid> {
    let rows = client.query_typed(SAVE, &[(&user, Type::UUID), (&document(0), Type::JSONB)]).await?;
    Ok(rows.first().context("the save answers")?.try_get(0)?)
}

async fn edit(client: &Client, user: Uuid, workout: Uuid, round: i32) -> anyhow::Result<Duration> {
    let document = document(round);
    let began = Instant::now();
    client.query_typed(EDIT, &[(&user, Type::UUID), (&workout, Type::UUID), (&document, Type::JSONB)]).await?;
    Ok(began.elapsed())
}

async fn refresh(connection: &mut Connection) {
    for function in Function::ALL {
        invoke(function, connection, &now(), &Registry::new()).await;
    }
}

fn now() -> Invocation {
    Invocation::begin(None, Some(Duration::from_secs(900)), Duration::ZERO)
}
