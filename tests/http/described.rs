//! What is served is what `GET /openapi.json` describes, whatever is asked: a fuzzer takes it at its word.

use rustix::process::Signal;
use serde_json::json;
use tidemark_tests::Pipeline;
use uuid::Uuid;

use crate::gateway::Gateway;
use crate::{Folder, TOKEN, TOKENS, local, python};

/// Every operation with every kind of request that the fuzzer knows: missing and wrong tokens, methods that are not described, hostile
/// headers, paths and queries. Statuses, media types, headers and schemas must be as described.
async fn fuzz(address: &str, seed: &str) {
    let url = format!("http://{address}/openapi.json");
    let bearer = format!("Authorization: Bearer {TOKEN}");
    let mut arguments = vec!["run", &url, "--header", &bearer, "--checks", "all", "--max-examples", "10", "--no-color"];
    arguments.extend(["--phases", "coverage,fuzzing", "--generation-database", "none", "--seed", seed]);
    let (passed, said) = python::run("schemathesis", &arguments).await;
    // GET, HEAD and OPTIONS of seven paths, but for the GET of the description, which the fuzzer has just read.
    assert!(passed && said.contains("20 selected / 20 total"), "{said}");
}

#[tokio::test]
async fn the_real_function_is_as_described() {
    let mut pipeline = Pipeline::new().await;
    // Something in every list: a user who waits, one who is at work, one who has failed, and a pause.
    for _user in 0..3 {
        pipeline.save(Uuid::new_v4(), "2026-07-19T17:30:00+02:00", "Bench Press", &[(100.0, 5)]).await;
    }
    pipeline.set("max_active", "1").await;
    pipeline.claim().await;
    pipeline.set("work_enabled", "false, note = 'a pause of the test'").await;
    let gateway = Gateway::start(&pipeline, TOKENS).await;
    pipeline.compute().await;
    pipeline.publish().await;
    pipeline.claim().await;
    pipeline.run("UPDATE tidemark.ticks SET last_started_at = clock_timestamp()", &[]).await;
    fuzz(&gateway.address, "11").await;
    let status =
        pipeline.one("SELECT public.stats_projection_worker_status_v1() -> 'ticks' -> 'work' -> 'paused'", &[]);
    assert_eq!(status.await.get::<_, serde_json::Value>(0)["note"], json!("a pause of the test"));
}

#[tokio::test]
async fn the_local_server_is_as_described() {
    let folder = Folder::new().await;
    let (running, address) = local(&folder).await;
    fuzz(&address, "12").await;
    running.signal(Signal::INT);
    assert_eq!(running.ended().await.code, Some(0));
}
