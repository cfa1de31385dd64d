//! Alerts from the command line.

use std::process::Stdio;

use serde_json::{Value, json};
use tidemark_testkit::{HttpSink, SinkAnswer, TestDatabase};
use tidemark_tests::binaries;
use tokio::process::Command;

use crate::folder::{Folder, Ran};

/// Runs `tidemark alerts test` with these targets, without any database.
async fn try_targets(folder: &Folder, targets: Option<&str>, json: bool) -> Ran {
    let mut command = Command::new(tokio::task::spawn_blocking(binaries::tidemark).await.unwrap());
    command.current_dir(folder.path()).args(["alerts", "test"]).args(json.then_some("--json"));
    command.env_remove("DATABASE_URL").env_remove("ALERT_TARGETS").stdin(Stdio::null()).kill_on_drop(true);
    if let Some(targets) = targets {
        command.env("ALERT_TARGETS", targets);
    }
    let output = command.output().await.unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[tokio::test]
async fn a_test_reaches_every_target_once_and_needs_no_database() {
    let folder = Folder::new().await;
    let sink = HttpSink::start([]).await;
    let targets = format!("json={},slack={}", sink.url("/json-canary"), sink.url("/slack-canary"));
    let ran = try_targets(&folder, Some(&targets), true).await;
    let expected = json!({"targets": [
        {"target": "json", "delivered": true, "reason": null},
        {"target": "slack", "delivered": true, "reason": null},
    ]});
    assert_eq!(ran.document(), expected);
    let requests = sink.requests();
    let mut paths: Vec<&str> = requests.iter().map(|request| request.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/json-canary", "/slack-canary"]);
    let told = requests.iter().find(|request| request.path == "/json-canary").unwrap();
    let body: Value = serde_json::from_slice(&told.body).unwrap();
    assert_eq!((&body["alerts"][0]["kind"], &body["alerts"][0]["state"]), (&json!("test"), &json!("raised")));
    assert!(folder.is_empty());
}

#[tokio::test]
async fn a_target_that_fails_is_named_without_its_url_and_keeps_no_other_from_its_test() {
    let folder = Folder::new().await;
    let broken = HttpSink::start([SinkAnswer::Status(503)]).await;
    let gone = HttpSink::start([SinkAnswer::Status(410)]).await;
    let sound = HttpSink::start([]).await;
    let targets = format!(
        r#"[{{"name":"busy","kind":"teams","url":"{}"}},{{"name":"gone","kind":"json","url":"{}"}},{{"name":"sound","kind":"json","url":"{}"}}]"#,
        broken.url("/url-canary"),
        gone.url("/url-canary"),
        sound.url("/url-canary"),
    );
    for json in [false, true] {
        let ran = try_targets(&folder, Some(&targets), json).await;
        assert_eq!(ran.code, Some(1), "{ran:?}");
        for words in ["busy", "status 503", "gone", "status 410", "sound"] {
            assert!(ran.stdout.contains(words), "`{words}` is missing: {ran:?}");
        }
        assert!(ran.stderr.contains("next: check that busy can be reached"), "{ran:?}");
        for secret in ["canary", "127.0.0.1"] {
            assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{ran:?}");
        }
    }
    assert_eq!(sound.requests().len(), 2);
}

#[tokio::test]
async fn targets_of_no_use_are_wrong_usage_and_nothing_of_them_is_shown() {
    let folder = Folder::new().await;
    for targets in [None, Some(""), Some("[]"), Some("url-canary"), Some("slack=http://url-canary.test/")] {
        let ran = try_targets(&folder, targets, false).await;
        ran.check_refused(2, &["ALERT_TARGETS", "docs/ALERTS.md"]);
        assert!(!ran.stderr.contains("canary"), "{ran:?}");
    }
}

#[tokio::test]
async fn open_alerts_are_listed_first_with_how_often_since_when_and_what_to_do() {
    let folder = Folder::new().await;
    let database = TestDatabase::new().await;
    let admin = database.admin().await;
    let url = database.url_for("postgres");
    let list =
        async |options: &[&str]| folder.run(&[&["alerts", "list", "--database-url", &url], options].concat()).await;
    let nothing = list(&[]).await;
    assert!(nothing.code == Some(0) && nothing.stdout.contains("No alert is open"), "{nothing:?}");
    let raise = "SELECT tidemark.raise_alert('function_not_ticking', 'work', 'tick_age');
        UPDATE public.alert_outbox SET resolved_at = clock_timestamp();
        SELECT tidemark.raise_alert('job_dead', 'job_type 7', 'broken', 40);
        SELECT tidemark.raise_alert('job_dead', 'job_type 7', 'panic', 2)";
    admin.batch_execute(raise).await.unwrap();
    let open = list(&["--json"]).await.document();
    let alerts = open["alerts"].as_array().unwrap();
    assert_eq!((alerts.len(), &open["more"]), (1, &json!(false)));
    let expected = json!({"kind": "job_dead", "subject": "job_type 7", "error_code": "panic", "occurrences": 42,
        "resolved_at": null, "told_at": null, "title": "A job is dead"});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&alerts[0][name], value, "{name}");
    }
    let all = list(&["--all", "--json"]).await.document();
    let kinds: Vec<&Value> = all["alerts"].as_array().unwrap().iter().map(|alert| &alert["kind"]).collect();
    assert_eq!(kinds, [&json!("job_dead"), &json!("function_not_ticking")]);
    assert_eq!(list(&["--all", "--limit", "1", "--json"]).await.document()["more"], true);
    let screen = list(&["--all"]).await.stdout;
    for words in ["job_type 7", "42", "not yet", "open", "resolved", "WHAT TO DO", "requeue the job"] {
        assert!(screen.contains(words), "`{words}` is missing:\n{screen}");
    }
}

#[tokio::test]
async fn every_command_about_alerts_has_an_example_in_its_help() {
    let folder = Folder::new().await;
    for command in [&["alerts"][..], &["alerts", "list"], &["alerts", "test"]] {
        let help = folder.run(&[command, &["--help"]].concat()).await;
        assert!(help.code == Some(0) && help.stdout.contains("Example"), "{command:?}: {help:?}");
    }
}
