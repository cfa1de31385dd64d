//! `kill -9` of a real function inside each phase, and between phases.

use serde_json::json;
use tidemark_testkit::{InvocationError, TestDatabase};

use crate::scene::{Gate, LIMIT, Scene, Workers, function};

/// Stops compute while it reads: its snapshot is taken, its run's lock held.
const READING: &str = "LOCK TABLE public.workout_sets IN ACCESS EXCLUSIVE MODE";
/// Stops compute at its last statement.
const STAGING: &str = "LOCK TABLE tidemark.staged_results IN SHARE MODE";
/// Stops publish at its first write.
const WRITING: &str = "LOCK TABLE public.user_exercise_rep_maxes IN SHARE MODE";
/// Stops claim when it mints leases.
const MINTING: &str = "LOCK TABLE public.user_stats_projection_runs IN SHARE MODE";

struct Killing {
    database: TestDatabase,
    workers: Workers,
    scene: Scene,
}

impl Killing {
    async fn new() -> Self {
        let database = TestDatabase::new().await;
        let mut workers = Workers::new(&database.connector("tidemark_worker"));
        let scene = Scene::new(database.admin().await, &mut workers).await;
        Self { database, workers, scene }
    }

    /// Invokes the real function, kills it once it waits at the gate, and waits until the server has noticed while the
    /// gate is still closed.
    async fn kill(&self, name: &'static str, gate: Gate) {
        let simulator = function(name, &self.database).await;
        let killing = async {
            self.scene.until_blocked().await;
            simulator.kill();
            simulator.ended().await
        };
        let (answer, ended) = tokio::join!(simulator.invoke(json!({}), LIMIT), killing);
        ended.unwrap();
        assert_eq!(answer, Err(InvocationError::Exited { exit_code: None }));
        self.scene.until_gone(&format!("tidemark-{name}")).await;
        gate.open().await;
    }

    async fn gate(&self, statement: &str) -> Gate {
        Gate::close(self.database.admin().await, statement).await
    }

    /// The killed run is left alone while its lease runs, then recovered, and the next attempt brings the figures.
    async fn check_recovery(&mut self) {
        assert_eq!(self.scene.figures().await, self.scene.expected[0], "nothing of the killed work is seen");
        let claim = self.workers.claim().await;
        assert_eq!((claim.recovered, claim.succeeded), (0, 0), "the lease still runs");
        self.scene.expire_leases().await;
        let claim = self.workers.claim().await;
        assert_eq!((claim.recovered, claim.succeeded), (1, 1));
        self.workers.compute().await;
        self.workers.publish().await;
        self.scene.check_fresh(1).await;
        let expected =
            [("failed".to_owned(), 1, "lease_expired".to_owned()), ("published".to_owned(), 2, String::new())];
        assert_eq!(self.scene.runs().await, expected);
    }
}

#[tokio::test]
async fn a_claim_killed_while_minting_leaves_no_lease_and_costs_no_attempt() {
    let mut killing = Killing::new().await;
    let gate = killing.gate(MINTING).await;
    killing.kill("claim", gate).await;
    assert_eq!(killing.scene.runs().await, []);
    killing.workers.refresh().await;
    killing.scene.check_fresh(1).await;
    assert_eq!(killing.scene.runs().await, [("published".to_owned(), 1, String::new())]);
}

#[tokio::test]
async fn a_compute_killed_while_reading_is_recovered_after_its_lease_with_the_same_figures() {
    let mut killing = Killing::new().await;
    killing.workers.claim().await;
    let gate = killing.gate(READING).await;
    killing.kill("compute", gate).await;
    killing.check_recovery().await;
}

#[tokio::test]
async fn a_compute_killed_while_staging_is_recovered_after_its_lease_with_the_same_figures() {
    let mut killing = Killing::new().await;
    killing.workers.claim().await;
    let gate = killing.gate(STAGING).await;
    killing.kill("compute", gate).await;
    killing.check_recovery().await;
}

#[tokio::test]
async fn a_publish_killed_at_its_first_write_is_recovered_after_its_lease_with_the_same_figures() {
    let mut killing = Killing::new().await;
    killing.workers.claim().await;
    killing.workers.compute().await;
    let gate = killing.gate(WRITING).await;
    killing.kill("publish", gate).await;
    killing.check_recovery().await;
}

#[tokio::test]
async fn a_publish_killed_at_its_last_lock_takes_back_everything_it_wrote() {
    let mut killing = Killing::new().await;
    killing.workers.claim().await;
    killing.workers.compute().await;
    let gate = Gate::close_state_row(killing.database.admin().await, killing.scene.user).await;
    killing.kill("publish", gate).await;
    killing.check_recovery().await;
}

#[tokio::test]
async fn a_function_killed_between_phases_costs_no_attempt_because_the_next_takes_the_same_run() {
    let mut killing = Killing::new().await;
    for name in ["claim", "compute", "publish"] {
        let simulator = function(name, &killing.database).await;
        let answer = simulator.invoke(json!({}), LIMIT).await.unwrap();
        assert_eq!(answer["succeeded"], 1, "{name}: {answer}");
        simulator.kill();
        simulator.ended().await.unwrap();
    }
    killing.scene.check_fresh(1).await;
    assert_eq!(killing.scene.runs().await, [("published".to_owned(), 1, String::new())]);
    assert_eq!(killing.workers.claim().await.succeeded, 0);
}

#[tokio::test]
async fn a_save_while_the_killed_worker_was_inside_keeps_its_mark_and_is_published() {
    for (name, statement) in [("compute", STAGING), ("publish", WRITING)] {
        let mut killing = Killing::new().await;
        killing.workers.claim().await;
        if name == "publish" {
            killing.workers.compute().await;
        }
        let gate = killing.gate(statement).await;
        let simulator = function(name, &killing.database).await;
        let inside = async {
            killing.scene.until_blocked().await;
            killing.scene.save(2).await;
            simulator.kill();
            simulator.ended().await.unwrap();
        };
        let (answer, ()) = tokio::join!(simulator.invoke(json!({}), LIMIT), inside);
        assert_eq!(answer, Err(InvocationError::Exited { exit_code: None }), "{name}");
        killing.scene.until_gone(&format!("tidemark-{name}")).await;
        gate.open().await;
        killing.scene.expire_leases().await;
        killing.workers.refresh().await;
        killing.scene.check_fresh(2).await;
        // The job of the killed run was folded into that of the save, whose first attempt this is.
        let expected =
            [("failed".to_owned(), 1, "lease_expired".to_owned()), ("published".to_owned(), 1, String::new())];
        assert_eq!(killing.scene.runs().await, expected, "{name}");
    }
}

#[tokio::test]
async fn a_job_whose_every_worker_is_killed_ends_failed_with_its_alert_and_keeps_its_marks() {
    let mut killing = Killing::new().await;
    let limit = "UPDATE public.stats_projection_worker_settings SET max_attempts = 2";
    killing.scene.admin.batch_execute(limit).await.unwrap();
    for _attempt in 0..2 {
        killing.workers.claim().await;
        let gate = killing.gate(STAGING).await;
        killing.kill("compute", gate).await;
        killing.scene.expire_leases().await;
    }
    let claim = killing.workers.claim().await;
    assert_eq!((claim.recovered, claim.failed, claim.succeeded), (1, 1, 0));
    assert_eq!(killing.workers.claim().await.succeeded, 0, "nobody tries a third time");
    let stale = "SELECT requested_generation > applied_generation
                    AND EXISTS (SELECT FROM public.user_exercise_stats_dirty WHERE user_id = $1)
                    AND EXISTS (SELECT FROM public.alert_outbox
                                WHERE kind = 'refresh_exhausted' AND subject = $1::text AND resolved_at IS NULL)
                 FROM public.user_stats_projection_state WHERE user_id = $1";
    assert!(killing.scene.flag(stale).await);
    killing.scene.check_invariants().await;
    // The operator's remedy, as LEASES.md describes it.
    let resume = "UPDATE public.user_exercise_stats_refresh_jobs SET status = 'pending', attempts = 0
                  WHERE status = 'failed' AND absorbed_into_job_id IS NULL";
    killing.scene.admin.batch_execute(resume).await.unwrap();
    killing.workers.refresh().await;
    killing.scene.check_fresh(1).await;
}
