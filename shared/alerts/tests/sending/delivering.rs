//! A digest to many targets, each on its own.

use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::Value;
use tidemark_alerts::outbound::{Client, Reach};
use tidemark_alerts::{Alert, Digest, Targets, deliver};
use tidemark_testkit::{HttpSink, SinkAnswer};

use crate::{AMPLE, words};

fn digest() -> Digest {
    let raised_at: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    let alert = Alert {
        id: 1,
        kind: "test".to_owned(),
        subject: "everything".to_owned(),
        error_code: String::new(),
        occurrences: 1,
        raised_at,
        last_raised_at: raised_at,
        resolved_at: None,
    };
    Digest::new(vec![alert]).unwrap()
}

fn targets(entries: &[(&str, &str, String)]) -> Targets {
    let entry = |(name, kind, url): &(&str, &str, String)| serde_json::json!({"name": name, "kind": kind, "url": url});
    let document: Vec<Value> = entries.iter().map(entry).collect();
    Targets::parse(&SecretString::from(serde_json::to_string(&document).unwrap())).unwrap()
}

async fn delivered(targets: &Targets, limit: Duration) -> Vec<String> {
    let client = Client::new(Reach::Configured).unwrap();
    let deliveries = deliver(targets, &digest(), &client, limit).await;
    deliveries.iter().map(|delivery| format!("{} {}", delivery.target, words(&delivery.outcome))).collect()
}

#[tokio::test]
async fn each_target_gets_the_message_of_its_kind() {
    let sink = HttpSink::start([]).await;
    let targets = targets(&[
        ("chat", "teams", sink.url("/teams")),
        ("ops", "slack", sink.url("/slack")),
        ("pager", "json", sink.url("/json")),
    ]);
    assert_eq!(delivered(&targets, AMPLE).await, ["chat delivered", "ops delivered", "pager delivered"]);
    for (path, member) in [("/teams", "attachments"), ("/slack", "blocks"), ("/json", "alerts")] {
        let requests = sink.requests();
        let request = requests.iter().find(|request| request.path == path).expect("a request");
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert!(!body[member].as_array().unwrap().is_empty(), "{path}: {body}");
    }
}

#[tokio::test]
async fn a_repetition_is_recognised_by_its_key() {
    let sink = HttpSink::start([SinkAnswer::Status(503), SinkAnswer::Status(200)]).await;
    let targets = targets(&[("pager", "json", sink.url("/"))]);
    assert_eq!(delivered(&targets, AMPLE).await, ["pager retry: status 503"]);
    assert_eq!(delivered(&targets, AMPLE).await, ["pager delivered"]);
    let requests = sink.requests();
    assert_eq!(requests[0].headers["idempotency-key"], requests[1].headers["idempotency-key"]);
    assert_eq!(requests[0].body, requests[1].body);
}

#[tokio::test]
async fn a_target_that_does_not_answer_keeps_no_other_waiting() {
    let held = HttpSink::start([SinkAnswer::Held]).await;
    let healthy = HttpSink::start([]).await;
    let targets = targets(&[("held", "slack", held.url("/")), ("healthy", "slack", healthy.url("/"))]);
    let delivering = tokio::spawn(async move { delivered(&targets, AMPLE).await });
    held.until_requested(1).await;
    healthy.until_requested(1).await;
    healthy.until_left().await;
    assert!(!delivering.is_finished(), "the held target is still waited for");
    held.release();
    assert_eq!(delivering.await.unwrap(), ["held delivered", "healthy delivered"]);
}

#[tokio::test]
async fn every_target_has_an_outcome_of_its_own() {
    let held = HttpSink::start([SinkAnswer::Held]).await;
    let cut = HttpSink::start([SinkAnswer::Cut]).await;
    let gone = HttpSink::start([SinkAnswer::Status(410)]).await;
    let busy = HttpSink::start([SinkAnswer::RetryAfter(429, "30".to_owned())]).await;
    let healthy = HttpSink::start([]).await;
    let targets = targets(&[
        ("held", "json", held.url("/")),
        ("cut", "json", cut.url("/")),
        ("gone", "json", gone.url("/")),
        ("busy", "json", busy.url("/")),
        ("healthy", "json", healthy.url("/")),
    ]);
    let expected = [
        "held retry: timeout",
        "cut retry: closed",
        "gone permanent: status 410",
        "busy retry after 30 s: status 429",
        "healthy delivered",
    ];
    assert_eq!(delivered(&targets, Duration::from_secs(2)).await, expected);
}

#[tokio::test]
async fn those_that_have_it_are_left_out_of_a_repetition() {
    let sink = HttpSink::start([]).await;
    let targets = targets(&[("one", "json", sink.url("/one")), ("other", "json", sink.url("/other"))]);
    let client = Client::new(Reach::Configured).unwrap();
    let missing = targets.iter().filter(|target| target.name() == "other");
    let deliveries = deliver(missing, &digest(), &client, AMPLE).await;
    assert_eq!(deliveries.len(), 1);
    let paths: Vec<String> = sink.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/other"]);
}
