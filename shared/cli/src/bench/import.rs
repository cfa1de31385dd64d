//! An import of 30,000 rows: reading the file, and storing what is in it.

use std::fmt::Write;
use std::time::Instant;

use anyhow::Context;
use tidemark_importers::storing::{self, StoreOptions};
use tidemark_importers::{ParseOptions, parse};
use uuid::Uuid;

use super::{Goal, Scale};
use crate::database::Database;

/// Sets of each workout of the file.
const SETS: u32 = 24;

/// Once into an empty history, and once more, which adds nothing.
pub(crate) async fn measure(database: &Database, scale: Scale) -> anyhow::Result<Vec<Goal>> {
    let rows = scale.pick(3_000, 30_000);
    let file = export(rows)?;
    let mut client = database.admin().await?;
    let user = Uuid::new_v4();
    let mut seconds = Vec::new();
    let mut reading = 0.0;
    for round in 0..2 {
        let began = Instant::now();
        let import = parse(file.as_bytes(), &ParseOptions::default()).context("the file is an export")?;
        reading = began.elapsed().as_secs_f64() * 1_000.0;
        let account = storing::store(&mut client, user, &import, StoreOptions::default(), |_sets| {}).await?;
        let expected = if round == 0 { u64::from(rows) } else { 0 };
        anyhow::ensure!(
            account.imported == expected,
            "{} rows were imported and {expected} expected",
            account.imported
        );
        seconds.push(began.elapsed().as_secs_f64());
    }
    let detail = format!(
        "{rows} rows of a Strong export into an empty history; read in {reading:.0} ms; again, adding nothing, {:.2} s",
        seconds[1]
    );
    Ok(vec![Goal::at_most("import", seconds[0], "s", 10.0, detail)])
}

/// A Strong export of one workout a day.
fn export(rows: u32) -> anyhow::Result<String> {
    let mut file = String::from(
        "Date,Workout Name,Duration,Exercise Name,Set Order,Weight,Reps,Distance,Seconds,Notes,Workout Notes,RPE\n",
    );
    let mut day = jiff::civil::date(2020, 1, 1);
    for row in 0..rows {
        if row > 0 && row % SETS == 0 {
            day = day.tomorrow()?;
        }
        let (exercise, weight, reps) = (row % SETS / 4, 20 + row % 97, 3 + row % 10);
        writeln!(
            file,
            "{day} 18:30:00,\"Evening\",1h 5m,\"Exercise {exercise}\",{},{weight}.5,{reps},0,0.0,\"\",\"\",8",
            row % 4 + 1
        )?;
    }
    Ok(file)
}
