//! The purge: finished work past the retention goes, in small batches; the source and the projections stay.

use serde_json::{Value, json};
use tidemark_handlers::handlers::{Configuration, purge, registry};
use tidemark_queue::jobs::{NewJob, Status};
use tidemark_tests::figures;
use uuid::Uuid;

use crate::probe::PROBE;
use crate::yard::Yard;

async fn yard() -> Yard {
    let mut yard = Yard::new().await;
    yard.registry = registry(Configuration::default()).unwrap().register(PROBE, yard.probe.clone());
    yard
}

async fn purge_result(yard: &Yard) -> Value {
    let job = yard.enqueue_job(NewJob::new(purge::JOB_TYPE, json!({}))).await;
    yard.work().await;
    assert_eq!(yard.job(job).await.status, Status::Done, "{}", yard.job(job).await.last_error);
    yard.result(job).await.unwrap()
}

/// Everything of the source and of what is published, as text.
async fn kept(yard: &Yard) -> String {
    let query = "SELECT concat(
        (SELECT string_agg(row::text, ' ' ORDER BY row::text) FROM public.training_profiles AS row),
        (SELECT string_agg(row::text, ' ' ORDER BY row::text) FROM public.exercises AS row),
        (SELECT string_agg(row::text, ' ' ORDER BY row::text) FROM public.workouts AS row),
        (SELECT string_agg(row::text, ' ' ORDER BY row::text) FROM public.workout_sets AS row),
        (SELECT string_agg(row::text, ' ' ORDER BY row::text) FROM public.bodyweight_log AS row),
        (SELECT string_agg(row::text, ' ' ORDER BY row::text) FROM public.user_stats_projection_state AS row))";
    yard.pipeline.one(query, &[]).await.get(0)
}

#[tokio::test]
async fn finished_work_past_the_retention_goes_and_the_source_and_the_projections_stay() {
    let mut yard = yard().await;
    let user = Uuid::new_v4();
    yard.pipeline.save(user, "2026-07-19T17:30:00+02:00", "Bench Press", &[(100.0, 5)]).await;
    yard.pipeline.refresh().await;
    yard.pipeline.save(user, "2026-07-20T17:30:00+02:00", "Deadlift", &[(150.0, 5)]).await;
    yard.pipeline.refresh().await;
    let before = (kept(&yard).await, figures(&yard.pipeline.admin, user).await);
    yard.pipeline
        .run("UPDATE public.user_stats_projection_runs SET published_at = published_at - interval '30 days'", &[])
        .await;
    yard.pipeline
        .run("UPDATE public.user_exercise_stats_refresh_jobs SET finished_at = finished_at - interval '30 days'", &[])
        .await;
    yard.pipeline
        .run("INSERT INTO public.alert_outbox (kind, subject, resolved_at) VALUES ('test', 'old', clock_timestamp() - interval '30 days')", &[])
        .await;
    let result = purge_result(&yard).await;
    assert_eq!(result["complete"], json!(true));
    assert_eq!(result["alerts"], json!(1), "{result}");
    assert!(result["runs"].as_i64().unwrap() > 0 && result["refresh_jobs"].as_i64().unwrap() > 0, "{result}");
    assert_eq!((kept(&yard).await, figures(&yard.pipeline.admin, user).await), before);
    yard.pipeline.save(user, "2026-07-21T17:30:00+02:00", "Deadlift", &[(160.0, 5)]).await;
    yard.pipeline.refresh().await;
    let (requested, applied) = yard.pipeline.generations(user).await;
    assert_eq!(requested, applied);
    yard.check_invariants().await;
}

#[tokio::test]
async fn more_than_a_batch_is_purged_by_one_job_and_what_is_younger_stays() {
    let yard = yard().await;
    yard.probe.release();
    let jobs = yard.enqueue_held(1_200).await;
    assert_eq!(yard.work().await.succeeded, 1_200);
    let young = yard.enqueue(json!({"done": 1})).await;
    yard.work().await;
    // The ids of jobs begin with the time of their creation: old rows have old ids.
    let age = "WITH old AS (
            SELECT finished.job_id, gen_random_uuid() AS random FROM tidemark.job_finished AS finished WHERE finished.job_id <> $1
        ), moved AS (
            SELECT old.job_id, encode(overlay(uuid_send(old.random) PLACING substring(int8send(
                (extract(epoch FROM clock_timestamp() - interval '30 days') * 1000)::bigint) FROM 3) FROM 1 FOR 6), 'hex')::uuid AS new_id
            FROM old
        ), bodies AS (
            UPDATE tidemark.job_body AS body SET job_id = moved.new_id FROM moved WHERE body.job_id = moved.job_id
        )
        UPDATE tidemark.job_finished AS finished SET job_id = moved.new_id, finished_at = finished_at - interval '30 days'
        FROM moved WHERE finished.job_id = moved.job_id";
    yard.pipeline.run(age, &[&young]).await;
    let result = purge_result(&yard).await;
    assert_eq!((&result["jobs"], &result["complete"]), (&json!(1_200), &json!(true)), "{result}");
    assert_eq!(yard.job(young).await.status, Status::Done);
    let left: i64 = yard.pipeline.one("SELECT count(*) FROM tidemark.job_body", &[]).await.get(0);
    assert_eq!(left, 2, "the young one and the purge itself");
    assert!(!jobs.is_empty());
    yard.check_invariants().await;
}
