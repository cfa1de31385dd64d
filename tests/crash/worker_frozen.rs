//! Workers that stand still (SIGSTOP, or a network that says nothing) and go on when somebody else has done their work.

use serde_json::{Value, json};
use tidemark_queue::Outcome;
use tidemark_testkit::{AtCommit, ChaosProxy, Fault, TestDatabase};
use tidemark_tests::until_true;

use crate::scene::{Gate, LIMIT, Scene, Workers, function};

/// Every row of the pipeline and of what is published, without the ticks.
const EVERYTHING: &str = "
SELECT jsonb_build_array(
    (SELECT jsonb_agg(to_jsonb(run) ORDER BY run.id) FROM public.user_stats_projection_runs AS run),
    (SELECT jsonb_agg(to_jsonb(job) ORDER BY job.id) FROM public.user_exercise_stats_refresh_jobs AS job),
    (SELECT jsonb_agg(to_jsonb(state) ORDER BY state.user_id) FROM public.user_stats_projection_state AS state),
    (SELECT jsonb_agg(to_jsonb(dirty)) FROM public.user_exercise_stats_dirty AS dirty),
    (SELECT jsonb_agg(to_jsonb(staged)) FROM tidemark.staged_results AS staged),
    (SELECT jsonb_agg(to_jsonb(stats) ORDER BY stats.user_id, stats.exercise_id) FROM public.user_exercise_stats AS stats),
    (SELECT jsonb_agg(to_jsonb(alert)) FROM public.alert_outbox AS alert)
)";

async fn everything(scene: &Scene) -> Value {
    scene.admin.query_one(EVERYTHING, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_compute_frozen_in_its_transaction_is_ended_by_the_server_and_changes_nothing_after_its_thaw() {
    let database = TestDatabase::new().await;
    let mut workers = Workers::new(&database.connector("tidemark_worker"));
    let scene = Scene::new(database.admin().await, &mut workers).await;
    let budget = "UPDATE public.stats_projection_worker_settings SET compute_timeout_ms = 1000";
    scene.admin.batch_execute(budget).await.unwrap();
    workers.claim().await;
    let simulator = function("compute", &database).await;
    let lock = "LOCK TABLE public.workout_sets IN ACCESS EXCLUSIVE MODE";
    let gate = Gate::close(database.admin().await, lock).await;

    let meanwhile = async {
        scene.until_blocked().await;
        simulator.freeze();
        gate.open().await;
        // Its last statement is answered, nobody reads the answer, and the transaction stays open.
        let idle = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                    AND application_name = 'tidemark-compute' AND state = 'idle in transaction')";
        until_true(&scene.admin, idle, &[]).await;
        // Nobody thaws it: the server ends it soon after its budget, and with it its hold on the run.
        scene.until_gone("tidemark-compute").await;
        scene.expire_leases().await;
        workers.refresh().await;
        scene.check_fresh(1).await;
        let before = everything(&scene).await;
        simulator.thaw();
        before
    };
    let (answer, before) = tokio::join!(simulator.invoke(json!({}), LIMIT), meanwhile);
    let answer = answer.unwrap();
    assert_eq!((&answer["succeeded"], &answer["lost"]), (&json!(0), &json!(1)), "{answer}");
    assert_eq!(everything(&scene).await, before, "the zombie changed nothing");
    let runs = scene.runs().await;
    assert_eq!(runs[0].2, "lease_expired");
    assert_eq!((runs.len(), runs[1].1), (2, 2));
    // The thawed environment serves on, with a connection of its own.
    scene.save(2).await;
    workers.claim().await;
    assert_eq!(simulator.invoke(json!({}), LIMIT).await.unwrap()["succeeded"], 1);
    workers.publish().await;
    scene.check_fresh(2).await;
}

#[tokio::test]
async fn a_publish_frozen_after_it_was_sent_is_committed_once_and_counted_after_the_thaw() {
    let database = TestDatabase::new().await;
    let mut workers = Workers::new(&database.connector("tidemark_worker"));
    let scene = Scene::new(database.admin().await, &mut workers).await;
    workers.claim().await;
    workers.compute().await;
    let simulator = function("publish", &database).await;
    let gate = Gate::close_state_row(database.admin().await, scene.user).await;
    let meanwhile = async {
        scene.until_blocked().await;
        simulator.freeze();
        gate.open().await;
        let applied = "SELECT requested_generation = applied_generation
                       FROM public.user_stats_projection_state WHERE user_id = $1";
        until_true(&scene.admin, applied, &[&scene.user]).await;
        assert_eq!(workers.claim().await.outcome, Outcome::Idle, "there is nothing left to do");
        simulator.thaw();
    };
    let (answer, ()) = tokio::join!(simulator.invoke(json!({}), LIMIT), meanwhile);
    assert_eq!(answer.unwrap()["succeeded"], 1);
    scene.check_fresh(1).await;
    assert_eq!(scene.runs().await, [("published".to_owned(), 1, String::new())]);
}

#[tokio::test]
async fn a_worker_that_learns_of_its_run_after_the_lease_went_to_another_changes_nothing() {
    for name in ["compute", "publish"] {
        let database = TestDatabase::new().await;
        let mut workers = Workers::new(&database.connector("tidemark_worker"));
        let scene = Scene::new(database.admin().await, &mut workers).await;
        let proxy = ChaosProxy::start(&database.url_for("tidemark_worker"));
        let mut late = Workers::new(&proxy.connector());
        workers.claim().await;
        if name == "publish" {
            workers.compute().await;
        }
        proxy.inject(Fault::Commit { skip: 0, what: AtCommit::HoldAnswer });
        let work = async {
            match name {
                "compute" => late.compute().await,
                _ => late.publish().await,
            }
        };
        let meanwhile = async {
            // The run is taken, and the answer that says so is on its way.
            proxy.until_struck(1).await;
            scene.expire_leases().await;
            workers.refresh().await;
            scene.check_fresh(1).await;
            let before = everything(&scene).await;
            proxy.release();
            before
        };
        let (summary, before) = tokio::join!(work, meanwhile);
        assert_eq!((summary.succeeded, summary.failed, summary.lost), (0, 0, 1), "{name}");
        assert_eq!(everything(&scene).await, before, "{name}");
        scene.check_fresh(1).await;
    }
}
