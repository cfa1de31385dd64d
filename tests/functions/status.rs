//! The status function behind a function URL.

use serde_json::{Value, json};
use tidemark_testkit::Simulator;
use tidemark_tests::{Pipeline, binaries};
use uuid::Uuid;

use crate::environments::{Environments, LIMIT};

const UNREACHABLE: &str = "postgres://user:url-canary@127.0.0.1:1/app";
const DOCUMENT: &str = "/stats-process-refresh-jobs";

async fn start(database_url: String, tokens: &str) -> Simulator {
    let binary = tokio::task::spawn_blocking(|| binaries::function("status")).await.unwrap();
    let environment = [("DATABASE_URL", database_url), ("STATUS_TOKENS", tokens.to_owned())];
    Simulator::start(binary, environment).await.unwrap()
}

/// A request as a function URL hands it over, and its answer.
async fn ask(simulator: &Simulator, method: &str, path: &str, token: Option<&str>) -> Value {
    let mut headers = json!({"host": "status.example.test"});
    if let Some(token) = token {
        headers["authorization"] = json!(format!("Bearer {token}"));
    }
    let event = json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "status",
            "domainName": "status.example.test",
            "domainPrefix": "status",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "test",
            },
            "requestId": "request",
            "routeKey": "$default",
            "stage": "$default",
            "time": "19/Jul/2026:17:30:00 +0000",
            "timeEpoch": 1_784_482_200_000_i64,
        },
        "isBase64Encoded": false,
    });
    simulator.invoke(event, LIMIT).await.unwrap()
}

fn body(answer: &Value) -> Value {
    serde_json::from_str(answer["body"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn the_document_is_what_the_database_composed_and_needs_a_valid_token() {
    let mut pipeline = Pipeline::new().await;
    pipeline.save(Uuid::new_v4(), "2026-07-19T17:30:00+02:00", "Bench Press", &[(100.0, 5)]).await;
    pipeline.claim().await;
    let status = start(pipeline.database.url_for("tidemark_worker"), "old-token,new-token").await;
    for token in ["old-token", "new-token"] {
        let answer = ask(&status, "GET", DOCUMENT, Some(token)).await;
        assert_eq!(answer["statusCode"], 200, "{answer}");
        let document = &body(&answer)["worker_status"];
        let composed: Value =
            pipeline.one("SELECT public.stats_projection_worker_status_v1()::jsonb", &[]).await.get(0);
        assert_eq!(document["queue"], composed["queue"], "{document}");
        assert_eq!(document["settings"], composed["settings"]);
    }
    for token in [None, Some(""), Some("wrong"), Some("old-token,new-token"), Some("old-toke")] {
        let answer = ask(&status, "GET", DOCUMENT, token).await;
        assert_eq!(answer["statusCode"], 401, "{token:?}");
        assert!(body(&answer)["error"]["code"].is_string(), "{answer}");
        assert!(answer.to_string().to_lowercase().contains("www-authenticate"), "{answer}");
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn without_a_configured_token_everything_behind_one_is_closed() {
    let status = start(UNREACHABLE.to_owned(), "").await;
    for path in [DOCUMENT, "/metrics", "/dashboard"] {
        for token in [None, Some(""), Some("anything")] {
            assert_eq!(ask(&status, "GET", path, token).await["statusCode"], 401, "{path} {token:?}");
        }
    }
}

#[tokio::test]
async fn health_and_the_page_need_no_database_and_readiness_says_that_it_is_missing() {
    let status = start(UNREACHABLE.to_owned(), "token").await;
    for path in ["/healthz", "/"] {
        assert_eq!(ask(&status, "GET", path, None).await["statusCode"], 200, "{path}");
    }
    assert_eq!(ask(&status, "GET", "/readyz", None).await["statusCode"], 503);
    let answer = ask(&status, "GET", DOCUMENT, Some("token")).await;
    assert_eq!(answer["statusCode"], 503, "{answer}");
    for path in ["/readyz", DOCUMENT] {
        assert!(!ask(&status, "GET", path, Some("token")).await.to_string().contains("canary"));
    }
    assert!(!status.logs().join("\n").contains("canary"));
}

#[tokio::test]
async fn readiness_follows_the_ticks() {
    let pipeline = Pipeline::new().await;
    let status = start(pipeline.database.url_for("tidemark_worker"), "token").await;
    assert_eq!(ask(&status, "GET", "/readyz", None).await["statusCode"], 503, "nothing has ticked yet");
    // The work function is not part of the refresh pipeline and does not tick here.
    pipeline.set("work_enabled", "false").await;
    for answer in Environments::start(&pipeline).await.tick(&json!({})).await {
        assert_eq!(answer.unwrap()["outcome"], "idle");
    }
    let answer = ask(&status, "GET", "/readyz", None).await;
    assert_eq!(answer["statusCode"], 200, "{answer}");
}

#[tokio::test]
async fn a_schema_that_is_older_than_the_function_is_not_ready_and_says_so() {
    let pipeline = Pipeline::new().await;
    let newest = tidemark_migrations::latest_version();
    pipeline.run("DELETE FROM tidemark.schema_migrations WHERE version = $1", &[&newest]).await;
    let status = start(pipeline.database.url_for("tidemark_worker"), "token").await;
    let answer = ask(&status, "GET", "/readyz", None).await;
    assert_eq!(answer["statusCode"], 503, "{answer}");
    let checks = &body(&answer)["checks"];
    assert_eq!((&checks["database"], &checks["schema_version"]), (&json!("ok"), &json!("failed")), "{checks}");
    let answer = ask(&status, "GET", DOCUMENT, Some("token")).await;
    assert_eq!((&answer["statusCode"], &body(&answer)["error"]["code"]), (&json!(503), &json!("schema_mismatch")));
}

#[tokio::test]
async fn other_methods_and_unknown_paths_are_refused_in_one_shape() {
    let status = start(UNREACHABLE.to_owned(), "token").await;
    let answer = ask(&status, "POST", DOCUMENT, Some("token")).await;
    assert_eq!(answer["statusCode"], 405, "{answer}");
    assert!(answer["headers"]["allow"].as_str().is_some_and(|allow| allow.contains("GET")), "{answer}");
    assert!(body(&answer)["error"]["message"].is_string());
    let answer = ask(&status, "GET", "/stats", Some("token")).await;
    assert_eq!(answer["statusCode"], 404, "{answer}");
    assert_eq!(answer["headers"]["cache-control"], "no-store");
    assert!(body(&answer)["error"]["code"].is_string());
}
