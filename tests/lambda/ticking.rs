//! One invocation of each function, the status page, and a schedule of ticks until a real import is fresh.

use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tidemark_migrations::latest_version;
use tidemark_testkit::TestDatabase;
use tidemark_tests::{binaries, until_true};
use tokio::process::Command;

use crate::watch::Watch;

const EXPORT: &str = "hevy_MIT_kg_rpe_settypes_7211.csv";
const USER: &str = "7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f";
const TOKEN: &str = "a-token-of-this-test";

async fn tidemark(arguments: &[&str]) -> Command {
    let mut command = Command::new(tokio::task::spawn_blocking(binaries::tidemark).await.unwrap());
    command.args(arguments).env_remove("DATABASE_URL").stdin(Stdio::null()).kill_on_drop(true);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[tokio::test]
async fn every_function_answers_under_cargo_lambda_watch_and_ticks_each_second_make_an_import_fresh() {
    let database = TestDatabase::new().await;
    let (admin, url) = (database.admin().await, database.url_for("postgres"));
    let watch = Watch::start(&[("DATABASE_URL", &url), ("STATUS_TOKENS", TOKEN)]).await;
    for function in ["claim", "compute", "publish", "work"] {
        let answer = watch.invoke(function, "{}").await;
        // The first tick of work plans the schedules that come with the schema.
        let outcome = if function == "work" { "worked" } else { "idle" };
        assert_eq!((&answer["function"], &answer["outcome"]), (&function.into(), &outcome.into()), "{answer}");
    }
    assert_eq!(watch.invoke("migrate", r#"{"dry_run": true}"#).await["from"], latest_version());
    let (status, page) = watch.get("/", None).await;
    assert!(status.ends_with("200 OK") && page.contains("<html"), "{status} {page}");
    assert!(watch.get("/stats-process-refresh-jobs", None).await.0.contains(" 401 "));
    let (status, document) = watch.get("/stats-process-refresh-jobs", Some(TOKEN)).await;
    let document: Value =
        serde_json::from_str(&document).unwrap_or_else(|error| panic!("{status}: {error}: {document}"));
    assert_eq!(document["worker_status"]["stale_users"], 0, "{document}");

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(EXPORT).display().to_string();
    let imported = tidemark(&["import", &file, "--user", USER, "--database-url", &url]).await.output().await.unwrap();
    assert!(imported.status.success(), "{imported:?}");
    let schedule = tidemark(&["tick", "--lambda", &watch.url(), "--seconds", "60", "--json"]).await.spawn().unwrap();
    let fresh = "SELECT requested_generation = applied_generation FROM public.user_stats_projection_state";
    until_true(&admin, fresh, &[]).await;
    let process = Pid::from_raw(schedule.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(process, Signal::INT).unwrap();
    let ended = schedule.wait_with_output().await.unwrap();
    let answer: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((ended.status.code(), &answer["failed"]), (Some(0), &0.into()), "{answer}");
    assert!(answer["ticks"].as_u64().unwrap() >= 4 && answer["answered"].as_u64().unwrap() >= 3, "{answer}");

    let golden = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("data/golden.json")).unwrap();
    let golden: Value = serde_json::from_slice(&golden).unwrap();
    let volume: f64 = admin
        .query_one("SELECT total_volume_kg::double precision FROM public.user_stats_summary", &[])
        .await
        .unwrap()
        .get(0);
    assert!(volume > 0.0, "{volume}");
    let workouts: i64 = admin.query_one("SELECT count(*) FROM public.workouts", &[]).await.unwrap().get(0);
    assert_eq!(golden["files"][EXPORT]["sessions"], workouts);
    watch.end().await;
}

#[tokio::test]
async fn ticks_that_nobody_answers_are_counted_and_the_next_step_is_told() {
    // Nobody listens on the port of a server that has gone.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{gone}");
    let ran = tidemark(&["tick", "claim", "--lambda", &url, "--json"]).await.output().await.unwrap();
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&answer["ticks"], &answer["failed"], &answer["reason"]), (&1.into(), &1.into(), &"refused".into()));
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("next: start `cargo lambda watch`"), "{ran:?}");
}
