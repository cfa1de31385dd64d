//! Faults that other queues had and that concern no single rule of ours.

use std::time::Duration;

use tidemark_queue::jobs::{self, NewJob};
use tidemark_queue::{Connection, Outcome};
use tidemark_testkit::{ChaosProxy, Fault};
use tidemark_tests::Pipeline;
use tidemark_tests::jobs::{Queue, plain};
use tidemark_tests::pages::least_pages_touched;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::{EVENING, saved_user};

const CLAIM_OF_TEN: &str = "SELECT * FROM tidemark.jobs_claim_v1(gen_random_uuid(), 10, NULL, 30, NULL)";

#[tokio::test]
async fn b18_asking_again_and_again_never_puts_off_what_was_asked_for() {
    let mut queue = Queue::new().await;
    let asked_for = queue.enqueue(plain().dedupe_key("statement")).await;
    let due = "SELECT run_after::text FROM public.jobs WHERE job_id = $1";
    let before: String = queue.pipeline.one(due, &[&asked_for]).await.get(0);
    for _ in 0..50 {
        let later = plain().dedupe_key("statement").delay(Duration::from_secs(3_600));
        assert_eq!(jobs::enqueue(&queue.worker, &later).await.unwrap().job_id, asked_for);
    }
    assert_eq!(queue.pipeline.one(due, &[&asked_for]).await.get::<_, String>(0), before);
    assert_eq!(queue.claim_one().await.fence.job_id, asked_for);

    let (user, other) = (saved_user(&queue.pipeline).await, saved_user(&queue.pipeline).await);
    for _ in 0..50 {
        queue.pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    }
    queue.pipeline.set("max_active", "1").await;
    queue.pipeline.claim().await;
    let first = "SELECT user_id FROM public.user_stats_projection_runs";
    assert_eq!(queue.pipeline.one(first, &[]).await.get::<_, Uuid>(0), user, "not {other}, who asked later and once");
    queue.check_invariants().await;
}

#[tokio::test]
async fn b23_a_large_backlog_of_one_key_does_not_change_what_a_claim_reads_whatever_the_statistics_say() {
    let queue = Queue::new().await;
    let busy: Vec<NewJob> = (0..100).map(|number| plain().group_key(format!("busy {number}"))).collect();
    jobs::enqueue_many(&queue.worker, &busy).await.unwrap();
    queue.pipeline.admin.batch_execute("ANALYZE").await.unwrap();
    assert_eq!(queue.claim(10).await.len(), 10);
    let few = least_pages_touched(&queue.pipeline.database.worker().await, CLAIM_OF_TEN).await;

    for _ in 0..12 {
        jobs::enqueue_many(&queue.worker, &vec![plain().group_key("backlog"); 1_000]).await.unwrap();
    }
    // What has just become due is sorted into its groups once, 5,000 rows in a claim: claims that are rolled back would do it each time.
    for _ in 0..3 {
        assert_eq!(queue.claim(10).await.len(), 10);
    }
    until_everything_older_has_ended(&queue.pipeline.admin).await;
    // The session's plans were made when there was next to nothing, and so were the statistics.
    let old_plans = least_pages_touched(&queue.worker, CLAIM_OF_TEN).await;
    let stale = least_pages_touched(&queue.pipeline.database.worker().await, CLAIM_OF_TEN).await;
    queue.pipeline.admin.batch_execute("VACUUM ANALYZE").await.unwrap();
    let fresh = least_pages_touched(&queue.pipeline.database.worker().await, CLAIM_OF_TEN).await;
    // The trees of the indexes are one or two levels higher.
    let bound = few + 200;
    assert!(old_plans <= bound && stale <= bound && fresh <= bound, "{few} became {old_plans}, {stale}, {fresh}");
    queue.check_invariants().await;
}

#[tokio::test]
async fn b50_b51_b52_nothing_is_prepared_listened_to_or_set_beyond_its_transaction() {
    let mut queue = Queue::new().await;
    let mut worker = queue.pipeline.worker();
    let user = saved_user(&queue.pipeline).await;
    let settings = "SELECT json_agg(json_build_array(name, setting) ORDER BY name)::text FROM pg_catalog.pg_settings
        WHERE source IN ('session', 'client') AND name <> 'application_name'";
    let before = text(worker.client().await.unwrap(), settings).await;

    let invocation = tidemark_tests::invocation();
    tidemark_queue::claim::handle(&mut worker, &invocation).await;
    tidemark_projection::compute::handle(&mut worker, &invocation).await;
    tidemark_projection::publish::handle(&mut worker, &invocation).await;
    assert!(queue.pipeline.generations(user).await.1 > 0, "it was published by this session");
    let client = worker.client().await.unwrap();
    jobs::enqueue_many(client, &vec![plain(); 3]).await.unwrap();
    let claimed = jobs::claim(client, &jobs::ClaimRequest::new(uuid::Uuid::new_v4(), 3)).await.unwrap();
    assert_eq!(claimed.len(), 3);

    assert_eq!(text(client, "SELECT count(*) FROM pg_catalog.pg_prepared_statements").await, "0");
    assert_eq!(text(client, "SELECT count(*) FROM pg_catalog.pg_listening_channels()").await, "0");
    assert_eq!(text(client, settings).await, before);
    queue.pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    queue.pipeline.refresh().await;
    queue.check_invariants().await;
}

/// The one value that `query` answers with.
/// Waits for the transactions of the whole server that are under way: rows that died meanwhile are looked at until these have ended,
/// and other tests share the server.
async fn until_everything_older_has_ended(client: &Client) {
    let now = text(client, "SELECT pg_current_xact_id()::text").await;
    let ended = "SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::text::xid8";
    tidemark_tests::until_true(client, ended, &[&now]).await;
}

async fn text(client: &Client, query: &str) -> String {
    let answer = client.simple_query(query).await.unwrap();
    let row = answer.iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    row.expect("a row").get(0).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn b47_a_begin_that_was_cancelled_leaves_no_session_behind_in_a_transaction() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let proxy = ChaosProxy::start(&pipeline.database.url_for("tidemark_worker"));
    let mut worker = Connection::new(proxy.connector());
    worker.client().await.unwrap();
    proxy.inject(Fault::Delay(Duration::from_secs(1)));
    let cancelled = worker.run(Duration::from_millis(1), async |client| Ok(client.batch_execute("BEGIN").await?)).await;
    assert!(cancelled.is_err());
    assert!(!worker.is_open(), "nobody asks in a transaction that nobody knows of");

    proxy.inject(Fault::None);
    let summary = tidemark_queue::claim::handle(&mut worker, &tidemark_tests::invocation()).await;
    assert_eq!((summary.outcome, summary.succeeded), (Outcome::Worked, 1));
    assert_eq!(pipeline.jobs(user).await.len(), 1, "seen by others, so it was committed");
    let left = "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity
        WHERE datname = current_database() AND usename = 'tidemark_worker' AND state LIKE 'idle in transaction%')";
    tidemark_tests::until_true(&pipeline.admin, left, &[]).await;
}

#[tokio::test]
async fn b58_a_session_whose_server_became_read_only_is_thrown_away_and_the_next_tick_opens_another() {
    let pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    let mut worker = pipeline.worker();
    worker.client().await.unwrap();
    let definition: String = pipeline
        .one("SELECT pg_get_functiondef('tidemark.begin_step_v1(text, integer)'::regprocedure)", &[])
        .await
        .get(0);
    // What a demoted server answers to the first statement that writes.
    let demoted = "CREATE OR REPLACE FUNCTION tidemark.begin_step_v1(p_function text, p_limit_ms integer DEFAULT NULL) RETURNS integer
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
        BEGIN RAISE EXCEPTION 'read-only' USING ERRCODE = 'read_only_sql_transaction'; END $$";
    pipeline.admin.batch_execute(demoted).await.unwrap();
    let summary = tidemark_queue::claim::handle(&mut worker, &tidemark_tests::invocation()).await;
    assert_eq!((summary.outcome, summary.error_code.as_deref()), (Outcome::Unavailable, Some("25006")));
    assert!(!worker.is_open(), "nobody asks the same server again");

    pipeline.admin.batch_execute(&definition).await.unwrap();
    let summary = tidemark_queue::claim::handle(&mut worker, &tidemark_tests::invocation()).await;
    assert_eq!((summary.outcome, summary.succeeded), (Outcome::Worked, 1));
    assert_eq!(pipeline.jobs(user).await.len(), 1);
    pipeline.check_invariants().await;
}
