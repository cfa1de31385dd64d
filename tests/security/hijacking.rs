//! Objects of the caller's own making are not taken for ours: neither temporary ones nor those of a schema in its path.

use serde_json::json;
use tidemark_tests::Pipeline;
use tokio_postgres::Client;
use tokio_postgres::types::Json;
use uuid::Uuid;

use crate::refusal::{become_role, refusal};

/// SQLSTATE that every trap raises.
const CAUGHT: &str = "HJ001";

/// A schema with namesakes of what our functions call. Whoever puts it first in the path and is asked for one of them
/// raises [`CAUGHT`].
const TRAPS: &str = "
    CREATE SCHEMA traps;
    GRANT USAGE ON SCHEMA traps TO PUBLIC;
    CREATE FUNCTION traps.caught() RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'caught as %', current_user USING ERRCODE = 'HJ001';
    END $$;
    CREATE FUNCTION traps.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz WHERE traps.caught()';
    CREATE FUNCTION traps.jsonb_typeof(jsonb) RETURNS text LANGUAGE sql AS 'SELECT NULL::text WHERE traps.caught()';
    CREATE FUNCTION traps.length(text) RETURNS integer LANGUAGE sql AS 'SELECT NULL::integer WHERE traps.caught()';
    CREATE FUNCTION traps.gen_random_uuid() RETURNS uuid LANGUAGE sql AS 'SELECT NULL::uuid WHERE traps.caught()';
    CREATE FUNCTION traps.current_setting(text, boolean) RETURNS text LANGUAGE sql AS 'SELECT NULL::text WHERE traps.caught()';
    CREATE FUNCTION traps.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS 'SELECT NULL::text WHERE traps.caught()';
    CREATE FUNCTION traps.nextval(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT NULL::bigint WHERE traps.caught()';
    CREATE FUNCTION traps.make_interval(secs double precision) RETURNS interval LANGUAGE sql
        AS 'SELECT NULL::interval WHERE traps.caught()';
    CREATE FUNCTION traps.\"left\"(text, integer) RETURNS text LANGUAGE sql AS 'SELECT NULL::text WHERE traps.caught()';
    CREATE FUNCTION traps.taken(jsonb, text) RETURNS text LANGUAGE sql AS 'SELECT NULL::text WHERE traps.caught()';
    CREATE OPERATOR traps.->> (LEFTARG = jsonb, RIGHTARG = text, FUNCTION = traps.taken);
    CREATE FUNCTION traps.younger(timestamptz, timestamptz) RETURNS boolean LANGUAGE sql AS 'SELECT traps.caught()';
    CREATE OPERATOR traps.<= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = traps.younger);
    CREATE OPERATOR traps.> (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = traps.younger);
    CREATE FUNCTION traps.same(uuid, uuid) RETURNS boolean LANGUAGE sql AS 'SELECT traps.caught()';
    CREATE OPERATOR traps.= (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = traps.same);
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA traps TO PUBLIC";

/// Temporary namesakes of every relation of ours and of the catalogue's that we read, as views that spring the trap. The
/// column is the one that `tidemark.check_time_zone` would look for.
const TEMPORARY_NAMESAKES: &str = "
    SELECT string_agg(DISTINCT format(
        'CREATE TEMPORARY VIEW %1$I AS SELECT ''Mars/Olympus'' AS name WHERE traps.caught();
        GRANT ALL ON pg_temp.%1$I TO PUBLIC', relation.relname), '; ')
    FROM pg_catalog.pg_class AS relation
    WHERE relation.relkind IN ('r', 'v')
        AND (relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
            OR relation.relname IN ('pg_timezone_names', 'pg_roles', 'pg_class', 'pg_proc'))";

/// Temporary types that are named like those to which our functions cast.
const TEMPORARY_TYPES: &str = "
    CREATE DOMAIN pg_temp.uuid AS pg_catalog.text CHECK (traps.caught());
    CREATE DOMAIN pg_temp.jsonb AS pg_catalog.text CHECK (traps.caught());
    CREATE DOMAIN pg_temp.timestamptz AS pg_catalog.text CHECK (traps.caught());
    CREATE DOMAIN pg_temp.date AS pg_catalog.text CHECK (traps.caught());
    CREATE DOMAIN pg_temp.text AS pg_catalog.varchar CHECK (traps.caught())";

/// Puts the traps before everything else in the client's session.
async fn set_traps(client: &Client, namesakes: &str) {
    client.batch_execute(namesakes).await.unwrap();
    client.batch_execute(TEMPORARY_TYPES).await.unwrap();
    client.batch_execute("SET search_path = pg_temp, traps, pg_catalog, public").await.unwrap();
    let sprung = refusal(client, "SELECT FROM workouts", &[]).await.unwrap();
    assert_eq!(sprung.code, CAUGHT, "the trap itself works");
}

struct Attack {
    pipeline: Pipeline,
    namesakes: String,
}

impl Attack {
    async fn new() -> Self {
        let pipeline = Pipeline::new().await;
        pipeline.admin.batch_execute(TRAPS).await.unwrap();
        let namesakes = pipeline.one(TEMPORARY_NAMESAKES, &[]).await.get(0);
        Self { pipeline, namesakes }
    }

    /// A session of an authenticated user with the traps set.
    async fn user(&self, user: Uuid) -> Client {
        self.session("authenticated", user).await
    }

    async fn session(&self, role: &str, user: Uuid) -> Client {
        let client = self.pipeline.database.admin().await;
        become_role(&client, role, Some(json!({"sub": user}))).await;
        set_traps(&client, &self.namesakes).await;
        client
    }
}

fn workout() -> Json<serde_json::Value> {
    Json(json!({
        "started_at": "2026-07-19T17:30:00Z", "time_zone": "Europe/Berlin", "duration_seconds": 60,
        "sets": [{"exercise": "Squat", "weight": 100, "reps": 5, "rpe": 8}]
    }))
}

#[tokio::test]
async fn what_an_authenticated_user_can_call_takes_nothing_of_the_callers_for_its_own() {
    let attack = Attack::new().await;
    let user = Uuid::new_v4();
    let client = attack.user(user).await;
    let save = "SELECT public.save_workout_v1($1, $2)";
    let saved: Json<serde_json::Value> = client.query_one(save, &[&user, &workout()]).await.unwrap().get(0);
    let id: Uuid = saved.0["workout_id"].as_str().unwrap().parse().unwrap();
    client.query_one("SELECT public.edit_workout_v1($1, $2, $3)", &[&user, &id, &workout()]).await.unwrap();
    let stored = "SELECT count(*) FROM public.workout_sets WHERE user_id = $1";
    assert_eq!(attack.pipeline.one(stored, &[&user]).await.get::<_, i64>(0), 1);
    let overview = "SELECT streak_weeks::pg_catalog.int4 FROM public.user_stats_overview";
    assert_eq!(client.query(overview, &[]).await.unwrap().len(), 1);
    let wait = "SELECT outcome::pg_catalog.text FROM public.wait_for_fresh_v1($1, 0)";
    assert_eq!(client.query_one(wait, &[&user]).await.unwrap().get::<_, String>(0), "timeout");
    client.query_one("SELECT public.delete_workout_v1($1, $2)", &[&user, &id]).await.unwrap();
    assert_eq!(attack.pipeline.one(stored, &[&user]).await.get::<_, i64>(0), 0);
    // Not a way to save for others either.
    let other = refusal(&client, save, &[&Uuid::new_v4(), &workout()]).await.unwrap();
    assert_eq!(other.code, crate::refusal::FORBIDDEN);
    attack.pipeline.check_invariants().await;
}

#[tokio::test]
async fn what_the_service_role_can_call_takes_nothing_of_the_callers_for_its_own() {
    let attack = Attack::new().await;
    let user = Uuid::new_v4();
    let client = attack.session("service_role", user).await;
    let imported = Json(json!([{
        "id": Uuid::new_v4(), "local_start": "2026-07-19 17:30:00", "title": "", "notes": "",
        "sets": [{"position": 0, "exercise": "Squat", "kind": "normal", "weight": 1, "unit": "kg", "reps": 1}]
    }]));
    let import = "SELECT FROM tidemark.import_workouts_v1($1, 'strong', 'Asia/Seoul', $2)";
    assert_eq!(client.query(import, &[&user, &imported]).await.unwrap().len(), 1);
    let refresh = "SELECT public.request_stats_refresh($1, true)::pg_catalog.int4";
    assert_eq!(client.query_one(refresh, &[&vec![user]]).await.unwrap().get::<_, i32>(0), 1);
    client.query_one("SELECT public.stats_projection_worker_status_v1()", &[]).await.unwrap();
    attack.pipeline.check_invariants().await;
}

#[tokio::test]
async fn what_the_worker_can_call_takes_nothing_of_the_callers_for_its_own() {
    let attack = Attack::new().await;
    let pipeline = &attack.pipeline;
    let user = Uuid::new_v4();
    pipeline.save(user, "2026-07-19T17:30:00Z", "Squat", &[(100.0, 5)]).await;
    let worker = pipeline.database.worker().await;
    set_traps(&worker, &attack.namesakes).await;
    // One statement each, in the order in which a refresh sends them; types are written out because the path is poisoned.
    let one =
        async |query: &str| worker.query_one(query, &[]).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
    one("SELECT * FROM tidemark.schema_version_v1()").await;
    one("SELECT tidemark.begin_step_v1('claim', 1000)").await;
    let claimed = one("SELECT outcome FROM tidemark.claim_v1(pg_catalog.gen_random_uuid(), pg_catalog.now())").await;
    assert_eq!(claimed.get::<_, String>(0), "worked");
    let run = one("SELECT run_id::pg_catalog.int8, attempt::pg_catalog.int4, lease_token::pg_catalog.text, user_id::pg_catalog.text
        FROM tidemark.compute_take_v1(pg_catalog.gen_random_uuid())").await;
    let fence = format!("{}, {}, '{}'", run.get::<_, i64>(0), run.get::<_, i32>(1), run.get::<_, String>(2));
    assert_eq!(run.get::<_, String>(3), user.to_string());
    assert!(one(&format!("SELECT tidemark.compute_hold_v1({fence})")).await.get::<_, bool>(0));
    for reading in ["profile_v1", "exercises_v1", "workouts_v1", "sets_v1", "bodyweights_v1"] {
        worker.query(&format!("SELECT * FROM tidemark.source_{reading}('{user}')"), &[]).await.unwrap();
    }
    one(&format!("SELECT * FROM tidemark.source_dirty_v1('{user}', 1)")).await;
    let summary = json!({
        "workouts": 1, "training_days": 1, "exercises": 0, "sets": 0, "working_set_rows": 0, "reps": 0, "total_reps": 0,
        "total_volume_kg": "0", "working_volume_kg": "0", "effective_volume_kg": "0", "last_streak_weeks": 0,
        "longest_streak_weeks": 0, "monthly": []
    });
    let document = json!({"exercise_ids": null, "exercises": [], "rep_maxes": [], "weekly": [], "muscles": {}, "summary": summary});
    assert!(one(&format!("SELECT tidemark.compute_stage_v1({fence}, 1, 1, '{document}')")).await.get::<_, bool>(0));
    one("SELECT outcome FROM tidemark.publish_take_v1(pg_catalog.gen_random_uuid())").await;
    let published = one(&format!("SELECT outcome FROM tidemark.publish_v1({fence})")).await;
    assert_eq!(published.get::<_, String>(0), "published");
    assert_eq!(one(&format!("SELECT tidemark.run_phase_v1({fence})")).await.get::<_, String>(0), "published");
    assert_eq!(one(&format!("SELECT tidemark.run_fail_v1({fence}, 'made_up', '')")).await.get::<_, String>(0), "lost");
    one("SELECT tidemark.tick_end_v1('claim', 'worked')").await;
    one("SELECT public.stats_projection_worker_status_v1()").await;
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn without_its_own_search_path_a_function_would_be_taken_in() {
    let attack = Attack::new().await;
    let user = Uuid::new_v4();
    // The setting goes from one function only; the attack of the tests above then succeeds.
    let statement = "ALTER FUNCTION public.save_workout_v1(uuid, jsonb) RESET search_path";
    attack.pipeline.admin.batch_execute(statement).await.unwrap();
    let client = attack.user(user).await;
    let caught = refusal(&client, "SELECT public.save_workout_v1($1, $2)", &[&user, &workout()]).await.unwrap();
    assert_eq!(caught.code, CAUGHT);
    assert!(caught.text.contains("caught as tidemark_owner"), "{}", caught.text);
}

#[tokio::test]
async fn with_the_temporary_schema_first_in_its_path_a_function_would_be_taken_in() {
    let attack = Attack::new().await;
    let user = Uuid::new_v4();
    // Leaving pg_temp out of a path puts it first.
    let statement = "ALTER FUNCTION tidemark.check_time_zone(text) SET search_path = pg_catalog";
    attack.pipeline.admin.batch_execute(statement).await.unwrap();
    let client = attack.user(user).await;
    let mut elsewhere = workout();
    elsewhere.0["time_zone"] = json!("Mars/Olympus");
    let caught = refusal(&client, "SELECT public.save_workout_v1($1, $2)", &[&user, &elsewhere]).await.unwrap();
    assert_eq!(caught.code, CAUGHT, "{}", caught.text);
}
