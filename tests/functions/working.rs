//! The real work function: jobs, alerts on their way out, and a configuration that cannot be used.

use serde_json::json;
use tidemark_queue::jobs::{self, NewJob, Status};
use tidemark_testkit::{HttpSink, Simulator, SinkAnswer};
use tidemark_tests::{Pipeline, binaries, until_true};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::environments::LIMIT;

/// The built-in webhook.
const WEBHOOK: i32 = 3;

async fn start(pipeline: &Pipeline, variables: &[(&str, &str)]) -> Simulator {
    let binary = tokio::task::spawn_blocking(|| binaries::function("work")).await.unwrap();
    let url = pipeline.database.url_for("tidemark_worker");
    let variables = variables.iter().copied().chain([("DATABASE_URL", url.as_str())]);
    Simulator::start(binary, variables).await.unwrap()
}

async fn status(admin: &Client, job: Uuid) -> (Status, i32) {
    let job = jobs::get(admin, job).await.unwrap().unwrap();
    (job.status, job.attempts)
}

#[tokio::test]
async fn the_work_function_delivers_webhooks_and_then_the_alert_about_the_one_that_nobody_takes() {
    let pipeline = Pipeline::new().await;
    let receiver = HttpSink::start([SinkAnswer::Status(200), SinkAnswer::Status(410)]).await;
    let alerts = HttpSink::start([]).await;
    let targets = format!("json={}", alerts.url("/alerts-canary"));
    let work = start(&pipeline, &[("ALERT_TARGETS", &targets), ("WEBHOOK_INNER_ADDRESSES", "allow")]).await;
    let mut enqueued = Vec::new();
    for expected in [(Status::Done, 1), (Status::Dead, 1)] {
        let new = NewJob::new(WEBHOOK, json!({"url": receiver.url("/"), "body": {"a": 1}}));
        let job = jobs::enqueue(&pipeline.admin, &new).await.unwrap().job_id;
        let answer = work.invoke(json!({}), LIMIT).await.unwrap();
        assert_eq!(answer["outcome"], "worked", "{answer}");
        assert_eq!(status(&pipeline.admin, job).await, expected, "{answer}");
        enqueued.push(job);
    }
    let answer = work.invoke(json!({}), LIMIT).await.unwrap();
    assert_eq!(answer["succeeded"], 1, "the alert is delivered: {answer}");
    assert_eq!(alerts.requests().len(), 1);
    assert_eq!(work.invoke(json!({}), LIMIT).await.unwrap()["outcome"], "idle");
    let keys: Vec<String> = receiver
        .requests()
        .iter()
        .map(|request| request.headers["idempotency-key"].to_str().unwrap().to_owned())
        .collect();
    assert_eq!(keys, enqueued.iter().map(Uuid::to_string).collect::<Vec<_>>());
    assert!(!work.logs().iter().any(|line| line.contains("canary")), "{:#?}", work.logs());
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_work_function_that_is_killed_with_its_jobs_loses_none_of_them() {
    let pipeline = Pipeline::new().await;
    let receiver = HttpSink::start([SinkAnswer::Held]).await;
    let work = start(&pipeline, &[("WEBHOOK_INNER_ADDRESSES", "allow")]).await;
    let new = NewJob::new(WEBHOOK, json!({"url": receiver.url("/"), "body": {}}));
    let job = jobs::enqueue(&pipeline.admin, &new).await.unwrap().job_id;
    let killing = async {
        receiver.until_requested(1).await;
        work.kill();
        work.ended().await.unwrap();
    };
    let (answer, ()) = tokio::join!(work.invoke(json!({}), LIMIT), killing);
    assert!(answer.is_err(), "{answer:?}");
    let gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tidemark-work')";
    until_true(&pipeline.admin, gone, &[]).await;
    assert_eq!(status(&pipeline.admin, job).await, (Status::Running, 1));
    pipeline.run("UPDATE tidemark.job_lease SET lease_until = clock_timestamp() - interval '1 second'", &[]).await;
    receiver.release();
    let answer = work.invoke(json!({}), LIMIT).await.unwrap();
    assert_eq!((&answer["recovered"], &answer["succeeded"]), (&json!(1), &json!(1)), "{answer}");
    assert_eq!(status(&pipeline.admin, job).await, (Status::Done, 2));
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_ends_the_function_at_its_start_with_the_variables_name_alone() {
    let pipeline = Pipeline::new().await;
    for (variable, value) in
        [("ALERT_TARGETS", "json=http://canary.example.test/canary"), ("WEBHOOK_INNER_ADDRESSES", "canary")]
    {
        let work = start(&pipeline, &[(variable, value)]).await;
        assert_eq!(work.ended().await.unwrap().code(), Some(1), "{variable}");
        let line = work.wait_for_log(LIMIT, |line| line.contains(variable)).await.unwrap();
        assert!(line.contains("cannot be used"), "{line}");
        assert!(!work.logs().iter().any(|line| line.contains("canary")), "{:#?}", work.logs());
    }
}
