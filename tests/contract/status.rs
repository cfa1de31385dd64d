//! The status document: its keys, and counts that are exact.

use serde_json::{Value, json};
use tidemark_status::Document;
use tidemark_tests::Pipeline;
use tidemark_tests::pages::pages_touched;
use tokio_postgres::types::Json;
use uuid::Uuid;

use crate::{EVENING, saved_user};

async fn status(pipeline: &Pipeline) -> Value {
    pipeline.one("SELECT public.stats_projection_worker_status_v1()", &[]).await.get::<_, Json<Value>>(0).0
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("it is an object").keys().map(String::as_str).collect()
}

#[tokio::test]
async fn the_document_has_exactly_the_agreed_keys() {
    let pipeline = Pipeline::new().await;
    let status = status(&pipeline).await;
    let top = [
        "as_of",
        "definition_version",
        "jobs",
        "last_hour",
        "leases",
        "queue",
        "rebuild",
        "settings",
        "stale_users",
        "ticks",
    ];
    assert_eq!(keys(&status), top);
    let queue = ["exhausted_failed_jobs", "oldest_pending_seconds", "pending_jobs", "pending_users"];
    assert_eq!(keys(&status["queue"]), queue);
    assert_eq!(keys(&status["leases"]), ["active", "active_list", "backoff_waiting", "expired_unrecovered"]);
    let hour = [
        "completed",
        "compute_ms_max",
        "compute_ms_p95",
        "failed",
        "failed_by_code",
        "publish_ms_max",
        "publish_ms_p95",
    ];
    assert_eq!(keys(&status["last_hour"]), hour);
    let jobs = [
        "cancelled",
        "dead",
        "dead_last_hour",
        "deadline_exceeded_last_hour",
        "done",
        "exact",
        "expired_unrecovered",
        "leases",
        "oldest_pending_seconds",
        "open_alerts",
        "pending",
        "running",
        "scheduled",
        "stuck",
    ];
    assert_eq!(keys(&status["jobs"]), jobs);
    assert_eq!(keys(&status["ticks"]), ["claim", "compute", "publish", "work"]);
    assert_eq!(keys(&status["ticks"]["claim"]), ["age_seconds", "last_end", "last_outcome", "last_start", "paused"]);
}

#[tokio::test]
async fn the_settings_of_the_document_are_the_row() {
    let pipeline = Pipeline::new().await;
    pipeline.set("max_active", "9").await;
    let row: Json<Value> = pipeline
        .one("SELECT to_jsonb(settings) FROM public.stats_projection_worker_settings AS settings", &[])
        .await
        .get(0);
    assert_eq!(status(&pipeline).await["settings"], row.0);
    assert_eq!(row.0["max_active"], 9);
}

#[tokio::test]
async fn with_nothing_in_the_pipeline_every_count_is_zero() {
    let pipeline = Pipeline::new().await;
    let status = status(&pipeline).await;
    let queue =
        json!({"pending_users": 0, "pending_jobs": 0, "oldest_pending_seconds": null, "exhausted_failed_jobs": 0});
    assert_eq!(status["queue"], queue);
    assert_eq!(status["stale_users"], 0);
    let leases = json!({"active": 0, "expired_unrecovered": 0, "backoff_waiting": 0, "active_list": []});
    assert_eq!(status["leases"], leases);
    let hour = json!({
        "completed": 0, "failed": 0, "failed_by_code": {}, "compute_ms_p95": null, "compute_ms_max": null,
        "publish_ms_p95": null, "publish_ms_max": null
    });
    assert_eq!(status["last_hour"], hour);
    assert_eq!(
        status["ticks"]["claim"],
        json!({"last_start": null, "last_end": null, "last_outcome": "", "age_seconds": null, "paused": null})
    );
}

#[tokio::test]
async fn with_many_users_in_every_state_every_count_is_exact() {
    let mut pipeline = Pipeline::new().await;
    pipeline.set("max_attempts", "1").await;
    pipeline.set("max_active", "7").await;
    // Seven who are up to date, two of whom have used up their attempts since.
    let mut users = Vec::new();
    for _ in 0..7 {
        users.push(saved_user(&pipeline).await);
    }
    pipeline.refresh().await;
    for user in &users[..2] {
        pipeline.save(*user, EVENING, "Squat", &[(100.0, 5)]).await;
        pipeline.claim().await;
        pipeline.fail(*user, "23503").await;
    }
    // Three in backoff.
    pipeline.set("max_attempts", "3").await;
    for user in &users[2..5] {
        pipeline.save(*user, EVENING, "Squat", &[(100.0, 5)]).await;
        pipeline.claim().await;
        pipeline.fail(*user, "57014").await;
    }
    // Two live leases, one of which has expired; then four who wait with two jobs each.
    pipeline.set("max_active", "2").await;
    for user in &users[5..7] {
        pipeline.save(*user, EVENING, "Squat", &[(100.0, 5)]).await;
    }
    pipeline.claim().await;
    pipeline.expire(users[6]).await;
    for _ in 0..4 {
        let user = saved_user(&pipeline).await;
        pipeline.save(user, EVENING, "Squat", &[(100.0, 5)]).await;
    }
    pipeline
        .run("UPDATE public.user_exercise_stats_refresh_jobs SET created_at = created_at - interval '90 seconds'", &[])
        .await;

    let status = status(&pipeline).await;
    let queue = &status["queue"];
    assert_eq!((&queue["pending_users"], &queue["pending_jobs"]), (&json!(3 + 4), &json!(3 + 8)));
    assert_eq!(queue["exhausted_failed_jobs"], 2);
    assert!((90..120).contains(&queue["oldest_pending_seconds"].as_i64().unwrap()));
    assert_eq!(status["stale_users"], 2 + 3 + 2 + 4);
    let leases = &status["leases"];
    assert_eq!((&leases["active"], &leases["expired_unrecovered"]), (&json!(1), &json!(1)));
    assert_eq!(leases["backoff_waiting"], 3);
    let listed = leases["active_list"].as_array().unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!((&listed[0]["user_id"], &listed[0]["expired"]), (&json!(users[5]), &json!(false)));
    assert_eq!((&listed[1]["user_id"], &listed[1]["expired"]), (&json!(users[6]), &json!(true)));
    assert_eq!(status["last_hour"]["completed"], 7);
    assert_eq!(status["last_hour"]["failed"], 5);
    assert_eq!(status["last_hour"]["failed_by_code"], json!({"23503": 2, "57014": 3}));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_tally_stays_exact_while_it_is_folded() {
    let mut pipeline = Pipeline::new().await;
    for _ in 0..3 {
        saved_user(&pipeline).await;
    }
    let rows = "SELECT count(*) FROM tidemark.queue_tally";
    assert!(pipeline.one(rows, &[]).await.get::<_, i64>(0) > 3);
    pipeline.claim().await;
    let folded: i64 = pipeline.one(rows, &[]).await.get(0);
    assert!(folded <= 6, "one row, and what the claim itself changed: {folded}");
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_last_hour_has_the_percentile_the_maximum_and_nothing_older() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.refresh().await;
    let runs = "INSERT INTO public.user_stats_projection_runs
            (user_id, job_id, attempt, generation, phase, lease_expires_at, published_at, compute_ms, publish_ms)
        SELECT user_id, job_id, attempt, -number, 'published', lease_expires_at,
            CASE WHEN number <= 100 THEN published_at ELSE published_at - interval '61 minutes' END, number * 10, number
        FROM public.user_stats_projection_runs, generate_series(1, 200) AS number WHERE user_id = $1";
    pipeline.run(runs, &[&user]).await;
    pipeline.run("DELETE FROM public.user_stats_projection_runs WHERE generation > 0", &[]).await;
    let hour = status(&pipeline).await["last_hour"].clone();
    let expected = json!({
        "completed": 100, "failed": 0, "failed_by_code": {}, "compute_ms_p95": 950, "compute_ms_max": 1000,
        "publish_ms_p95": 95, "publish_ms_max": 100
    });
    assert_eq!(hour, expected);
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_ticks_say_when_each_function_began_and_ended_last_and_how() {
    let mut pipeline = Pipeline::new().await;
    saved_user(&pipeline).await;
    pipeline.claim().await;
    pipeline.compute().await;
    pipeline.run("UPDATE tidemark.ticks SET last_started_at = last_started_at - interval '42 seconds'", &[]).await;
    let ticks = status(&pipeline).await["ticks"].clone();
    for function in ["claim", "compute"] {
        assert_eq!(ticks[function]["last_outcome"], "worked");
        assert!((42..60).contains(&ticks[function]["age_seconds"].as_i64().unwrap()), "{ticks}");
        assert!(ticks[function]["last_end"].is_string());
    }
    assert!(ticks["publish"]["last_start"].is_null());
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn the_cost_of_the_last_hour_does_not_grow_with_the_history() {
    let mut pipeline = Pipeline::new().await;
    let user = saved_user(&pipeline).await;
    pipeline.refresh().await;
    let last_hour = "SELECT tidemark.status_last_hour()";
    let history = "SET session_replication_role = replica;
        INSERT INTO public.user_stats_projection_runs
            (user_id, job_id, attempt, generation, phase, lease_expires_at, published_at, failed_at, compute_ms, publish_ms)
        SELECT user_id, job_id, 1, -number, CASE WHEN number % 2 = 0 THEN 'published' ELSE 'failed' END, lease_expires_at,
            published_at - interval '2 hours', published_at - interval '2 hours', 1, 1
        FROM public.user_stats_projection_runs, generate_series(1, 50000) AS number;
        RESET session_replication_role;
        VACUUM ANALYZE public.user_stats_projection_runs";
    for statement in history.split(';') {
        pipeline.admin.batch_execute(statement).await.unwrap();
    }
    pipeline.one(last_hour, &[]).await;
    let pages = pages_touched(&pipeline.admin, last_hour).await;
    assert!(pages < 50, "{pages} pages for one published run of {user}");
    pipeline.check_invariants().await;
}

/// Enqueues so many jobs of a type.
async fn enqueue(pipeline: &Pipeline, job_type: i32, number: i32) {
    let enqueue = "SELECT public.enqueue_job($1) FROM generate_series(1, $2)";
    pipeline.admin.execute(enqueue, &[&job_type, &number]).await.unwrap();
}

/// A worker takes so many jobs of a type and ends them so; with no outcome they stay in its hands.
async fn claim_jobs(pipeline: &Pipeline, job_type: i32, number: i32, outcome: Option<(&str, &str)>) {
    let worker = Uuid::new_v4();
    let claim = "SELECT FROM tidemark.jobs_claim_v1($1, $2, ARRAY[$3::integer])";
    assert_eq!(pipeline.run(claim, &[&worker, &number, &job_type]).await, u64::try_from(number).unwrap());
    let Some((outcome, code)) = outcome else { return };
    let end = "SELECT tidemark.jobs_end_v1($1, ARRAY[lease.lease_id], ARRAY[member.job_id], ARRAY[member.attempts::integer], ARRAY[$2],
            NULL, ARRAY[$3])
        FROM tidemark.job_lease AS lease CROSS JOIN LATERAL unnest(lease.job_ids, lease.attempts) AS member (job_id, attempts)
        WHERE lease.worker_id = $1";
    pipeline.run(end, &[&worker, &outcome, &code]).await;
}

#[tokio::test]
async fn with_jobs_in_every_state_every_count_of_jobs_is_exact() {
    let pipeline = Pipeline::new().await;
    enqueue(&pipeline, 11, 5).await;
    claim_jobs(&pipeline, 11, 5, Some(("done", ""))).await;
    enqueue(&pipeline, 12, 4).await;
    claim_jobs(&pipeline, 12, 1, Some(("dead", "deadline_exceeded"))).await;
    claim_jobs(&pipeline, 12, 3, Some(("dead", "broken"))).await;
    enqueue(&pipeline, 13, 2).await;
    pipeline.run("SELECT tidemark.job_cancel_v1(job_id) FROM public.jobs WHERE job_type = 13", &[]).await;
    enqueue(&pipeline, 14, 7).await;
    claim_jobs(&pipeline, 14, 3, None).await;
    claim_jobs(&pipeline, 14, 4, None).await;
    let expire = "UPDATE tidemark.job_lease SET lease_until = clock_timestamp() - interval '1 second' WHERE cardinality(job_ids) = 4";
    pipeline.run(expire, &[]).await;
    enqueue(&pipeline, 15, 6).await;
    pipeline.run("UPDATE tidemark.job_ready SET waiting_since = waiting_since - interval '90 seconds'", &[]).await;
    pipeline.run("SELECT public.enqueue_job(16, delay_seconds => 600) FROM generate_series(1, 8)", &[]).await;

    let mut jobs = status(&pipeline).await["jobs"].take();
    let oldest = jobs.as_object_mut().unwrap().remove("oldest_pending_seconds").unwrap();
    assert!((90..120).contains(&oldest.as_i64().unwrap()), "{oldest}");
    let expected = json!({"pending": 14, "scheduled": 8, "running": 7, "done": 5, "dead": 6, "cancelled": 2, "exact": true,
        "dead_last_hour": 6, "deadline_exceeded_last_hour": 1, "stuck": 4, "leases": 1, "expired_unrecovered": 1,
        "open_alerts": 1});
    assert_eq!(jobs, expected, "one alert: type 12 died; cancelled jobs are no trouble");
    let document = Document::from_value(&status(&pipeline).await).expect("the typed form knows every figure");
    assert_eq!(document.jobs.expect("the queue is installed").dead_of_themselves(), 4);
}

#[tokio::test]
async fn a_job_that_runs_for_over_ten_minutes_is_stuck_although_it_is_renewed() {
    let pipeline = Pipeline::new().await;
    enqueue(&pipeline, 11, 2).await;
    claim_jobs(&pipeline, 11, 2, None).await;
    assert_eq!(status(&pipeline).await["jobs"]["stuck"], 0);
    pipeline.run("UPDATE tidemark.job_lease SET claimed_at = claimed_at - interval '601 seconds'", &[]).await;
    let jobs = status(&pipeline).await["jobs"].clone();
    assert_eq!((&jobs["stuck"], &jobs["expired_unrecovered"]), (&json!(2), &json!(0)));
}

#[tokio::test]
async fn a_pause_says_since_when_by_whom_and_with_which_note_until_it_is_over() {
    let pipeline = Pipeline::new().await;
    let paused = async || status(&pipeline).await["ticks"]["claim"]["paused"].clone();
    assert_eq!(paused().await, json!(null));
    pipeline.set("claim_enabled", "false, note = 'first'").await;
    let since = paused().await["since"].clone();
    // Whatever else is changed meanwhile, the pause is as old as it is.
    pipeline.set("max_active", "3, note = 'second'").await;
    pipeline.set("compute_enabled", "false, note = 'third'").await;
    let pause = paused().await;
    assert_eq!(pause, json!({"since": since, "by": "postgres", "note": "first"}));
    assert_eq!(status(&pipeline).await["ticks"]["compute"]["paused"]["note"], "third");
    pipeline.set("claim_enabled", "true").await;
    assert_eq!(paused().await, json!(null));
    pipeline.set("claim_enabled", "false, note = 'again'").await;
    assert_eq!(paused().await["note"], "again");
}
