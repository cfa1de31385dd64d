//! `kill -9` in the midst of a rebuild: it goes on where the last commit stood.

use serde_json::json;
use tidemark_testkit::TestDatabase;
use tidemark_tests::until_true;

use crate::scene::{Gate, LIMIT, Scene, Workers, function};

/// Stops a claim after it has listed users of the rebuild and before it has marked them.
const MARKING: &str = "LOCK TABLE public.user_exercise_stats_dirty IN SHARE MODE";
/// Stops it after everything is marked, when it mints leases.
const MINTING: &str = "LOCK TABLE public.user_stats_projection_runs IN SHARE MODE";
/// As if this build's definition had just been raised: an older one was published, and nobody has told of a newer one.
const RAISE: &str = "UPDATE public.user_stats_projection_state SET definition_version = definition_version - 1;
    UPDATE tidemark.rebuilds SET ended_at = clock_timestamp(), phase = 'superseded' WHERE ended_at IS NULL;
    UPDATE tidemark.definition SET rebuilt_version = version - 1";

#[tokio::test]
async fn a_claim_killed_within_a_step_leaves_no_half_step_and_the_rebuild_reaches_everybody() {
    let database = TestDatabase::new().await;
    let mut workers = Workers::new(&database.connector("tidemark_worker"));
    let scene = Scene::new(database.admin().await, &mut workers).await;
    workers.refresh().await;
    scene.admin.batch_execute(RAISE).await.unwrap();
    let before = "SELECT count(*) FROM public.user_exercise_stats_refresh_jobs";
    let jobs: i64 = scene.admin.query_one(before, &[]).await.unwrap().get(0);

    for gate in [MARKING, MINTING] {
        let gate = Gate::close(database.admin().await, gate).await;
        let simulator = function("claim", &database).await;
        let killing = async {
            scene.until_blocked().await;
            simulator.kill();
            simulator.ended().await
        };
        let (_answer, ended) = tokio::join!(simulator.invoke(json!({}), LIMIT), killing);
        ended.unwrap();
        scene.until_gone("tidemark-claim").await;
        gate.open().await;
        let after: i64 = scene.admin.query_one(before, &[]).await.unwrap().get(0);
        assert_eq!(after, jobs, "a step that did not commit marked nobody");
        let begun = "SELECT count(*) FROM tidemark.rebuilds WHERE ended_at IS NULL";
        assert_eq!(scene.admin.query_one(begun, &[]).await.unwrap().get::<_, i64>(0), 0);
    }

    // Once more, this time after a step has committed: its users are on their way, and a killed compute does not lose them.
    workers.claim().await;
    let gate = Gate::close(database.admin().await, "LOCK TABLE public.workout_sets IN ACCESS EXCLUSIVE MODE").await;
    let simulator = function("compute", &database).await;
    let killing = async {
        scene.until_blocked().await;
        simulator.kill();
        simulator.ended().await
    };
    let (_answer, ended) = tokio::join!(simulator.invoke(json!({}), LIMIT), killing);
    ended.unwrap();
    scene.until_gone("tidemark-compute").await;
    gate.open().await;
    scene.expire_leases().await;
    workers.refresh().await;
    workers.claim().await;
    let done = "SELECT EXISTS (SELECT FROM tidemark.rebuilds WHERE phase = 'done' AND users_done = 2)";
    until_true(&scene.admin, done, &[]).await;
    let current = "SELECT bool_and(state.definition_version = definition.version)
        FROM public.user_stats_projection_state AS state, tidemark.definition AS definition";
    assert!(scene.admin.query_one(current, &[]).await.unwrap().get::<_, bool>(0));
    scene.check_fresh(1).await;
}
