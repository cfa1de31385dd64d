//! Connections cut around a COMMIT: the outcome is resolved by re-reading, and there are never two effects.

use std::time::Duration;

use tidemark_queue::{Outcome, Summary};
use tidemark_testkit::{AtCommit, ChaosProxy, Fault, TestDatabase, Toward};
use tidemark_tests::until_true;

use crate::scene::{Scene, Workers};

struct Cutting {
    _database: TestDatabase,
    proxy: ChaosProxy,
    /// Through the proxy.
    through: Workers,
    /// Past it.
    direct: Workers,
    scene: Scene,
}

impl Cutting {
    async fn new() -> Self {
        let database = TestDatabase::new().await;
        let proxy = ChaosProxy::start(&database.url_for("tidemark_worker"));
        let (through, mut direct) =
            (Workers::new(&proxy.connector()), Workers::new(&database.connector("tidemark_worker")));
        let scene = Scene::new(database.admin().await, &mut direct).await;
        Self { _database: database, proxy, through, direct, scene }
    }

    /// Brings the user's refresh to where `function` has something to do.
    async fn lead_to(&mut self, function: &str) {
        if function != "claim" {
            self.direct.claim().await;
        }
        if function == "publish" {
            self.direct.compute().await;
        }
    }

    async fn work(&mut self, function: &str) -> Summary {
        match function {
            "claim" => self.through.claim().await,
            "compute" => self.through.compute().await,
            _ => self.through.publish().await,
        }
    }

    /// One invocation of `function` whose COMMIT number `skip` meets `what`.
    async fn cut(&mut self, function: &str, skip: usize, what: AtCommit) -> Summary {
        self.lead_to(function).await;
        self.proxy.inject(Fault::Commit { skip, what });
        let summary = self.work(function).await;
        assert_eq!(self.proxy.strikes(), 1, "the COMMIT was met");
        self.until_quiet().await;
        summary
    }

    /// Waits until no worker's transaction is open, so that the next claim meets no locks of a dead one.
    async fn until_quiet(&self) {
        let quiet = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                     AND usename = 'tidemark_worker' AND xact_start IS NOT NULL)";
        until_true(&self.scene.admin, quiet, &[]).await;
    }

    /// Refreshes past the proxy and compares with `(phase, attempt, error code)` of each run.
    async fn check(&mut self, expected: &[(&str, i32, &str)]) {
        self.direct.refresh().await;
        self.direct.compute().await;
        self.direct.publish().await;
        self.scene.check_fresh(1).await;
        let runs = self.scene.runs().await;
        let runs: Vec<_> =
            runs.iter().map(|(phase, attempt, code)| (phase.as_str(), *attempt, code.as_str())).collect();
        assert_eq!(runs, expected);
    }
}

#[tokio::test]
async fn a_claim_whose_commit_never_arrived_has_minted_nothing() {
    let mut cutting = Cutting::new().await;
    let summary = cutting.cut("claim", 0, AtCommit::CutRequest).await;
    assert_eq!((summary.outcome, summary.error_code.as_deref()), (Outcome::Unavailable, Some("commit_unknown")));
    assert_eq!(cutting.scene.runs().await, []);
    cutting.check(&[("published", 1, "")]).await;
}

#[tokio::test]
async fn a_claim_whose_commit_was_not_answered_has_minted_leases_that_compute_takes() {
    let mut cutting = Cutting::new().await;
    let summary = cutting.cut("claim", 0, AtCommit::CutAnswer).await;
    assert_eq!((summary.outcome, summary.succeeded), (Outcome::Unavailable, 0));
    assert_eq!(cutting.scene.runs().await, [("claimed".to_owned(), 1, String::new())]);
    cutting.check(&[("published", 1, "")]).await;
}

#[tokio::test]
async fn a_compute_whose_commit_never_arrived_finds_out_and_records_the_failure() {
    let mut cutting = Cutting::new().await;
    let summary = cutting.cut("compute", 1, AtCommit::CutRequest).await;
    assert_eq!((summary.outcome, summary.failed), (Outcome::Failed, 1));
    cutting.check(&[("failed", 1, "commit_unknown"), ("published", 2, "")]).await;
}

#[tokio::test]
async fn a_compute_whose_commit_was_not_answered_finds_out_that_it_is_staged() {
    let mut cutting = Cutting::new().await;
    let summary = cutting.cut("compute", 1, AtCommit::CutAnswer).await;
    assert_eq!((summary.outcome, summary.succeeded, summary.failed), (Outcome::Worked, 1, 0));
    cutting.check(&[("published", 1, "")]).await;
}

#[tokio::test]
async fn a_publish_whose_commit_never_arrived_finds_out_and_records_the_failure() {
    let mut cutting = Cutting::new().await;
    let summary = cutting.cut("publish", 1, AtCommit::CutRequest).await;
    assert_eq!((summary.outcome, summary.failed), (Outcome::Failed, 1));
    assert_eq!(cutting.scene.figures().await, cutting.scene.expected[0]);
    cutting.check(&[("failed", 1, "commit_unknown"), ("published", 2, "")]).await;
}

#[tokio::test]
async fn a_publish_whose_commit_was_not_answered_finds_out_that_it_is_published() {
    let mut cutting = Cutting::new().await;
    let summary = cutting.cut("publish", 1, AtCommit::CutAnswer).await;
    assert_eq!((summary.outcome, summary.succeeded, summary.failed), (Outcome::Worked, 1, 0));
    cutting.check(&[("published", 1, "")]).await;
}

#[tokio::test]
async fn a_commit_that_is_answered_by_the_end_of_the_session_is_unknown_and_found_done() {
    for function in ["claim", "compute", "publish"] {
        let mut cutting = Cutting::new().await;
        let skip = usize::from(function != "claim");
        let summary = cutting.cut(function, skip, AtCommit::EndAnswer).await;
        if function == "claim" {
            // Nobody needs to know: compute finds the leases.
            assert_eq!(
                (summary.outcome, summary.error_code.as_deref()),
                (Outcome::Unavailable, Some("commit_unknown"))
            );
            assert_eq!(cutting.scene.runs().await, [("claimed".to_owned(), 1, String::new())]);
        } else {
            assert_eq!((summary.outcome, summary.succeeded, summary.failed), (Outcome::Worked, 1, 0), "{function}");
        }
        cutting.check(&[("published", 1, "")]).await;
    }
}

#[tokio::test]
async fn a_commit_that_an_administrator_ends_is_found_undone_and_recorded() {
    let mut cutting = Cutting::new().await;
    cutting.lead_to("publish").await;
    // What is deferred is checked inside COMMIT, and waits there.
    let wait = "CREATE SCHEMA deferred;
        CREATE FUNCTION deferred.wait() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
            'BEGIN PERFORM pg_catalog.pg_advisory_xact_lock(1); RETURN NULL; END';
        CREATE CONSTRAINT TRIGGER wait AFTER UPDATE ON public.user_stats_projection_runs DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW WHEN (NEW.phase = 'published') EXECUTE FUNCTION deferred.wait();
        SELECT pg_catalog.pg_advisory_lock(1)";
    cutting.scene.admin.batch_execute(wait).await.unwrap();
    let ending = async {
        let waiting = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
            AND usename = 'tidemark_worker' AND wait_event = 'advisory' AND query = 'COMMIT')";
        until_true(&cutting.scene.admin, waiting, &[]).await;
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()
            AND usename = 'tidemark_worker' AND wait_event = 'advisory'";
        assert_eq!(cutting.scene.admin.query_one(end, &[]).await.unwrap().get::<_, i64>(0), 1);
    };
    let (summary, ()) = tokio::join!(cutting.through.publish(), ending);
    assert_eq!((summary.failed, summary.error_code.as_deref()), (1, Some("commit_unknown")), "{summary:?}");
    cutting.scene.admin.batch_execute("DROP SCHEMA deferred CASCADE; SELECT pg_advisory_unlock(1)").await.unwrap();
    cutting.check(&[("failed", 1, "commit_unknown"), ("published", 2, "")]).await;
}

#[tokio::test]
async fn a_run_that_was_taken_without_an_answer_is_recovered_after_its_lease() {
    for function in ["compute", "publish"] {
        let mut cutting = Cutting::new().await;
        let summary = cutting.cut(function, 0, AtCommit::CutAnswer).await;
        assert_eq!((summary.outcome, summary.succeeded), (Outcome::Unavailable, 0), "{function}");
        cutting.scene.expire_leases().await;
        cutting.check(&[("failed", 1, "lease_expired"), ("published", 2, "")]).await;
    }
}

#[tokio::test]
async fn a_commit_that_is_under_way_when_the_client_looks_again_has_one_effect_whatever_the_client_believes() {
    for function in ["compute", "publish"] {
        for _round in 0..5 {
            let mut cutting = Cutting::new().await;
            let summary = cutting.cut(function, 1, AtCommit::CutBehindRequest).await;
            assert_eq!(summary.succeeded + summary.failed + summary.lost, 1, "{function}: {summary:?}");
            let expected: &[_] = match summary.failed {
                0 => &[("published", 1, "")],
                _ => &[("failed", 1, "commit_unknown"), ("published", 2, "")],
            };
            cutting.check(expected).await;
        }
    }
}

#[tokio::test]
async fn a_step_whose_network_falls_silent_at_its_commit_is_given_up_at_its_budget_and_then_looked_for() {
    for (function, shortest, usual) in [("compute", 1000, 60_000), ("publish", 100, 6000)] {
        for (what, succeeded, expected) in [
            (AtCommit::HoldRequest, 0, [("failed", 1, "57014"), ("published", 2, "")].as_slice()),
            (AtCommit::HoldAnswer, 1, &[("published", 1, "")]),
        ] {
            let mut cutting = Cutting::new().await;
            let budget = |milliseconds: i32| {
                format!("UPDATE public.stats_projection_worker_settings SET {function}_timeout_ms = {milliseconds}")
            };
            cutting.scene.admin.batch_execute(&budget(shortest)).await.unwrap();
            let summary = cutting.cut(function, 1, what).await;
            let counted = (summary.succeeded, summary.failed, summary.lost);
            assert_eq!(counted, (succeeded, 1 - succeeded, 0), "{function}, {what:?}: {summary:?}");
            cutting.scene.admin.batch_execute(&budget(usual)).await.unwrap();
            cutting.check(expected).await;
        }
    }
}

#[tokio::test]
async fn a_cut_anywhere_in_a_conversation_costs_an_attempt_at_most() {
    /// Bytes between two places that are tried; a prime, so that the places fall all over the messages.
    const STEP: usize = 149;
    let mut cutting = Cutting::new().await;
    cutting.direct.refresh().await;
    for function in ["claim", "compute", "publish"] {
        for toward in [Toward::Server, Toward::Client] {
            for bytes in (0..).step_by(STEP) {
                let request = "SELECT public.request_stats_refresh(ARRAY[$1::uuid])";
                cutting.scene.admin.query_one(request, &[&cutting.scene.user]).await.unwrap();
                cutting.lead_to(function).await;
                // A new connection each time: its first messages are part of the conversation.
                cutting.through = Workers::new(&cutting.proxy.connector());
                let strikes = cutting.proxy.strikes();
                cutting.proxy.inject(Fault::CutAfter { toward, bytes });
                cutting.work(function).await;
                cutting.proxy.inject(Fault::None);
                cutting.until_quiet().await;
                cutting.scene.expire_leases().await;
                cutting.direct.refresh().await;
                cutting.scene.check_fresh(1).await;
                if cutting.proxy.strikes() == strikes {
                    assert!(bytes > STEP, "{function} says more than that");
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_refused_connection_ends_the_tick_quietly_and_the_next_one_works() {
    let mut cutting = Cutting::new().await;
    for function in ["claim", "compute", "publish"] {
        cutting.proxy.inject(Fault::Refuse);
        let summary = cutting.work(function).await;
        assert_eq!((summary.outcome, summary.succeeded), (Outcome::Unavailable, 0), "{function}");
        cutting.proxy.inject(Fault::None);
        assert_eq!(cutting.work(function).await.succeeded, 1, "{function}");
    }
    cutting.check(&[("published", 1, "")]).await;
}

#[tokio::test]
async fn a_slow_network_costs_time_and_nothing_else() {
    let mut cutting = Cutting::new().await;
    cutting.proxy.inject(Fault::Delay(Duration::from_millis(10)));
    cutting.through.refresh().await;
    cutting.check(&[("published", 1, "")]).await;
}
