//! Reading as each role, and as one who tries for the rows of others.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tidemark_tests::Pipeline;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::refusal::{FORBIDDEN, Refusal, become_role, code_of, refusal};

/// What an application's user may read, all of it or some columns.
const READABLE: [&str; 6] = [
    "public.user_stats_overview",
    "public.user_exercise_stats",
    "public.user_exercise_rep_maxes",
    "public.user_exercise_stats_weekly",
    "public.user_muscle_stats_weekly",
    "public.user_stats_summary",
];
/// Of these it reads some columns only.
const READABLE_IN_PART: [&str; 2] = ["public.training_profiles", "public.user_stats_projection_state"];
const EVENING: &str = "2026-07-19T17:30:00Z";

/// Two users with published figures: one's own and another.
async fn two_users() -> (Pipeline, Uuid, Uuid) {
    let mut pipeline = Pipeline::new().await;
    let (own, other) = (Uuid::new_v4(), Uuid::new_v4());
    pipeline.save(own, EVENING, "Squat", &[(100.0, 5)]).await;
    pipeline.save(other, EVENING, "Secret Press", &[(77.0, 7)]).await;
    pipeline.save(other, EVENING, "Bench Press (Barbell)", &[(77.0, 7)]).await;
    for user in [own, other] {
        pipeline.run("INSERT INTO public.training_profiles (user_id) VALUES ($1)", &[&user]).await;
    }
    pipeline.refresh().await;
    (pipeline, own, other)
}

#[tokio::test]
async fn nothing_is_readable_by_a_user_but_what_is_listed_and_tried_here() {
    let pipeline = Pipeline::new().await;
    let query = "SELECT format('%s.%s', relation.relnamespace::regnamespace, relation.relname)
        FROM pg_class AS relation
        WHERE relation.relkind IN ('r', 'p', 'v', 'm', 'f') AND has_any_column_privilege('authenticated', relation.oid, 'select')
            AND relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
        ORDER BY 1";
    let readable: Vec<String> = pipeline.admin.query(query, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    let mut listed = [&READABLE[..], &READABLE_IN_PART[..]].concat();
    listed.sort_unstable();
    assert_eq!(readable, listed);
}

async fn users_seen(client: &Client, relation: &str) -> Vec<Uuid> {
    let query = format!("SELECT DISTINCT user_id FROM {relation} ORDER BY user_id");
    client.query(&query, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn each_role_sees_the_rows_that_are_meant_for_it() {
    let (pipeline, own, other) = two_users().await;
    let mut both = vec![own, other];
    both.sort();
    let client = pipeline.database.admin().await;
    for relation in READABLE_IN_PART {
        become_role(&client, "authenticated", Some(json!({"sub": own}))).await;
        assert_eq!(users_seen(&client, relation).await, [own], "{relation}");
    }
    for relation in READABLE {
        become_role(&client, "authenticated", Some(json!({"sub": own, "role": "authenticated"}))).await;
        assert_eq!(users_seen(&client, relation).await, [own], "{relation}");
        become_role(&client, "service_role", None).await;
        assert_eq!(users_seen(&client, relation).await, both, "{relation}");
        for role in ["anon", "tidemark_worker"] {
            become_role(&client, role, Some(json!({"sub": own}))).await;
            let read = format!("SELECT * FROM {relation}");
            assert_eq!(code_of(&client, &read).await.as_deref(), Some(FORBIDDEN), "{role} {relation}");
        }
    }
}

#[tokio::test]
async fn a_claim_that_names_nobody_finds_nothing_and_fails_nothing() {
    let (pipeline, own, _other) = two_users().await;
    let client = pipeline.database.connect_as("authenticated").await;
    let upper = json!({"sub": own.to_string().to_uppercase()}).to_string();
    let nested = json!({"sub": {"sub": own}}).to_string();
    let list = json!([{"sub": own}]).to_string();
    let padded = json!({"sub": format!("{own}\n")}).to_string();
    let deep = "[".repeat(100_000);
    let nobody = [
        "",
        "null",
        "not json",
        "{}",
        "{\"sub\": \"' OR true --\"}",
        "{\"sub\": 5}",
        &upper,
        &nested,
        &list,
        &padded,
        &deep,
    ];
    for claims in nobody {
        client.execute("SELECT set_config('request.jwt.claims', $1, false)", &[&claims]).await.unwrap();
        for relation in READABLE {
            assert_eq!(users_seen(&client, relation).await, Vec::<Uuid>::new(), "{}", &claims[..claims.len().min(60)]);
        }
    }
}

#[tokio::test]
async fn the_single_claim_of_older_gateways_is_read_and_two_that_differ_name_nobody() {
    let (pipeline, own, other) = two_users().await;
    let client = pipeline.database.connect_as("authenticated").await;
    let set = "SELECT set_config('request.jwt.claims', $1, false), set_config('request.jwt.claim.sub', $2, false)";
    let claims = json!({"sub": own}).to_string();
    for (claims, single, seen) in [
        ("", own.to_string(), vec![own]),
        (&claims, own.to_string(), vec![own]),
        (&claims, other.to_string(), vec![]),
        ("not json", own.to_string(), vec![]),
    ] {
        client.execute(set, &[&claims, &single]).await.unwrap();
        assert_eq!(users_seen(&client, "public.user_stats_summary").await, seen, "{claims} {single}");
    }
}

/// A connection whose notices are kept.
async fn listening(pipeline: &Pipeline) -> (Client, Arc<Mutex<Vec<String>>>) {
    let (client, mut connection) =
        tokio_postgres::connect(&pipeline.database.url_for("postgres"), tokio_postgres::NoTls).await.unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if let tokio_postgres::AsyncMessage::Notice(notice) = message {
                sink.lock().unwrap().push(notice.message().to_owned());
            }
        }
    });
    (client, heard)
}

#[tokio::test]
async fn a_function_that_tells_of_every_row_it_is_given_is_given_ones_own_only() {
    let (pipeline, own, other) = two_users().await;
    let (client, heard) = listening(&pipeline).await;
    become_role(&client, "authenticated", Some(json!({"sub": own}))).await;
    client
        .batch_execute(
            "CREATE FUNCTION pg_temp.tell(p_row text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$
            BEGIN
                RAISE NOTICE '%', p_row;
                RETURN true;
            END $$;
            CREATE FUNCTION pg_temp.tells(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT pg_temp.tell($1)';
            CREATE OPERATOR pg_temp.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_temp.tells)",
        )
        .await
        .unwrap();
    for relation in READABLE {
        for statement in [
            format!("SELECT * FROM {relation} AS told WHERE pg_temp.tell(told::text)"),
            format!("SELECT * FROM {relation} AS told WHERE told::text OPERATOR(pg_temp.===) ''"),
            format!("SELECT count(*) FROM {relation} AS a JOIN {relation} AS b ON pg_temp.tell(a::text || b::text)"),
        ] {
            client.batch_execute(&statement).await.unwrap();
        }
    }
    // An error that repeats a value is an answer too.
    for statement in [
        "SELECT exercise_name::integer FROM public.user_exercise_stats WHERE exercise_name <> 'Squat'",
        "SELECT 1 / (total_volume_kg - 539)::integer FROM public.user_stats_summary",
    ] {
        assert_eq!(refusal(&client, statement, &[]).await, None, "{statement}");
    }
    let heard = heard.lock().unwrap();
    assert!(heard.iter().any(|line| line.contains(&own.to_string())), "the function was called");
    let other = other.to_string();
    assert!(!heard.iter().any(|line| line.contains(&other) || line.contains("Secret")), "{heard:?}");
}

#[tokio::test]
async fn the_servers_statistics_of_the_tables_are_not_shown_to_who_reads_only_some_rows() {
    let (pipeline, own, _other) = two_users().await;
    pipeline.admin.batch_execute("ANALYZE").await.unwrap();
    let client = pipeline.database.admin().await;
    become_role(&client, "authenticated", Some(json!({"sub": own}))).await;
    let rows =
        client.query("SELECT tablename::text FROM pg_stats WHERE schemaname IN ('public', 'tidemark')", &[]).await;
    assert_eq!(rows.unwrap().len(), 0);
    assert_eq!(code_of(&client, "SELECT * FROM pg_statistic").await.as_deref(), Some(FORBIDDEN));
}

#[tokio::test]
async fn of_the_state_and_the_profile_a_user_reads_the_named_columns_only_and_writes_none() {
    let (pipeline, own, _other) = two_users().await;
    let client = pipeline.database.admin().await;
    become_role(&client, "authenticated", Some(json!({"sub": own}))).await;
    let state = "SELECT requested_generation FROM public.user_stats_projection_state";
    assert_eq!(client.query(state, &[]).await.unwrap().len(), 1);
    for statement in [
        "SELECT requested_at FROM public.user_stats_projection_state",
        "SELECT pending_priority FROM public.user_stats_projection_state",
        "SELECT live_run_id FROM public.user_stats_projection_state",
        "SELECT user_id FROM public.user_stats_projection_state FOR SHARE",
        "UPDATE public.user_stats_projection_state SET applied_generation = 99",
        "UPDATE public.training_profiles SET week_start = 7",
        "DELETE FROM public.user_stats_summary",
        "SELECT tidemark.caller_v1()",
        "SELECT tidemark.stale_since_v1(NULL)",
        "SELECT * FROM tidemark.freshness_v1(NULL, NULL)",
        "CREATE OR REPLACE VIEW public.user_stats_overview AS SELECT 1",
    ] {
        assert_eq!(code_of(&client, statement).await.as_deref(), Some(FORBIDDEN), "{statement}");
    }
}

#[tokio::test]
async fn a_user_waits_for_itself_only() {
    let (pipeline, own, other) = two_users().await;
    let wait = "SELECT outcome FROM public.wait_for_fresh_v1($1, 0)";
    let client = pipeline.database.admin().await;
    become_role(&client, "authenticated", Some(json!({"sub": own}))).await;
    assert_eq!(refusal(&client, wait, &[&own]).await, None);
    for stranger in [other, Uuid::new_v4()] {
        let refused = refusal(&client, wait, &[&stranger]).await.unwrap();
        assert_eq!(refused.code, FORBIDDEN);
        assert!(!refused.text.contains(&stranger.to_string()), "{}", refused.text);
    }
    become_role(&client, "authenticated", None).await;
    assert_eq!(refusal(&client, wait, &[&own]).await.unwrap().code, FORBIDDEN);
    become_role(&client, "service_role", None).await;
    assert_eq!(refusal(&client, wait, &[&other]).await, None);
    become_role(&client, "anon", Some(json!({"sub": own}))).await;
    assert_eq!(refusal(&client, wait, &[&own]).await.unwrap().code, FORBIDDEN);
}

#[tokio::test]
async fn a_prepared_statement_shows_the_rows_of_whoever_runs_it() {
    let (pipeline, own, other) = two_users().await;
    let client = pipeline.database.admin().await;
    become_role(&client, "authenticated", Some(json!({"sub": own}))).await;
    let query = "SELECT user_id FROM public.user_stats_overview ORDER BY user_id";
    let statement = client.prepare(query).await.unwrap();
    let seen =
        async || -> Vec<Uuid> { client.query(&statement, &[]).await.unwrap().iter().map(|row| row.get(0)).collect() };
    // Often enough for the server to keep one plan for all.
    for _turn in 0..7 {
        for user in [own, other] {
            become_role(&client, "authenticated", Some(json!({"sub": user}))).await;
            assert_eq!(seen().await, [user]);
        }
    }
    become_role(&client, "service_role", Some(json!({"sub": own}))).await;
    assert_eq!(seen().await.len(), 2);
    become_role(&client, "authenticated", None).await;
    assert_eq!(seen().await, Vec::<Uuid>::new());
    become_role(&client, "anon", Some(json!({"sub": own}))).await;
    assert_eq!(Refusal::of(&client.query(&statement, &[]).await.unwrap_err()).code, FORBIDDEN);
}

#[tokio::test]
async fn claims_that_were_set_for_a_transaction_end_with_it() {
    let (pipeline, own, _other) = two_users().await;
    // As behind a pooler that gives the session to somebody else after each transaction.
    let client = pipeline.database.connect_as("authenticated").await;
    let claims = json!({"sub": own}).to_string();
    for end in ["COMMIT", "ROLLBACK"] {
        client.batch_execute("BEGIN").await.unwrap();
        client.execute("SELECT set_config('request.jwt.claims', $1, true)", &[&claims]).await.unwrap();
        assert_eq!(users_seen(&client, "public.user_stats_overview").await, [own]);
        client.batch_execute(end).await.unwrap();
        assert_eq!(users_seen(&client, "public.user_stats_overview").await, Vec::<Uuid>::new(), "{end}");
        let refused = refusal(&client, "SELECT public.wait_for_fresh_v1($1, 0)", &[&own]).await.unwrap();
        assert_eq!(refused.code, FORBIDDEN, "{end}");
    }
}

#[tokio::test]
async fn the_policies_cannot_be_switched_off_by_who_reads() {
    let (pipeline, own, _other) = two_users().await;
    let client = pipeline.database.admin().await;
    become_role(&client, "authenticated", Some(json!({"sub": own}))).await;
    client.batch_execute("SET row_security = off").await.unwrap();
    for relation in READABLE {
        let read = format!("SELECT user_id FROM {relation}");
        assert_eq!(code_of(&client, &read).await.as_deref(), Some(FORBIDDEN), "{relation}");
    }
    for statement in [
        "ALTER TABLE public.user_stats_summary DISABLE ROW LEVEL SECURITY",
        "DROP POLICY own_user_reads ON public.user_stats_summary",
        "CREATE POLICY mine ON public.user_stats_summary USING (true)",
        "ALTER VIEW public.user_stats_overview SET (security_invoker = false)",
        "ALTER ROLE authenticated SET request.jwt.claims = '{}'",
    ] {
        assert_eq!(code_of(&client, statement).await.as_deref(), Some(FORBIDDEN), "{statement}");
    }
}

#[tokio::test]
async fn every_view_for_applications_reads_with_the_rights_of_who_asks() {
    let pipeline = Pipeline::new().await;
    let query = "SELECT relation.oid::regclass::text FROM pg_class AS relation
        WHERE relation.relkind IN ('v', 'm') AND relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
            AND has_any_column_privilege('authenticated', relation.oid, 'select')
            AND NOT coalesce('security_invoker=true' = ANY (relation.reloptions), false)";
    assert!(pipeline.admin.query(query, &[]).await.unwrap().is_empty());
}
