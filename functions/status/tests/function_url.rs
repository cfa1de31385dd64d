//! The real binary behind function URL events, against a real database.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use serde_json::{Value, json};
use tidemark_testkit::{Simulator, TestDatabase};

const LIMIT: Duration = Duration::from_secs(20);
const TOKEN: &str = "canary-7f3a9d";

fn event(method: &str, path: &str, authorization: Option<&str>) -> Value {
    let mut headers = json!({"host": "abc.lambda-url.eu-central-1.on.aws"});
    if let Some(value) = authorization {
        headers["authorization"] = json!(value);
    }
    json!({
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": "", "headers": headers,
        "requestContext": {
            "accountId": "anonymous", "apiId": "abc", "domainName": "abc.lambda-url.eu-central-1.on.aws",
            "domainPrefix": "abc", "requestId": "id", "routeKey": "$default", "stage": "$default",
            "time": "12/Mar/2026:19:03:58 +0000", "timeEpoch": 1_773_342_238_000_i64,
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "test"}
        },
        "isBase64Encoded": false
    })
}

async fn start(tokens: Option<&str>, database_url: String) -> Simulator {
    let mut environment = vec![("DATABASE_URL", database_url), ("RUST_LOG", "debug".to_owned())];
    environment.extend(tokens.map(|tokens| ("STATUS_TOKENS", tokens.to_owned())));
    Simulator::start(env!("CARGO_BIN_EXE_status"), environment).await.unwrap()
}

#[tokio::test]
async fn the_document_is_answered_to_a_token_and_the_token_never_logged() {
    let database = TestDatabase::new().await;
    let function = start(Some(&format!("old,{TOKEN}")), database.url_for("tidemark_worker")).await;
    let bearer = format!("Bearer {TOKEN}");

    let answer = function.invoke(event("GET", "/stats-process-refresh-jobs", Some(&bearer)), LIMIT).await.unwrap();
    assert_eq!(answer["statusCode"], 200, "{answer}");
    let body: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["worker_status"]["settings"]["id"], 1);

    for authorization in [None, Some("Bearer wrong"), Some("Bearer old,Bearer old")] {
        let refused = function.invoke(event("GET", "/metrics", authorization), LIMIT).await.unwrap();
        assert_eq!(refused["statusCode"], 401, "{authorization:?}");
        assert_eq!(refused["headers"]["www-authenticate"], "Bearer");
    }
    let page = function.invoke(event("GET", "/", None), LIMIT).await.unwrap();
    assert!(page["body"].as_str().unwrap().starts_with("<!doctype html>"), "{page}");
    assert!(page["isBase64Encoded"] == false && page["headers"]["content-security-policy"].is_string());

    let leaked: Vec<String> = function.logs().into_iter().filter(|line| line.contains(TOKEN)).collect();
    assert_eq!(leaked, Vec::<String>::new());
}

#[tokio::test]
async fn without_a_token_or_a_database_it_lives_and_says_so() {
    // Nothing listens on the discard port.
    let function = start(None, "postgres://tidemark_worker@127.0.0.1:9/none".to_owned()).await;
    let healthy = function.invoke(event("GET", "/healthz", None), LIMIT).await.unwrap();
    assert_eq!(healthy["statusCode"], 200);
    let closed = function.invoke(event("GET", "/metrics", Some("Bearer ")), LIMIT).await.unwrap();
    assert_eq!(closed["statusCode"], 401);
    let ready = function.invoke(event("GET", "/readyz", None), LIMIT).await.unwrap();
    assert_eq!(ready["statusCode"], 503);
    let body: Value = serde_json::from_str(ready["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["checks"]["database"], "failed");
}

#[tokio::test]
async fn a_connection_the_server_has_cut_is_replaced_within_the_same_request() {
    let database = TestDatabase::new().await;
    let function = start(Some(TOKEN), database.url_for("tidemark_worker")).await;
    let bearer = format!("Bearer {TOKEN}");
    let request = || event("GET", "/stats-process-refresh-jobs", Some(&bearer));
    assert_eq!(function.invoke(request(), LIMIT).await.unwrap()["statusCode"], 200);
    let cut = "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity
        where application_name = 'tidemark-status' and datname = current_database()";
    let cut: i64 = database.admin().await.query_one(cut, &[]).await.unwrap().get(0);
    assert_eq!(cut, 1);
    assert_eq!(function.invoke(request(), LIMIT).await.unwrap()["statusCode"], 200);
}
