//! Jobs and alerts through `tidemark tick work` and `tidemark local`, without any cloud.

use serde_json::json;
use tidemark_queue::jobs::{self, NewJob};
use tidemark_testkit::{HttpSink, TestDatabase};
use tidemark_tests::until_true;

use crate::folder::Folder;

#[tokio::test]
async fn tick_work_runs_jobs_and_delivers_alerts() {
    let (folder, database, receiver) = (Folder::new().await, TestDatabase::new().await, HttpSink::start([]).await);
    let (admin, url) = (database.admin().await, database.url_for("postgres"));
    admin.batch_execute("INSERT INTO public.alert_outbox (kind, subject) VALUES ('test', 'trial')").await.unwrap();
    let hook = receiver.url("/hook");
    jobs::enqueue(&admin, &NewJob::new(3, json!({"url": hook, "body": {}}))).await.unwrap();
    let targets = format!("slack={}", receiver.url("/alerts"));
    let variables = [("ALERT_TARGETS", targets.as_str()), ("WEBHOOK_INNER_ADDRESSES", "allow")];
    let ran = folder.run_with(&variables, &["tick", "work", "--json", "--database-url", &url]).await;
    let answer = ran.document();
    assert_eq!((&answer["outcome"], &answer["succeeded"]), (&json!("worked"), &json!(2)), "{ran:?}");
    let mut paths: Vec<String> = receiver.requests().into_iter().map(|request| request.path).collect();
    paths.sort();
    assert_eq!(paths, ["/alerts", "/hook"]);
}

#[tokio::test]
async fn targets_that_cannot_be_used_are_refused_at_once_with_the_variables_name_alone() {
    let folder = Folder::new().await;
    let variables = [("ALERT_TARGETS", "json=http://canary.example.test/")];
    for arguments in [&["tick", "work", "--database-url", "postgres:///canary"][..], &["local", "--port", "0"]] {
        let ran = folder.run_with(&variables, arguments).await;
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("ALERT_TARGETS cannot be used") && ran.stderr.contains("next: "), "{ran:?}");
        assert!(!ran.stderr.contains("canary"), "{ran:?}");
    }
    assert!(folder.is_empty(), "nothing was started");
}

#[tokio::test]
async fn local_runs_jobs_and_fires_schedules_as_it_ticks() {
    let folder = Folder::new().await;
    let mut running = folder.start(&["local", "--port", "0"]);
    running.until_says("ticking every second").await;
    let admin = folder.database().await;
    jobs::enqueue(&admin, &NewJob::new(2, json!({}))).await.unwrap();
    let done = "SELECT EXISTS (SELECT FROM public.jobs WHERE job_type = 2 AND status = 3)";
    until_true(&admin, done, &[]).await;
    admin
        .batch_execute("UPDATE public.schedules SET next_planned_at = now() WHERE name = 'history-purge'")
        .await
        .unwrap();
    let fired = "SELECT count(*) >= 2 FROM public.jobs WHERE job_type = 2 AND status = 3";
    until_true(&admin, fired, &[]).await;
}
