//! Prints how long importing 30,000 rows of each format takes: `cargo run --release -p tidemark-importers --example
//! import_speed`.

use std::{path::Path, time::Instant};

use tidemark_importers::{ParseOptions, parse};

const ROWS: usize = 30_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for name in ["hevy_MIT_kg_rpe_settypes_7211.csv", "fitnotes_MIT_kgs_2495.csv", "strong_MIT_2078.csv"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
        let text = std::fs::read_to_string(path)?;
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let rows: Vec<&str> = lines.collect();
        let repeated: Vec<&str> = rows.iter().copied().cycle().take(ROWS).collect();
        let file = format!("{header}\n{}\n", repeated.join("\n"));
        let start = Instant::now();
        let import = parse(file.as_bytes(), &ParseOptions::default())?;
        let milliseconds = start.elapsed().as_secs_f64() * 1000.0;
        println!("{name}: {} rows, {} workouts, {milliseconds:.1} ms", import.rows, import.workouts.len());
    }
    Ok(())
}
