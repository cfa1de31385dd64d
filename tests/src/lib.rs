//! What the lanes share: a pipeline on a database of its own, driven through the real handlers.

pub mod binaries;
mod figures;
mod predicate;
mod rows;

pub mod jobs;
pub mod pages;
pub mod published;
pub mod source;

use std::time::Duration;

pub use figures::figures;
pub use predicate::{until, until_true};
pub use rows::{Job, Run};
use serde_json::{Value, json};
use tidemark_queue::{Connection, Invocation, Summary};
use tidemark_testkit::TestDatabase;
use tokio_postgres::types::{Json, ToSql};
use tokio_postgres::{Client, Row};
use uuid::Uuid;

/// A migrated database, the superuser's connection, and one execution environment per function, all as the worker role.
pub struct Pipeline {
    /// The database; dropped with the pipeline.
    pub database: TestDatabase,
    /// The superuser's connection: arranging and asserting, never acting for a function.
    pub admin: Client,
    claim: Connection,
    compute: Connection,
    publish: Connection,
}

impl Pipeline {
    /// A fresh one.
    pub async fn new() -> Self {
        let database = TestDatabase::new().await;
        let admin = database.admin().await;
        let worker = || Connection::new(database.connector("tidemark_worker"));
        let (claim, compute, publish) = (worker(), worker(), worker());
        Self { database, admin, claim, compute, publish }
    }

    /// One more connection as the functions have it.
    #[must_use]
    pub fn worker(&self) -> Connection {
        Connection::new(self.database.connector("tidemark_worker"))
    }

    /// One invocation of claim that does not linger.
    pub async fn claim(&mut self) -> Summary {
        tidemark_queue::claim::handle(&mut self.claim, &invocation()).await
    }

    /// One invocation of compute that does not linger.
    pub async fn compute(&mut self) -> Summary {
        tidemark_projection::compute::handle(&mut self.compute, &invocation()).await
    }

    /// One invocation of publish that does not linger.
    pub async fn publish(&mut self) -> Summary {
        tidemark_projection::publish::handle(&mut self.publish, &invocation()).await
    }

    /// Claim, compute, publish, until a claim finds nothing.
    pub async fn refresh(&mut self) {
        loop {
            let claimed = self.claim().await;
            self.compute().await;
            self.publish().await;
            if claimed.succeeded == 0 {
                return;
            }
        }
    }

    /// Saves a workout of one exercise through `save_workout_v1`; sets are (kilograms, reps). Returns its id.
    ///
    /// # Panics
    /// When the save is refused.
    pub async fn save(&self, user: Uuid, started_at: &str, exercise: &str, sets: &[(f64, i32)]) -> Uuid {
        let sets: Vec<Value> =
            sets.iter().map(|(weight, reps)| json!({"exercise": exercise, "weight": weight, "reps": reps})).collect();
        let workout = json!({"started_at": started_at, "sets": sets});
        let answer: Json<Value> =
            self.one("SELECT public.save_workout_v1($1, $2)", &[&user, &Json(workout)]).await.get(0);
        answer.0["workout_id"].as_str().and_then(|id| id.parse().ok()).expect("the answer names the workout")
    }

    /// The only row of a query, asked by the superuser.
    ///
    /// # Panics
    /// When the query fails or has not exactly one row.
    pub async fn one(&self, query: &str, parameters: &[&(dyn ToSql + Sync)]) -> Row {
        self.admin.query_one(query, parameters).await.unwrap_or_else(|error| panic!("{query}: {error:?}"))
    }

    /// Runs a statement as the superuser and returns how many rows it changed.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn run(&self, statement: &str, parameters: &[&(dyn ToSql + Sync)]) -> u64 {
        self.admin.execute(statement, parameters).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"))
    }

    /// Changes one setting. The name comes from the test, never from data.
    ///
    /// # Panics
    /// When the settings row refuses it.
    pub async fn set(&self, name: &str, value: &str) {
        let statement = format!("UPDATE public.stats_projection_worker_settings SET {name} = {value}");
        self.admin.batch_execute(&statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }

    /// The user's requested and applied generation.
    pub async fn generations(&self, user: Uuid) -> (i64, i64) {
        let query = "SELECT requested_generation, applied_generation FROM public.user_stats_projection_state WHERE user_id = $1";
        let row = self.one(query, &[&user]).await;
        (row.get(0), row.get(1))
    }

    /// Fails the test where an invariant does not hold.
    ///
    /// # Panics
    /// With every violation.
    pub async fn check_invariants(&self) {
        let violations = tidemark_testkit::invariants::violations(&self.admin).await;
        assert!(violations.is_empty(), "invariants broken:\n{}", violations.join("\n"));
    }
}

/// An invocation with ten minutes before it that does not linger.
#[must_use]
pub fn invocation() -> Invocation {
    Invocation::begin(None, Some(Duration::from_secs(900)), Duration::ZERO)
}
