//! Rebuilding: a newer definition reaches everybody, behind saves, in bounded steps.

use serde_json::Value;
use tidemark_queue::{Connection, Outcome, Summary};
use tidemark_stats::DEFINITION_VERSION;
use tidemark_tests::{Pipeline, invocation};
use tokio_postgres::types::Json;
use uuid::Uuid;

use crate::{EVENING, saved_user};

/// The version of a release that follows this one.
const NEWER: i32 = DEFINITION_VERSION + 1;

/// One compute by a build whose formulas have `version`.
async fn compute_as(connection: &mut Connection, version: i32) -> Summary {
    tidemark_projection::compute::handle_as(connection, &invocation(), version).await
}

/// So many users, published by this build's formulas.
async fn published_users(pipeline: &mut Pipeline, number: usize) -> Vec<Uuid> {
    let mut users = Vec::new();
    for _ in 0..number {
        users.push(saved_user(pipeline).await);
    }
    pipeline.refresh().await;
    users
}

/// Claims, computes by `version` and publishes, until two claims one after the other leave nothing.
async fn refresh_as(pipeline: &mut Pipeline, compute: &mut Connection, version: i32) {
    let mut idle = 0;
    while idle < 2 {
        let claimed = pipeline.claim().await.succeeded;
        compute_as(compute, version).await;
        pipeline.publish().await;
        idle = if claimed == 0 { idle + 1 } else { 0 };
    }
}

async fn rebuild(pipeline: &Pipeline) -> Value {
    let query = "SELECT public.stats_projection_worker_status_v1() -> 'rebuild'";
    pipeline.one(query, &[]).await.get::<_, Option<Json<Value>>>(0).map_or(Value::Null, |json| json.0)
}

async fn versions(pipeline: &Pipeline) -> Vec<i32> {
    let query = "SELECT array_agg(DISTINCT definition_version ORDER BY definition_version) FROM public.user_stats_projection_state";
    pipeline.one(query, &[]).await.get(0)
}

async fn start(pipeline: &Pipeline) -> (i64, bool) {
    let row = pipeline.one("SELECT rebuild_id, started FROM tidemark.rebuild_start_v1()", &[]).await;
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn a_newer_definition_rebuilds_everybody_and_says_how_far_it_is() {
    let mut pipeline = Pipeline::new().await;
    published_users(&mut pipeline, 5).await;
    assert_eq!(rebuild(&pipeline).await, Value::Null, "the first tick of a database asks for no rebuild");

    let mut compute = pipeline.worker();
    compute_as(&mut compute, NEWER).await;
    pipeline.claim().await;
    let begun = rebuild(&pipeline).await;
    assert_eq!(
        (&begun["cause"], &begun["percent"], &begun["users_total"]),
        (&"definition".into(), &0.into(), &5.into())
    );
    assert_eq!(begun["users_under_way"], 5);
    compute_as(&mut compute, NEWER).await;
    pipeline.publish().await;
    pipeline.claim().await;
    let halfway = rebuild(&pipeline).await;
    assert_eq!((&halfway["percent"], &halfway["users_done"]), (&40.into(), &2.into()), "{halfway}");
    assert!(halfway["eta_seconds"].is_i64(), "{halfway}");

    refresh_as(&mut pipeline, &mut compute, NEWER).await;
    let ended = rebuild(&pipeline).await;
    assert_eq!((&ended["phase"], &ended["percent"], &ended["users_done"]), (&"done".into(), &100.into(), &5.into()));
    assert_eq!(versions(&pipeline).await, [NEWER]);
    // Once is enough.
    refresh_as(&mut pipeline, &mut compute, NEWER).await;
    assert_eq!(rebuild(&pipeline).await["rebuild_id"], ended["rebuild_id"]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_during_a_rebuild_is_claimed_before_everybody_who_is_rebuilt() {
    let mut pipeline = Pipeline::new().await;
    let users = published_users(&mut pipeline, 6).await;
    let mut compute = pipeline.worker();
    compute_as(&mut compute, NEWER).await;
    pipeline.claim().await;
    compute_as(&mut compute, NEWER).await;
    pipeline.publish().await;
    let waiting: Uuid = pipeline
        .one(
            "SELECT user_id FROM public.user_stats_projection_state WHERE pending_generation IS NOT NULL
             ORDER BY pending_generation DESC LIMIT 1",
            &[],
        )
        .await
        .get(0);
    assert!(users.contains(&waiting));
    pipeline.save(waiting, EVENING, "Squat", &[(100.0, 5)]).await;
    let newcomer = saved_user(&pipeline).await;
    pipeline.claim().await;
    let mut claimed: Vec<Uuid> = pipeline
        .one("SELECT array_agg(user_id) FROM public.user_stats_projection_runs WHERE phase = 'claimed'", &[])
        .await
        .get(0);
    claimed.sort();
    let mut savers = vec![waiting, newcomer];
    savers.sort();
    assert_eq!(claimed, savers);
    refresh_as(&mut pipeline, &mut compute, NEWER).await;
    assert_eq!(rebuild(&pipeline).await["phase"], "done");
    assert_eq!(versions(&pipeline).await, [NEWER]);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_build_with_older_formulas_gets_no_run_and_undoes_nothing() {
    let mut pipeline = Pipeline::new().await;
    let users = published_users(&mut pipeline, 2).await;
    let (mut older, mut newer) = (pipeline.worker(), pipeline.worker());
    compute_as(&mut newer, NEWER).await;
    for round in 0..4 {
        pipeline.save(users[0], EVENING, "Squat", &[(100.0 + f64::from(round), 5)]).await;
        pipeline.claim().await;
        let refused = compute_as(&mut older, DEFINITION_VERSION).await;
        assert_eq!((refused.outcome, refused.succeeded), (Outcome::Outdated, 0));
        compute_as(&mut newer, NEWER).await;
        pipeline.publish().await;
    }
    refresh_as(&mut pipeline, &mut newer, NEWER).await;
    assert_eq!(versions(&pipeline).await, [NEWER]);
    let rebuilds = pipeline.one("SELECT count(*) FROM tidemark.rebuilds", &[]).await.get::<_, i64>(0);
    assert_eq!(rebuilds, 1, "the two builds did not set each other off");
    // By whatever road an older result may come, it does not replace a newer one.
    let lower = "UPDATE public.user_stats_projection_state
        SET applied_generation = requested_generation + 1, requested_generation = requested_generation + 1, definition_version = 1
        WHERE definition_version > 1";
    assert_eq!(crate::refusal(&pipeline.admin, lower).await, "55000");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn what_an_older_build_had_taken_is_published_and_then_rebuilt() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.claim().await;
    // Older formulas have taken the run of somebody who was never published, and are still at it.
    let take = format!("SELECT outcome FROM tidemark.compute_take_v1(gen_random_uuid(), NULL, {DEFINITION_VERSION})");
    assert_eq!(pipeline.one(&take, &[]).await.get::<_, &str>(0), "taken");
    let mut newer = pipeline.worker();
    compute_as(&mut newer, NEWER).await;
    pipeline.claim().await;
    let run = pipeline.last_run(user).await;
    let document = r#"{"exercise_ids": null, "exercises": [], "rep_maxes": [], "weekly": [], "muscles_weekly": [], "muscle_weeks": [], "summary":
        {"workouts": 1, "training_days": 1, "exercises": 1, "sets": 1, "working_set_rows": 1, "reps": 5, "total_reps": 5,
         "total_volume_kg": 1, "working_volume_kg": 1, "effective_volume_kg": 1, "last_streak_weeks": 1,
         "longest_streak_weeks": 1, "monthly": []}}"#;
    let stage = format!("SELECT tidemark.compute_stage_v1($1, $2, $3, 1, {DEFINITION_VERSION}, '{document}')");
    assert!(pipeline.one(&stage, &[&run.id, &run.attempt, &run.token]).await.get::<_, bool>(0));
    assert_eq!(pipeline.publish().await.succeeded, 1);
    assert_eq!(versions(&pipeline).await, [DEFINITION_VERSION]);

    refresh_as(&mut pipeline, &mut newer, NEWER).await;
    assert_eq!(versions(&pipeline).await, [NEWER]);
    let volume = "SELECT total_volume_kg::text FROM public.user_stats_summary WHERE user_id = $1";
    assert_eq!(pipeline.one(volume, &[&user]).await.get::<_, &str>(0), "500");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn marking_keeps_within_its_window_and_a_cancelled_rebuild_ends_there() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_active", "1").await;
    published_users(&mut pipeline, 25).await;
    let mut compute = pipeline.worker();
    compute_as(&mut compute, NEWER).await;
    pipeline.claim().await;
    let stale =
        "SELECT count(*) FROM public.user_stats_projection_state WHERE requested_generation > applied_generation";
    assert_eq!(pipeline.one(stale, &[]).await.get::<_, i64>(0), 20, "the window is twenty for each slot");
    pipeline.claim().await;
    assert_eq!(pipeline.one(stale, &[]).await.get::<_, i64>(0), 20);

    let cancelled: Option<i64> = pipeline.one("SELECT tidemark.rebuild_cancel_v1()", &[]).await.get(0);
    assert!(cancelled.is_some());
    let again: Option<i64> = pipeline.one("SELECT tidemark.rebuild_cancel_v1()", &[]).await.get(0);
    assert_eq!(again, None, "there is none any more");
    refresh_as(&mut pipeline, &mut compute, NEWER).await;
    let left = "SELECT count(*) FROM public.user_stats_projection_state WHERE definition_version < $1";
    assert_eq!(pipeline.one(left, &[&NEWER]).await.get::<_, i64>(0), 5);
    let told = rebuild(&pipeline).await;
    assert_eq!((&told["phase"], &told["eta_seconds"]), (&"cancelled".into(), &Value::Null));

    // An operator lets it go on, for everybody.
    assert!(start(&pipeline).await.1);
    refresh_as(&mut pipeline, &mut compute, NEWER).await;
    assert_eq!(versions(&pipeline).await, [NEWER]);
    let ended = rebuild(&pipeline).await;
    assert_eq!((&ended["percent"], &ended["users_done"]), (&100.into(), &25.into()));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_user_who_is_held_is_marked_by_a_later_pass_and_no_claim_waits() {
    let mut pipeline = Pipeline::new().await;
    let users = published_users(&mut pipeline, 3).await;
    let mut compute = pipeline.worker();
    compute_as(&mut compute, NEWER).await;
    let holder = pipeline.database.admin().await;
    let hold =
        format!("BEGIN; SELECT FROM public.user_stats_projection_state WHERE user_id = '{}' FOR UPDATE", users[1]);
    holder.batch_execute(&hold).await.unwrap();
    for _ in 0..3 {
        assert_ne!(pipeline.claim().await.outcome, Outcome::Unavailable);
        compute_as(&mut compute, NEWER).await;
        pipeline.publish().await;
    }
    let told = rebuild(&pipeline).await;
    assert_eq!((&told["phase"], &told["users_done"], &told["percent"]), (&"finishing".into(), &2.into(), &66.into()));
    holder.batch_execute("ROLLBACK").await.unwrap();
    refresh_as(&mut pipeline, &mut compute, NEWER).await;
    assert_eq!(rebuild(&pipeline).await["users_done"], 3);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn two_operators_at_once_start_one_rebuild() {
    let mut pipeline = Pipeline::new().await;
    published_users(&mut pipeline, 2).await;
    let (one, other) = (pipeline.database.admin().await, pipeline.database.admin().await);
    let query = "SELECT rebuild_id, started FROM tidemark.rebuild_start_v1()";
    for _ in 0..10 {
        let (one, other) = tokio::join!(one.query_one(query, &[]), other.query_one(query, &[]));
        let (one, other) = (one.unwrap(), other.unwrap());
        assert_eq!(one.get::<_, i64>(0), other.get::<_, i64>(0));
        assert_ne!(one.get::<_, bool>(1), other.get::<_, bool>(1));
        pipeline.one("SELECT tidemark.rebuild_cancel_v1()", &[]).await;
    }
}

#[tokio::test]
async fn a_definition_raised_again_takes_over_from_the_rebuild_under_way() {
    let mut pipeline = Pipeline::new().await;
    published_users(&mut pipeline, 5).await;
    let mut compute = pipeline.worker();
    compute_as(&mut compute, NEWER).await;
    pipeline.claim().await;
    compute_as(&mut compute, NEWER).await;
    pipeline.publish().await;
    compute_as(&mut compute, NEWER + 1).await;
    refresh_as(&mut pipeline, &mut compute, NEWER + 1).await;
    assert_eq!(versions(&pipeline).await, [NEWER + 1]);
    let phases = "SELECT array_agg(phase ORDER BY rebuild_id) FROM tidemark.rebuilds";
    assert_eq!(pipeline.one(phases, &[]).await.get::<_, Vec<String>>(0), ["superseded", "done"]);
    assert_eq!(rebuild(&pipeline).await["percent"], 100);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_poisoned_and_a_vanished_user_are_counted_and_the_end_is_reached() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_attempts", "1").await;
    let users = published_users(&mut pipeline, 4).await;
    // A formula that nobody knows stops the compute of its user.
    pipeline
        .admin
        .batch_execute("ALTER TABLE public.training_profiles DROP CONSTRAINT training_profiles_e1rm_formula")
        .await
        .unwrap();
    let poison = "INSERT INTO public.training_profiles (user_id, e1rm_formula) VALUES ($1, 'phlogiston')
        ON CONFLICT (user_id) DO UPDATE SET e1rm_formula = excluded.e1rm_formula";
    pipeline.run(poison, &[&users[0]]).await;
    pipeline.refresh().await;
    let mut compute = pipeline.worker();
    compute_as(&mut compute, NEWER).await;
    pipeline.claim().await;
    let waiting: Uuid = pipeline
        .one(
            "SELECT user_id FROM public.user_stats_projection_state
             WHERE pending_generation IS NOT NULL AND live_run_id IS NULL AND user_id <> $1 LIMIT 1",
            &[&users[0]],
        )
        .await
        .get(0);
    // Runs and jobs refer to each other, and the state row is what a rebuild knows of a user.
    for gone in [
        "DELETE FROM public.user_stats_projection_runs WHERE user_id = $1",
        "DELETE FROM public.user_exercise_stats_refresh_jobs WHERE user_id = $1",
        "DELETE FROM public.user_exercise_stats_dirty WHERE user_id = $1",
        "DELETE FROM public.user_stats_projection_state WHERE user_id = $1",
    ] {
        pipeline.run(gone, &[&waiting]).await;
    }
    refresh_as(&mut pipeline, &mut compute, NEWER).await;
    let told = rebuild(&pipeline).await;
    let counts = (&told["users_done"], &told["users_failed"], &told["users_gone"]);
    assert_eq!(counts, (&2.into(), &1.into(), &1.into()), "{told}");
    assert_eq!((&told["phase"], &told["percent"]), (&"done".into(), &100.into()));
}
