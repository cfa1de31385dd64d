//! One user whose refresh is disturbed, beside a twin with the same history whose refreshes were not.

use std::sync::Arc;

use serde_json::{Value, json};
use tidemark_queue::{Connect, Connection, Invocation, Summary};
use tidemark_testkit::{Simulator, TestDatabase, invariants};
use tidemark_tests::{binaries, figures, invocation, until_true};
use tokio_postgres::Client;
use tokio_postgres::types::Json;
use uuid::Uuid;

/// Nothing here takes this long unless it hangs.
pub(crate) const LIMIT: std::time::Duration = std::time::Duration::from_secs(20);

/// One execution environment per function, in this process.
pub(crate) struct Workers {
    pub(crate) claim: Connection,
    pub(crate) compute: Connection,
    pub(crate) publish: Connection,
}

impl Workers {
    pub(crate) fn new(connector: &Arc<dyn Connect>) -> Self {
        let connection = || Connection::new(Arc::clone(connector));
        Self { claim: connection(), compute: connection(), publish: connection() }
    }

    pub(crate) async fn claim(&mut self) -> Summary {
        tidemark_queue::claim::handle(&mut self.claim, &invocation()).await
    }

    pub(crate) async fn compute(&mut self) -> Summary {
        self.compute_until(&invocation()).await
    }

    pub(crate) async fn compute_until(&mut self, invocation: &Invocation) -> Summary {
        tidemark_projection::compute::handle(&mut self.compute, invocation).await
    }

    pub(crate) async fn publish(&mut self) -> Summary {
        tidemark_projection::publish::handle(&mut self.publish, &invocation()).await
    }

    /// Claim, compute, publish, until a claim finds nothing.
    pub(crate) async fn refresh(&mut self) {
        while self.claim().await.succeeded > 0 {
            self.compute().await;
            self.publish().await;
        }
    }
}

/// The disturbed user has workout 0 published and workout 1 saved: the refresh to come changes rows that stand.
pub(crate) struct Scene {
    pub(crate) admin: Client,
    pub(crate) user: Uuid,
    /// Figures of the undisturbed twin after workouts 0, 0 and 1, and 0 to 2.
    pub(crate) expected: [Value; 3],
}

impl Scene {
    pub(crate) async fn new(admin: Client, workers: &mut Workers) -> Self {
        let (twin, user) = (Uuid::new_v4(), Uuid::new_v4());
        // Retries follow at once, and as often as a test needs.
        let settings = "UPDATE public.stats_projection_worker_settings SET backoff_seconds = 0, max_attempts = 20";
        admin.batch_execute(settings).await.unwrap();
        let mut scene = Self { admin, user, expected: Default::default() };
        for number in 0..3 {
            scene.save_for(twin, number).await;
            workers.refresh().await;
            scene.expected[usize::try_from(number).unwrap()] = figures(&scene.admin, twin).await;
        }
        scene.save_for(user, 0).await;
        workers.refresh().await;
        scene.save_for(user, 1).await;
        scene
    }

    /// Saves workout `number` of the story for the disturbed user.
    pub(crate) async fn save(&self, number: u32) {
        self.save_for(self.user, number).await;
    }

    async fn save_for(&self, user: Uuid, number: u32) {
        let weight = 80 + 10 * number;
        let workout = json!({
            "id": Uuid::from_u128(u128::from(number)),
            "started_at": format!("2026-07-{:02}T18:00:00+02:00", 6 + 5 * number),
            "sets": [
                {"exercise": "Bench Press", "weight": weight, "reps": 5},
                {"exercise": "Bench Press", "weight": weight, "reps": 3 + number},
                {"exercise": "Deadlift", "weight": 2 * weight, "reps": 2},
            ],
        });
        let save = "SELECT public.save_workout_v1($1, $2)";
        self.admin.query_one(save, &[&user, &Json(workout)]).await.unwrap();
    }

    pub(crate) async fn figures(&self) -> Value {
        figures(&self.admin, self.user).await
    }

    /// What is published is what the undisturbed twin had after workouts 0 to `number`, nobody is stale, and all
    /// invariants hold.
    pub(crate) async fn check_fresh(&self, number: usize) {
        let state = "SELECT requested_generation = applied_generation AND live_run_id IS NULL
                     FROM public.user_stats_projection_state WHERE user_id = $1";
        assert!(self.flag(state).await, "the user is fresh");
        assert_eq!(self.figures().await, self.expected[number]);
        let marks = "SELECT NOT EXISTS (SELECT FROM public.user_exercise_stats_dirty WHERE user_id = $1)";
        assert!(self.flag(marks).await, "no mark is left over");
        self.check_invariants().await;
    }

    pub(crate) async fn check_invariants(&self) {
        let violations = invariants::violations(&self.admin).await;
        assert!(violations.is_empty(), "invariants broken:\n{}", violations.join("\n"));
    }

    /// A boolean about the user, who is `$1`.
    pub(crate) async fn flag(&self, query: &str) -> bool {
        self.admin.query_one(query, &[&self.user]).await.unwrap().get(0)
    }

    /// Phase, attempt and error code of the user's runs since workout 1 was saved, oldest first.
    pub(crate) async fn runs(&self) -> Vec<(String, i32, String)> {
        let query = "SELECT phase, attempt, error_code FROM public.user_stats_projection_runs
                     WHERE user_id = $1 ORDER BY id OFFSET 1";
        let rows = self.admin.query(query, &[&self.user]).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
    }

    /// Lets the time of every live lease run out.
    pub(crate) async fn expire_leases(&self) {
        let expire =
            "UPDATE public.user_stats_projection_runs SET lease_expires_at = clock_timestamp() - interval '1 second'
                      WHERE phase IN ('claimed', 'computing', 'computed', 'publishing')";
        self.admin.batch_execute(expire).await.unwrap();
    }

    /// Waits until a worker waits for a lock that a test holds.
    pub(crate) async fn until_blocked(&self) {
        let blocked = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                       AND usename = 'tidemark_worker' AND wait_event_type = 'Lock')";
        until_true(&self.admin, blocked, &[]).await;
    }

    /// Waits until the server has noticed that the worker `application` is gone.
    pub(crate) async fn until_gone(&self, application: &str) {
        let gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = $1)";
        until_true(&self.admin, gone, &[&application]).await;
    }
}

/// Locks held by a test, so that a worker stops at a defined place.
pub(crate) struct Gate(Client);

impl Gate {
    /// Takes the locks of one statement.
    pub(crate) async fn close(client: Client, statement: &str) -> Self {
        client.batch_execute("BEGIN").await.unwrap();
        client.batch_execute(statement).await.unwrap();
        Self(client)
    }

    /// Holds the state row of `user`, which publish takes last.
    pub(crate) async fn close_state_row(client: Client, user: Uuid) -> Self {
        client.batch_execute("BEGIN").await.unwrap();
        let row = "SELECT FROM public.user_stats_projection_state WHERE user_id = $1 FOR UPDATE";
        client.query_one(row, &[&user]).await.unwrap();
        Self(client)
    }

    pub(crate) async fn open(self) {
        self.0.batch_execute("ROLLBACK").await.unwrap();
    }
}

/// A real function binary on `database`.
pub(crate) async fn function(name: &'static str, database: &TestDatabase) -> Simulator {
    let binary = tokio::task::spawn_blocking(move || binaries::function(name)).await.unwrap();
    Simulator::start(binary, [("DATABASE_URL", database.url_for("tidemark_worker"))]).await.unwrap()
}
