//! How long a function takes from the start of its process to its first useful answer from Postgres (goal P6).
//!
//! `cargo build --release --workspace --bins && cargo run --release -p tidemark-tests --example cold_start`

use std::time::{Duration, Instant};

use serde_json::json;
use tidemark_testkit::{Simulator, TestDatabase, built_binary};

/// Starts of each function.
const STARTS: usize = 21;
/// Far beyond any start.
const DEADLINE: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let database = TestDatabase::new().await;
    for function in ["claim", "compute", "publish"] {
        let binary = built_binary(function)?;
        let mut durations = Vec::new();
        for _start in 0..STARTS {
            let began = Instant::now();
            let simulator = Simulator::start(&binary, [("DATABASE_URL", database.url_for("tidemark_worker"))]).await?;
            simulator.invoke(json!({}), DEADLINE).await?;
            durations.push(began.elapsed());
        }
        durations.sort_unstable();
        let megabytes = std::fs::metadata(&binary)?.len() / 1_000_000;
        println!(
            "{function}: median {:.1} ms, slowest {:.1} ms of {STARTS} starts; binary {megabytes} MB",
            durations[STARTS / 2].as_secs_f64() * 1_000.0,
            durations[STARTS - 1].as_secs_f64() * 1_000.0
        );
    }
    Ok(())
}
