//! Webhooks: what is sent, what becomes of each answer, and where they may not go.

use serde_json::{Value, json};
use tidemark_alerts::outbound::Reach;
use tidemark_handlers::handlers::{Configuration, registry, webhook};
use tidemark_queue::jobs::{NewJob, Status};
use tidemark_testkit::{HttpSink, SinkAnswer};
use uuid::Uuid;

use crate::yard::Yard;

async fn yard(webhook_reach: Reach) -> Yard {
    let mut yard = Yard::new().await;
    yard.registry = registry(Configuration { webhook_reach, ..Configuration::default() }).unwrap();
    yard
}

async fn post(yard: &Yard, payload: Value) -> Uuid {
    let job = yard.enqueue_job(NewJob::new(webhook::JOB_TYPE, payload)).await;
    yard.work().await;
    job
}

#[tokio::test]
async fn a_webhook_posts_its_body_with_its_headers_and_the_jobs_id_as_key() {
    let sink = HttpSink::start([]).await;
    let yard = yard(Reach::Anywhere).await;
    let payload = json!({
        "url": sink.url("/hook?x=1"), "body": {"reps": 5}, "headers": {"X-Source": "tidemark"},
        "secret_header": {"name": "Authorization", "value": "Bearer canary"},
    });
    let job = post(&yard, payload).await;
    assert_eq!(yard.state(job).await, (Status::Done, 1, String::new()));
    assert_eq!(yard.result(job).await, Some(json!({"delivered": true})));
    let requests = sink.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].path.as_str(), &requests[0].body[..]), ("/hook?x=1", &br#"{"reps":5}"#[..]));
    let header = |name: &str| requests[0].headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("idempotency-key"), job.to_string());
    assert_eq!((header("x-source"), header("authorization")), ("tidemark".to_owned(), "Bearer canary".to_owned()));
    assert_eq!(header("content-type"), "application/json");
    yard.check_invariants().await;
}

#[tokio::test]
async fn each_answer_of_a_receiver_becomes_what_it_asks_for() {
    for (answer, status, attempts) in [
        (SinkAnswer::Status(204), Status::Done, 1),
        (SinkAnswer::Status(500), Status::Pending, 1),
        (SinkAnswer::Status(429), Status::Pending, 1),
        (SinkAnswer::RetryAfter(429, "30".to_owned()), Status::Pending, 0),
        (SinkAnswer::RetryAfter(503, "0".to_owned()), Status::Pending, 0),
        (SinkAnswer::Status(404), Status::Dead, 1),
        (SinkAnswer::Redirect(302, "http://169.254.169.254/".to_owned()), Status::Dead, 1),
        (SinkAnswer::Cut, Status::Pending, 1),
        (SinkAnswer::EndlessBody, Status::Done, 1),
    ] {
        let sink = HttpSink::start([answer.clone()]).await;
        let yard = yard(Reach::Anywhere).await;
        let job = post(&yard, json!({"url": sink.url("/canary"), "body": null})).await;
        let (found, charged, text) = yard.state(job).await;
        assert_eq!((found, charged), (status, attempts), "{answer:?}: {text}");
        assert!(!text.contains("canary") && !text.contains("127.0.0.1"), "{text}");
        assert_eq!(sink.requests().len(), 1, "{answer:?}");
    }
}

#[tokio::test]
async fn a_repetition_has_the_same_key() {
    let sink = HttpSink::start([SinkAnswer::Status(500), SinkAnswer::Status(200)]).await;
    let yard = yard(Reach::Anywhere).await;
    let job = post(&yard, json!({"url": sink.url("/"), "body": 1})).await;
    yard.make_due().await;
    yard.work().await;
    assert_eq!(yard.state(job).await.0, Status::Done);
    let keys: Vec<_> = sink.requests().iter().map(|request| request.headers["idempotency-key"].clone()).collect();
    assert_eq!(keys, [job.to_string(), job.to_string()]);
}

#[tokio::test]
async fn inner_addresses_are_out_of_reach_unless_the_configuration_allows_them() {
    let sink = HttpSink::start([]).await;
    let yard = yard(Configuration::default().webhook_reach).await;
    let local = sink.url("/");
    for url in [
        local.as_str(),
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "file:///etc/passwd",
        "https://user:word@example.com/",
    ] {
        let job = post(&yard, json!({"url": url, "body": 1})).await;
        let (status, attempts, text) = yard.state(job).await;
        assert_eq!((status, attempts), (Status::Dead, 1), "{url}: {text}");
        assert!(!text.contains("169.254") && !text.contains("word"), "{text}");
    }
    assert_eq!(sink.connections(), 0);
    yard.check_invariants().await;
}

#[tokio::test]
async fn a_payload_that_breaks_a_rule_is_dead_at_once_and_says_which() {
    let yard = yard(Reach::Anywhere).await;
    let job = post(&yard, json!({"url": "https://example.com/", "body": 1, "headers": {"Host": "canary"}})).await;
    assert_eq!(yard.job(job).await.status, Status::Dead);
    assert_eq!(yard.job(job).await.last_error, "headers must not set what the request itself is made of");
    let unknown = post(&yard, json!({"url": "https://example.com/", "body": 1, "canary": 1})).await;
    assert_eq!(yard.job(unknown).await.error_code.as_deref(), Some("invalid_payload"));
    assert!(!yard.job(unknown).await.last_error.contains("canary"));
    yard.check_invariants().await;
}
