//! P7: from a save to its publish, under ticks once a second.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_postgres::types::{Json, Type};
use uuid::Uuid;

use super::{Goal, Scale};
use crate::commands::tick::handlers;
use crate::database::Database;
use crate::ticker;

const SAVE: &str = "SELECT public.save_workout_v1($1, $2)";
/// How long after its request each generation was applied: the run that published it, by its job.
const LATENCIES: &str = include_str!("../sql/bench_latency.sql");
/// Saves per second over this many users.
const SAVES_PER_SECOND: u32 = 50;
const USERS: u128 = 1_000;

/// Saves at an even pace while the ticker runs, then reads from the database when each save was published.
pub(crate) async fn measure(database: &Database, scale: Scale) -> anyhow::Result<Vec<Goal>> {
    let admin = database.admin().await?;
    admin.batch_execute("UPDATE public.stats_projection_worker_settings SET max_active = 16").await?;
    let (stop, stopped) = watch::channel(false);
    let saving = async {
        let mut pace = tokio::time::interval(Duration::from_secs(1) / SAVES_PER_SECOND);
        pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let began = Instant::now();
        let mut number: u128 = 0;
        while began.elapsed() < Duration::from_secs(scale.pick(10, 60)) {
            pace.tick().await;
            let user = Uuid::from_u128(number * 7919 % USERS + 1);
            let sets: Vec<_> = (0..12)
                .map(|place| json!({"exercise": format!("Exercise {}", place / 3), "weight": 60 + place, "reps": 5}))
                .collect();
            let workout = Json(json!({"started_at": "2026-07-19T17:30:00Z", "sets": sets}));
            admin.query_typed(SAVE, &[(&user, Type::UUID), (&workout, Type::JSONB)]).await?;
            number += 1;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        stop.send(true)?;
        anyhow::Ok(())
    };
    let (ticked, saved) = tokio::join!(ticker::run(database, handlers()?, stopped), saving);
    ticked?;
    saved?;
    let row = admin.query_one(LATENCIES, &[]).await?;
    let (p50, p99, unpublished): (f64, f64, i64) = (row.get(0), row.get(1), row.get(2));
    let detail =
        format!("{SAVES_PER_SECOND} saves/s over {USERS} users, max_active 16; {unpublished} not published at the end");
    Ok(vec![
        Goal::at_most("P7", p50, "s", 1.0, format!("save to published, median; {detail}")),
        Goal::at_most("P7", p99, "s", 2.0, format!("save to published, p99; {detail}")),
    ])
}
