//! One person with a pipeline of their own.

use std::path::Path;

use serde_json::{Value, json};
use tidemark_importers::storing::{self, Account, StoreOptions};
use tidemark_importers::{ParseOptions, parse};
use tidemark_tests::Pipeline;
use tokio_postgres::types::Json;
use uuid::Uuid;

/// The person and everything around them.
pub(crate) struct Lifter {
    pub(crate) pipeline: Pipeline,
    pub(crate) user: Uuid,
}

impl Lifter {
    pub(crate) async fn new() -> Self {
        Self { pipeline: Pipeline::new().await, user: Uuid::new_v4() }
    }

    /// Saves a workout document through `save_workout_v1`; its id.
    pub(crate) async fn save(&self, workout: Value) -> Uuid {
        let query = "SELECT public.save_workout_v1($1, $2)";
        let Json(answer): Json<Value> = self.pipeline.one(query, &[&self.user, &Json(workout)]).await.get(0);
        answer["workout_id"].as_str().unwrap().parse().unwrap()
    }

    /// Saves one exercise on a date at noon; sets as in the document.
    pub(crate) async fn lift(&self, date: &str, exercise: &str, sets: &[(f64, &str, i32)]) -> Uuid {
        self.save(workout(date, exercise, sets)).await
    }

    /// Replaces a workout through `edit_workout_v1`.
    pub(crate) async fn edit(&self, id: Uuid, workout: Value) {
        self.run("SELECT public.edit_workout_v1($1, $2, $3)", &[&self.user, &id, &Json(workout)]).await;
    }

    /// Deletes a workout through `delete_workout_v1`.
    pub(crate) async fn delete(&self, id: Uuid) {
        self.run("SELECT public.delete_workout_v1($1, $2)", &[&self.user, &id]).await;
    }

    pub(crate) async fn run(&self, statement: &str, parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)]) -> u64 {
        self.pipeline.run(statement, parameters).await
    }

    /// Stores an export as the command line does.
    pub(crate) async fn import(&self, bytes: &[u8], zone: Option<&str>) -> Account {
        self.import_as(bytes, StoreOptions { zone, replace: false }).await
    }

    /// The same with every option.
    pub(crate) async fn import_as(&self, bytes: &[u8], options: StoreOptions<'_>) -> Account {
        let import = parse(bytes, &ParseOptions::default()).unwrap();
        let mut client = self.pipeline.database.admin().await;
        storing::store(&mut client, self.user, &import, options, |_sets| {}).await.unwrap()
    }

    /// Refreshes through the real functions, then checks that nothing stays stale, that what is published is exactly what a
    /// computation from plain SQL gives, and every invariant.
    pub(crate) async fn refresh(&mut self) {
        self.pipeline.refresh().await;
        let (requested, applied) = self.pipeline.generations(self.user).await;
        assert_eq!(requested, applied, "the user is fresh");
        let expected = tidemark_tests::source::compute(&self.pipeline.admin, self.user).await;
        let found = tidemark_tests::published::differences(&self.pipeline.admin, self.user, &expected).await;
        assert_eq!(found, [""; 0]);
        self.pipeline.check_invariants().await;
    }

    /// The only row's first column, which the query makes text; its first parameter is the user.
    pub(crate) async fn text(&self, query: &str) -> Option<String> {
        self.pipeline.one(query, &[&self.user]).await.get(0)
    }

    /// A column of the only exercise row of that name.
    pub(crate) async fn exercise(&self, name: &str, column: &str) -> Option<String> {
        let query = "SELECT to_jsonb(stats) ->> $3 FROM public.user_exercise_stats AS stats
            WHERE stats.user_id = $1 AND stats.exercise_name = $2";
        trimmed(self.pipeline.one(query, &[&self.user, &name, &column]).await.get(0))
    }

    /// A column of the summary.
    pub(crate) async fn summary(&self, column: &str) -> Option<String> {
        let query =
            "SELECT to_jsonb(summary) ->> $2 FROM public.user_stats_summary AS summary WHERE summary.user_id = $1";
        trimmed(self.pipeline.one(query, &[&self.user, &column]).await.get(0))
    }

    /// Weeks in which something was done, as `first date, ISO week, sets` over all exercises.
    pub(crate) async fn weeks(&self) -> Vec<(String, String, i64)> {
        let query = "SELECT week_start::text, iso_week, sum(sets)::bigint FROM public.user_exercise_stats_weekly
            WHERE user_id = $1 GROUP BY week_start, iso_week ORDER BY week_start";
        let rows = self.pipeline.admin.query(query, &[&self.user]).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
    }
}

/// A workout document of one exercise at noon UTC; sets are (weight, unit, reps).
pub(crate) fn workout(date: &str, exercise: &str, sets: &[(f64, &str, i32)]) -> Value {
    let sets: Vec<Value> = sets
        .iter()
        .map(|(weight, unit, reps)| json!({"exercise": exercise, "weight": weight, "unit": unit, "reps": reps}))
        .collect();
    json!({"started_at": format!("{date}T12:00:00Z"), "sets": sets})
}

/// The bytes of a file of `tests/data`.
pub(crate) fn data(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)).unwrap()
}

/// Numbers without zeros at the end of their decimals, so that they compare as written in a test.
fn trimmed(text: Option<String>) -> Option<String> {
    text.map(|text| match text.parse::<rust_decimal::Decimal>() {
        Ok(number) => number.normalize().to_string(),
        Err(_) => text,
    })
}
