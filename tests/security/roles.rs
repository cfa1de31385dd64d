//! Each role really tried: rights that are granted work, and the others are refused.

use std::collections::BTreeSet;

use serde_json::json;
use tidemark_testkit::TestDatabase;
use tidemark_tests::Pipeline;
use tokio_postgres::Client;
use tokio_postgres::types::Json;
use uuid::Uuid;

use crate::refusal::{FORBIDDEN, become_role, code_of, refusal};

const WORKER_FUNCTIONS: &[&str] = &[
    "tidemark.schema_version_v1",
    "tidemark.begin_step_v1",
    "tidemark.tick_end_v1",
    "tidemark.claim_v1",
    "tidemark.compute_take_v1",
    "tidemark.compute_hold_v1",
    "tidemark.compute_stage_v1",
    "tidemark.publish_take_v1",
    "tidemark.publish_v1",
    "tidemark.run_fail_v1",
    "tidemark.run_phase_v1",
    "tidemark.source_profile_v1",
    "tidemark.source_exercises_v1",
    "tidemark.source_workouts_v1",
    "tidemark.source_sets_v1",
    "tidemark.source_bodyweights_v1",
    "tidemark.source_dirty_v1",
    "public.stats_projection_worker_status_v1",
    "tidemark.dashboard_v1",
    "public.enqueue_job",
    "tidemark.jobs_enqueue_v1",
    "tidemark.jobs_claim_v1",
    "tidemark.jobs_end_v1",
    "tidemark.jobs_start_v1",
    "tidemark.jobs_renew_v1",
    "tidemark.job_progress_v1",
    "tidemark.jobs_reap_v1",
    "tidemark.jobs_requeue_v1",
    "tidemark.job_cancel_v1",
    "tidemark.job_get_v1",
    "tidemark.job_find_v1",
    "tidemark.jobs_ops_v1",
    "tidemark.action_record_v1",
    "tidemark.work_begin_v1",
    "tidemark.alerts_untold_v1",
    "tidemark.alerts_told_v1",
    "tidemark.history_purge_v1",
    "tidemark.schedules_due_v1",
    "tidemark.schedule_plan_v1",
    "tidemark.schedule_fire_v1",
    "tidemark.schedule_refuse_v1",
];
const USER_FUNCTIONS: &[&str] =
    &["public.save_workout_v1", "public.edit_workout_v1", "public.delete_workout_v1", "public.wait_for_fresh_v1"];
const SERVICE_FUNCTIONS: &[&str] = &[
    "public.save_workout_v1",
    "public.edit_workout_v1",
    "public.delete_workout_v1",
    "public.wait_for_fresh_v1",
    "tidemark.caller_v1",
    "tidemark.calendar_at_v1",
    "tidemark.streak_at_v1",
    "tidemark.stale_since_v1",
    "tidemark.schema_version_v1",
    "public.stats_projection_worker_status_v1",
    "public.request_stats_refresh",
    "tidemark.action_record_v1",
    "tidemark.import_workouts_v1",
    "public.enqueue_job",
    "tidemark.jobs_enqueue_v1",
];
const SOURCE: &[&str] = &[
    "public.training_profiles",
    "public.exercises",
    "public.workouts",
    "public.workout_sets",
    "public.bodyweight_log",
];
const PROJECTIONS: &[&str] = &[
    "public.user_exercise_stats",
    "public.user_exercise_rep_maxes",
    "public.user_exercise_stats_weekly",
    "public.user_muscle_stats_weekly",
    "public.user_stats_summary",
    "public.user_stats_overview",
];

async fn listed(admin: &Client, query: &str) -> Vec<(String, String)> {
    let rows = admin.query(query, &[]).await.unwrap();
    assert!(!rows.is_empty(), "nothing to try");
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Names of all functions of ours with a call of each, every argument null.
async fn calls(admin: &Client) -> Vec<(String, String)> {
    let query = "SELECT format('%s.%s', routine.pronamespace::regnamespace, routine.proname),
            format('SELECT %s.%s(%s)', routine.pronamespace::regnamespace, routine.proname, (
                SELECT string_agg(format('NULL::%s', format_type(argument.type, NULL)), ', ' ORDER BY argument.place)
                FROM unnest(routine.proargtypes::oid[]) WITH ORDINALITY AS argument (type, place)))
        FROM pg_proc AS routine
        WHERE routine.pronamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
        ORDER BY 1";
    listed(admin, query).await
}

/// Names of all tables, views and sequences of ours, and their kind.
async fn relations(admin: &Client) -> Vec<(String, String)> {
    let query = "SELECT format('%s.%s', relation.relnamespace::regnamespace, relation.relname), relation.relkind::text
        FROM pg_class AS relation
        WHERE relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace) AND relation.relkind IN ('r', 'p', 'v', 'm', 'S')
        ORDER BY 1";
    listed(admin, query).await
}

/// Every statement that somebody could try on a table or a sequence, with the right that it needs.
fn attempts(relation: &str, kind: &str) -> Vec<(&'static str, String)> {
    if kind == "S" {
        return vec![
            ("read", format!("SELECT * FROM {relation}")),
            ("write", format!("SELECT nextval('{relation}')")),
            ("write", format!("SELECT setval('{relation}', 1)")),
        ];
    }
    let read = ("read", format!("SELECT * FROM {relation} LIMIT 0"));
    if kind == "v" || kind == "m" {
        return vec![read, ("own", format!("DROP VIEW {relation} CASCADE"))];
    }
    vec![
        read,
        ("write", format!("INSERT INTO {relation} OVERRIDING SYSTEM VALUE SELECT (NULL::{relation}).* LIMIT 0")),
        ("write", format!("DELETE FROM {relation} WHERE false")),
        ("lock", format!("LOCK TABLE {relation} IN ACCESS EXCLUSIVE MODE")),
        ("own", format!("TRUNCATE {relation} CASCADE")),
        ("own", format!("ALTER TABLE {relation} ADD COLUMN theirs integer")),
        ("own", format!("DROP TABLE {relation} CASCADE")),
    ]
}

fn may(role: &str, relation: &str, right: &str) -> bool {
    let source = SOURCE.contains(&relation);
    match (role, right) {
        ("service_role", "read") => source || PROJECTIONS.contains(&relation),
        // Rows of others stay out of sight: reading.rs.
        ("authenticated", "read") => PROJECTIONS.contains(&relation),
        // UPDATE and DELETE bring the right to lock.
        ("service_role", "write" | "lock") => source,
        _ => false,
    }
}

#[tokio::test]
async fn no_role_reaches_a_table_or_a_sequence_that_was_not_granted_to_it() {
    let database = TestDatabase::new().await;
    let relations = relations(&database.admin().await).await;
    let mut wrong = Vec::new();
    for role in ["anon", "authenticated", "service_role", "tidemark_worker"] {
        let client = database.connect_as(role).await;
        for (relation, kind) in &relations {
            for (right, statement) in attempts(relation, kind) {
                let code = code_of(&client, &statement).await;
                if may(role, relation, right) != (code.as_deref() != Some(FORBIDDEN)) {
                    wrong.push(format!("{role}: {statement}: {code:?}"));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test]
async fn no_role_can_call_a_function_that_was_not_granted_to_it() {
    let database = TestDatabase::new().await;
    let calls = calls(&database.admin().await).await;
    let known: BTreeSet<&str> = calls.iter().map(|(name, _call)| name.as_str()).collect();
    let nothing: &[&str] = &[];
    let mut wrong = Vec::new();
    let roles = [
        ("anon", nothing),
        ("authenticated", USER_FUNCTIONS),
        ("service_role", SERVICE_FUNCTIONS),
        ("tidemark_worker", WORKER_FUNCTIONS),
    ];
    for (role, granted) in roles {
        assert!(
            granted.iter().all(|name| known.contains(name)),
            "the list of {role} names functions that are not there"
        );
        let client = database.connect_as(role).await;
        for (name, call) in &calls {
            let code = code_of(&client, call).await;
            if granted.contains(&name.as_str()) != (code.as_deref() != Some(FORBIDDEN)) {
                wrong.push(format!("{role}: {call}: {code:?}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test]
async fn no_role_can_make_or_change_objects_in_our_schemas() {
    let database = TestDatabase::new().await;
    for role in ["anon", "authenticated", "service_role", "tidemark_worker"] {
        let client = database.connect_as(role).await;
        for statement in [
            "CREATE TABLE public.theirs (a integer)",
            "CREATE TABLE tidemark.theirs (a integer)",
            "CREATE FUNCTION public.save_workout_v1(uuid, text) RETURNS jsonb LANGUAGE sql AS 'SELECT NULL::jsonb'",
            "CREATE OR REPLACE FUNCTION tidemark.check_caller(p_user_id uuid) RETURNS void LANGUAGE sql AS 'SELECT'",
            "ALTER FUNCTION public.save_workout_v1(uuid, jsonb) RESET search_path",
            "GRANT tidemark_owner TO CURRENT_USER",
            "SET ROLE tidemark_owner",
            "CREATE SCHEMA theirs",
        ] {
            assert_eq!(code_of(&client, statement).await.as_deref(), Some(FORBIDDEN), "{role}: {statement}");
        }
    }
}

fn workout() -> Json<serde_json::Value> {
    Json(json!({"started_at": "2026-07-19T17:30:00Z", "sets": [{"exercise": "Squat", "weight": 100, "reps": 5}]}))
}

const SAVE: &str = "SELECT public.save_workout_v1($1, $2)";
const EDIT: &str = "SELECT public.edit_workout_v1($1, $2, $3)";
const DELETE: &str = "SELECT public.delete_workout_v1($1, $2)";

#[tokio::test]
async fn an_authenticated_user_saves_edits_and_deletes_what_is_its_own() {
    let pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let client = pipeline.database.admin().await;
    become_role(&client, "authenticated", Some(json!({"sub": user, "role": "authenticated"}))).await;
    let saved: Json<serde_json::Value> = client.query_one(SAVE, &[&user, &workout()]).await.unwrap().get(0);
    let id: Uuid = saved.0["workout_id"].as_str().unwrap().parse().unwrap();
    client.query_one(EDIT, &[&user, &id, &workout()]).await.unwrap();
    let deleted: Json<serde_json::Value> = client.query_one(DELETE, &[&user, &id]).await.unwrap().get(0);
    assert_eq!(deleted.0["deleted"], true);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn an_authenticated_user_can_save_edit_or_delete_nothing_of_another() {
    let pipeline = Pipeline::new().await;
    let (own, other) = (Uuid::new_v4(), Uuid::new_v4());
    let id = pipeline.save(other, "2026-07-19T17:30:00Z", "Squat", &[(100.0, 5)]).await;
    let client = pipeline.database.admin().await;
    become_role(&client, "authenticated", Some(json!({"sub": own}))).await;
    for outcome in [
        refusal(&client, SAVE, &[&other, &workout()]).await,
        refusal(&client, EDIT, &[&other, &id, &workout()]).await,
        refusal(&client, DELETE, &[&other, &id]).await,
    ] {
        assert_eq!(outcome.unwrap().code, FORBIDDEN);
    }
    // Naming somebody else's workout under one's own id finds nothing.
    assert_eq!(refusal(&client, EDIT, &[&own, &id, &workout()]).await.unwrap().code, "P0002");
    let deleted: Json<serde_json::Value> = client.query_one(DELETE, &[&own, &id]).await.unwrap().get(0);
    assert_eq!(deleted.0["deleted"], false);
    let sets = "SELECT count(*) FROM public.workout_sets WHERE user_id = $1";
    assert_eq!(pipeline.one(sets, &[&other]).await.get::<_, i64>(0), 1);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn claims_that_are_absent_empty_or_malformed_name_nobody() {
    let database = TestDatabase::new().await;
    let user = Uuid::new_v4();
    let client = database.admin().await;
    client.batch_execute("SET ROLE authenticated").await.unwrap();
    assert_eq!(refusal(&client, SAVE, &[&user, &workout()]).await.unwrap().code, FORBIDDEN, "claims never set");
    let quoted = format!("\"{user}\"");
    let in_list = format!("[{{\"sub\": \"{user}\"}}]");
    let nested = format!("{{\"sub\": {{\"sub\": \"{user}\"}}}}");
    let twice = format!("{{\"sub\": \"{user}\"}} {{}}");
    let deep = "[".repeat(100_000);
    let nobody = ["", " ", "null", "{}", "not json", "{\"sub\": null}", &quoted, &in_list, &nested, &twice, &deep];
    for claims in nobody {
        client.execute("SELECT set_config('request.jwt.claims', $1, false)", &[&claims]).await.unwrap();
        let refused = refusal(&client, SAVE, &[&user, &workout()]).await.unwrap();
        assert_eq!(refused.code, FORBIDDEN, "{} {}", &claims[..claims.len().min(60)], refused.text);
    }
}

#[tokio::test]
async fn a_login_role_without_set_role_is_bound_by_its_claims_too() {
    let database = TestDatabase::new().await;
    let (own, other) = (Uuid::new_v4(), Uuid::new_v4());
    let client = database.connect_as("authenticated").await;
    let claims = json!({"sub": own}).to_string();
    client.execute("SELECT set_config('request.jwt.claims', $1, false)", &[&claims]).await.unwrap();
    assert_eq!(refusal(&client, SAVE, &[&own, &workout()]).await, None);
    assert_eq!(refusal(&client, SAVE, &[&other, &workout()]).await.unwrap().code, FORBIDDEN);
}

#[tokio::test]
async fn the_service_role_saves_for_everybody_reads_what_is_published_and_asks_for_refreshes() {
    let mut pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    let client = pipeline.database.admin().await;
    become_role(&client, "service_role", None).await;
    client.query_one(SAVE, &[&user, &workout()]).await.unwrap();
    pipeline.refresh().await;
    let volume = "SELECT total_volume_kg::text FROM public.user_stats_summary WHERE user_id = $1";
    assert_eq!(client.query_one(volume, &[&user]).await.unwrap().get::<_, String>(0), "500");
    let marked: i32 = client.query_one("SELECT public.request_stats_refresh($1)", &[&vec![user]]).await.unwrap().get(0);
    assert_eq!(marked, 1);
    client.query_one("SELECT public.stats_projection_worker_status_v1()", &[]).await.unwrap();
    pipeline.refresh().await;
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_save_without_a_user_is_refused_for_every_role() {
    let database = TestDatabase::new().await;
    let client = database.admin().await;
    for role in ["authenticated", "service_role"] {
        become_role(&client, role, Some(json!({"sub": null}))).await;
        assert_eq!(refusal(&client, SAVE, &[&None::<Uuid>, &workout()]).await.unwrap().code, "22004", "{role}");
    }
}
