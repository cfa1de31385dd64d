//! The general queue from the command line.

use rustix::process::Signal;
use serde_json::{Value, json};
use tidemark_testkit::TestDatabase;
use tidemark_tests::{binaries, until};
use tokio::io::AsyncWriteExt;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::folder::{Folder, Ran};

/// A newcomer with a database of his own.
struct Desk {
    folder: Folder,
    database: TestDatabase,
    admin: Client,
}

impl Desk {
    async fn new() -> Self {
        let database = TestDatabase::new().await;
        let admin = database.admin().await;
        Self { folder: Folder::new().await, database, admin }
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        let url = self.database.url_for("postgres");
        self.folder.run(&[arguments, &["--database-url", &url]].concat()).await
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--json"]].concat()).await.document()
    }

    async fn enqueue(&self, arguments: &[&str]) -> String {
        let answer = self.json(&[&["jobs", "enqueue"], arguments].concat()).await;
        assert_eq!(answer["inserted"], true, "{answer}");
        answer["job_id"].as_str().unwrap().to_owned()
    }

    /// Ids of the jobs that are listed with these options, in the order of the list.
    async fn listed(&self, options: &[&str]) -> Vec<String> {
        let answer = self.json(&[&["jobs", "list"], options].concat()).await;
        let jobs = answer["jobs"].as_array().unwrap();
        jobs.iter().map(|job| job["job_id"].as_str().unwrap().to_owned()).collect()
    }

    async fn execute(&self, statement: &str) {
        self.admin.batch_execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }

    /// A worker takes up to so many jobs.
    async fn claim(&self, number: i32) {
        let statement = "SELECT FROM tidemark.jobs_claim_v1($1, $2)";
        self.admin.execute(statement, &[&Uuid::new_v4(), &number]).await.unwrap();
    }

    /// Ends every claimed job with this outcome.
    async fn end(&self, outcome: &str, code: &str) {
        let statement = "SELECT tidemark.jobs_end_v1(lease.worker_id, ARRAY[lease.lease_id], ARRAY[member.job_id],
                ARRAY[member.attempts::integer], ARRAY[$1], NULL, ARRAY[$2], ARRAY['it broke'])
            FROM tidemark.job_lease AS lease CROSS JOIN LATERAL unnest(lease.job_ids, lease.attempts) AS member (job_id, attempts)";
        self.admin.execute(statement, &[&outcome, &code]).await.unwrap();
    }

    async fn status_of(&self, job_id: &str) -> i64 {
        self.json(&["jobs", "show", job_id]).await["status"].as_i64().unwrap()
    }
}

#[tokio::test]
async fn an_enqueued_job_is_answered_with_its_id_and_shown_as_its_row() {
    let desk = Desk::new().await;
    let payload = r#"{"big": 123456789012345678901234567890.5, "text": "größer"}"#;
    let answer = desk
        .json(&[
            "jobs",
            "enqueue",
            "--type",
            "7",
            "--payload",
            payload,
            "--dedupe",
            "k",
            "--priority",
            "-3",
            "--max-attempts",
            "5",
            "--group",
            "g",
            "--delay",
            "600",
        ])
        .await;
    assert_eq!(answer.as_object().unwrap().len(), 2);
    assert_eq!(answer["inserted"], true);
    let job_id = answer["job_id"].as_str().unwrap();
    let shown = desk.run(&["jobs", "show", job_id, "--json"]).await;
    assert!(shown.stdout.contains("123456789012345678901234567890.5"), "no figure passes through a float: {shown:?}");
    let shown = shown.document();
    let expected = json!({"job_id": job_id, "job_type": 7, "status": 1, "state": "pending", "priority": -3, "attempts": 0,
        "max_attempts": 5, "dedupe_key": "k", "group_key": "g", "last_error": "", "result": null, "cancel_requested": false});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&shown[name], value, "{name}");
    }
    let screen = desk.run(&["jobs", "show", job_id]).await.stdout;
    for words in ["type 7: pending", "0 of 5", "größer", "123456789012345678901234567890.5", "due"] {
        assert!(screen.contains(words), "`{words}` is missing: {screen}");
    }
}

#[tokio::test]
async fn with_an_active_job_of_the_same_key_nothing_is_inserted_and_that_job_is_named() {
    let desk = Desk::new().await;
    let first = desk.enqueue(&["--type", "7", "--dedupe", "once"]).await;
    let second = desk.json(&["jobs", "enqueue", "--type", "7", "--dedupe", "once"]).await;
    assert_eq!(second, json!({"job_id": first, "inserted": false}));
    let told = desk.run(&["jobs", "enqueue", "--type", "7", "--dedupe", "once"]).await;
    assert!(told.code == Some(0) && told.stdout.contains(&format!("job {first} has this dedupe key")), "{told:?}");
    assert_eq!(desk.listed(&["--key", "once"]).await, [first]);
}

#[tokio::test]
async fn a_job_that_cannot_be_enqueued_is_wrong_usage_and_leaves_nothing() {
    let desk = Desk::new().await;
    let long_key = "k".repeat(501);
    let cases: [(&[&str], &str); 12] = [
        (&["--type", "7", "--payload", "{canary: 1}"], "not JSON (line 1, column 2)"),
        (&["--type", "7", "--payload", r#"{"canary": "\u0000"}"#], "U+0000"),
        (&["--type", "7", "--payload", r#"{"canary": 1e999999}"#], "cannot store"),
        (&["--type", "7", "--payload", r#"{"canary": "\ud800"}"#], "cannot store"),
        (&["--type", "0"], "job_type"),
        (&["--type", "-1"], "job_type"),
        (&["--type", "7", "--dedupe", &long_key], "dedupe_key"),
        (&["--type", "7", "--dedupe", ""], "dedupe_key"),
        (&["--type", "7", "--delay", "-1"], "delay_seconds"),
        (&["--type", "7", "--delay", "NaN"], "delay_seconds"),
        (&["--type", "7", "--delay", "inf"], "delay_seconds"),
        (&["--type", "7", "--max-attempts", "0"], "max_attempts"),
    ];
    for (arguments, words) in cases {
        let ran = desk.run(&[&["jobs", "enqueue"], arguments].concat()).await;
        ran.check_refused(2, &[words]);
        assert!(!ran.stderr.contains("canary"), "no value is shown: {ran:?}");
    }
    assert_eq!(desk.run(&["jobs", "enqueue"]).await.code, Some(2), "a type is needed");
    assert!(desk.listed(&[]).await.is_empty());
}

#[tokio::test]
async fn a_payload_may_come_from_stdin_and_has_at_most_a_mebibyte() {
    let desk = Desk::new().await;
    let url = desk.database.url_for("postgres");
    let enqueue = async |payload: String| {
        let mut child = tokio::process::Command::new(binaries::tidemark())
            .args(["jobs", "enqueue", "--type", "7", "--payload", "-", "--json", "--database-url", &url])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(payload.as_bytes()).await.unwrap();
        drop(stdin);
        child.wait_with_output().await.unwrap()
    };
    let random: String = (0..40_000).map(|_one| Uuid::new_v4().simple().to_string()).collect();
    let fits = enqueue(format!("{{\"blob\": \"{}\"}}", &random[..1_000_000])).await;
    assert!(fits.status.success(), "{}", String::from_utf8_lossy(&fits.stderr));
    let too_large = enqueue(format!("{{\"blob\": \"{}\"}}", &random[..1_100_000])).await;
    assert_eq!(too_large.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&too_large.stderr).contains("payload must be at most 1048576 bytes"));
    let screen = desk.run(&["jobs", "list"]).await.stdout;
    assert!(screen.len() < 1000 && screen.contains('…'), "a list shortens payloads: {} bytes", screen.len());
}

#[tokio::test]
async fn jobs_are_listed_by_status_type_and_key_and_a_cut_list_says_so() {
    let desk = Desk::new().await;
    let nothing = desk.run(&["jobs", "list"]).await;
    assert!(nothing.code == Some(0) && nothing.stdout.contains("tidemark jobs enqueue"), "{nothing:?}");
    let dead = desk.enqueue(&["--type", "7", "--payload", r#"{"n": 1}"#, "--dedupe", "one"]).await;
    desk.claim(1).await;
    desk.end("dead", "status_410").await;
    let done = desk.enqueue(&["--type", "8", "--dedupe", "one"]).await;
    desk.claim(1).await;
    desk.end("done", "").await;
    let running = desk.enqueue(&["--type", "7"]).await;
    desk.claim(1).await;
    let later = desk.enqueue(&["--type", "7", "--delay", "500"]).await;
    let low = desk.enqueue(&["--type", "7", "--priority", "200"]).await;
    let grouped = desk.enqueue(&["--type", "8", "--group", "tenant"]).await;
    let urgent = desk.enqueue(&["--type", "9", "--priority", "-1"]).await;

    let newest: Vec<&String> = vec![&urgent, &grouped, &low, &later, &running, &done, &dead];
    assert_eq!(desk.listed(&[]).await.iter().collect::<Vec<_>>(), newest);
    assert_eq!(desk.listed(&["--status", "pending"]).await, [&urgent, &grouped, &low, &later].map(String::clone));
    assert_eq!(desk.listed(&["--status", "pending", "--type", "7"]).await, [&low, &later].map(String::clone));
    assert_eq!(desk.listed(&["--status", "running"]).await, std::slice::from_ref(&running));
    assert_eq!(desk.listed(&["--status", "done"]).await, std::slice::from_ref(&done));
    assert_eq!(desk.listed(&["--status", "dead"]).await, std::slice::from_ref(&dead));
    assert!(desk.listed(&["--status", "dead", "--type", "8"]).await.is_empty());
    assert_eq!(desk.listed(&["--type", "7"]).await, [&low, &later, &running, &dead].map(String::clone));
    assert_eq!(desk.listed(&["--key", "one"]).await, [done.clone(), dead.clone()]);
    assert_eq!(desk.listed(&["--key", "one", "--status", "dead"]).await, std::slice::from_ref(&dead));
    let cut = desk.json(&["jobs", "list", "--limit", "2"]).await;
    assert_eq!((cut["jobs"].as_array().unwrap().len(), &cut["more"]), (2, &json!(true)));
    assert_eq!(desk.json(&["jobs", "list", "--limit", "7"]).await["more"], false);

    let screen = desk.run(&["jobs", "list"]).await.stdout;
    for words in ["status_410: it broke", "due in", "0 of 3", "1 of 3", r#"{"n": 1}"#, "jobs requeue", &urgent] {
        assert!(screen.contains(words), "`{words}` is missing:\n{screen}");
    }
    for wrong in [&["--status", "broken"][..], &["--limit", "0"], &["--limit", "1001"], &["--type", "x"]] {
        assert_eq!(desk.run(&[&["jobs", "list"], wrong].concat()).await.code, Some(2), "{wrong:?}");
    }
}

#[tokio::test]
async fn a_job_of_a_type_that_is_rare_among_the_newest_is_found_all_the_same() {
    let desk = Desk::new().await;
    let mut rare = Vec::new();
    for options in [&["--type", "9"][..], &["--type", "9", "--group", "g"], &["--type", "9", "--delay", "600"]] {
        rare.push(desk.enqueue(options).await);
    }
    let flood = "SELECT public.enqueue_job(7) FROM generate_series(1, 1000)";
    desk.execute(flood).await;
    rare.reverse();
    assert_eq!(desk.listed(&["--type", "9", "--limit", "4"]).await, rare);
    assert_eq!(desk.listed(&["--type", "7", "--limit", "1000"]).await.len(), 1000);
}

#[tokio::test]
async fn an_interrupt_ends_the_local_system_in_the_middle_of_a_long_queue() {
    let desk = Desk::new().await;
    desk.execute(
        "SELECT tidemark.jobs_enqueue_v1(array_fill(7, ARRAY[10000]), array_fill('{}'::jsonb, ARRAY[10000]),
            array_fill(NULL::text, ARRAY[10000]), array_fill(100, ARRAY[10000]), array_fill(0::float8, ARRAY[10000]),
            array_fill(100, ARRAY[10000]), array_fill(NULL::text, ARRAY[10000])) FROM generate_series(1, 15)",
    )
    .await;
    let untried = async || -> i64 {
        let count = "SELECT count(*) FROM tidemark.job_ready WHERE attempts = 0";
        desk.admin.query_one(count, &[]).await.unwrap().get(0)
    };
    let url = desk.database.url_for("postgres");
    let local = desk.folder.start(&["local", "--port", "0", "--database-url", &url]);
    until("work has begun", async || untried().await < 150_000).await;
    local.signal(Signal::INT);
    let ran = local.ended().await;
    assert_eq!(ran.code, Some(0), "it ends in order: {} bytes on stderr", ran.stderr.len());
    assert!(untried().await > 0, "it did not wait until everything was done");
}

#[tokio::test]
async fn a_dead_job_waits_again_and_what_is_not_dead_is_told_apart() {
    let desk = Desk::new().await;
    let dead = desk.enqueue(&["--type", "7"]).await;
    let twin = desk.enqueue(&["--type", "7", "--dedupe", "once"]).await;
    desk.claim(2).await;
    desk.end("dead", "broken").await;
    let active = desk.enqueue(&["--type", "7", "--dedupe", "once", "--delay", "600"]).await;
    let unknown = Uuid::new_v4().to_string();
    let ran = desk.run(&["jobs", "requeue", &dead, &twin, &active, &unknown, &dead, "--json"]).await;
    assert_eq!(ran.code, Some(1), "not every named job waits again: {ran:?}");
    assert!(ran.stderr.contains("next: "), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let expected = json!([
        {"job_id": dead, "outcome": "pending"},
        {"job_id": twin, "outcome": "twin", "active_job_id": active},
        {"job_id": active, "outcome": "not_dead", "state": "pending"},
        {"job_id": unknown, "outcome": "unknown"},
    ]);
    assert_eq!((&answer["requeued"], &answer["jobs"]), (&json!(1), &expected));
    assert_eq!((desk.status_of(&dead).await, desk.status_of(&twin).await), (1, 4));
    let shown = desk.json(&["jobs", "show", &dead]).await;
    assert_eq!(shown["attempts"], 0, "its attempts are before it again");
    let told = desk.run(&["jobs", "requeue", &twin, &dead]).await;
    assert!(told.stdout.contains(&format!("{twin}: stays dead, a twin of job {active}")), "{told:?}");
    assert!(told.stdout.contains(&format!("{dead}: not dead: it is pending")), "{told:?}");
    for wrong in [
        &["jobs", "requeue"][..],
        &["jobs", "requeue", "x"],
        &["jobs", "requeue", &dead, "--all-dead"],
        &["jobs", "requeue", &dead, "--yes"],
    ] {
        assert_eq!(desk.run(wrong).await.code, Some(2), "{wrong:?}");
    }
}

#[tokio::test]
async fn all_dead_jobs_are_counted_first_and_cancelled_ones_are_left() {
    let desk = Desk::new().await;
    for _ in 0..3 {
        desk.enqueue(&["--type", "7"]).await;
    }
    let other = desk.enqueue(&["--type", "8", "--dedupe", "once"]).await;
    desk.claim(4).await;
    desk.end("dead", "broken").await;
    let cancelled = desk.enqueue(&["--type", "8"]).await;
    assert_eq!(desk.run(&["jobs", "cancel", &cancelled]).await.code, Some(0));
    let active = desk.enqueue(&["--type", "8", "--dedupe", "once"]).await;

    let counted = desk.run(&["jobs", "requeue", "--all-dead"]).await;
    counted.check_refused(2, &["4 jobs would wait again: 3 of type 7, 1 of type 8", "nothing was changed", "--yes"]);
    assert_eq!(desk.listed(&["--status", "dead"]).await.len(), 5);
    let of_type = desk.json(&["jobs", "requeue", "--all-dead", "--type", "7", "--yes"]).await;
    assert_eq!(of_type, json!({"requeued": 3, "cancelled_left": 0, "jobs": []}));
    let rest = desk.json(&["jobs", "requeue", "--all-dead", "--yes"]).await;
    let twin = json!([{"job_id": other, "outcome": "twin", "active_job_id": active}]);
    assert_eq!(rest, json!({"requeued": 0, "cancelled_left": 1, "jobs": twin}));
    assert_eq!(desk.listed(&["--status", "dead"]).await, [cancelled, other]);
}

#[tokio::test]
async fn every_dead_job_of_a_storm_waits_again_once() {
    let desk = Desk::new().await;
    desk.execute(
        "INSERT INTO tidemark.job_body (job_type, priority, max_attempts, payload)
            SELECT 7, 100, 3, '{}' FROM generate_series(1, 1234);
        INSERT INTO tidemark.job_finished (job_id, status, attempts, finished_at, error_code, last_error)
            SELECT job_id, 4, 3, '2026-01-01T00:00:00Z'::timestamptz + (position / 500) * interval '1 second', 'broken', 'broken'
            FROM tidemark.job_body",
    )
    .await;
    let answer = desk.json(&["jobs", "requeue", "--all-dead", "--yes"]).await;
    assert_eq!(answer, json!({"requeued": 1234, "cancelled_left": 0, "jobs": []}));
    let nothing = desk.run(&["jobs", "requeue", "--all-dead"]).await;
    assert!(nothing.code == Some(0) && nothing.stdout.contains("nothing was requeued"), "{nothing:?}");
}

#[tokio::test]
async fn a_waiting_job_is_cancelled_at_once_and_a_running_one_is_asked_to_stop() {
    let desk = Desk::new().await;
    let running = desk.enqueue(&["--type", "7"]).await;
    desk.claim(1).await;
    let waiting = desk.enqueue(&["--type", "7", "--dedupe", "once"]).await;
    let unknown = Uuid::new_v4().to_string();
    let answer = desk.json(&["jobs", "cancel", &waiting, &running]).await;
    let expected =
        json!({"jobs": [{"job_id": waiting, "outcome": "dead"}, {"job_id": running, "outcome": "requested"}]});
    assert_eq!(answer, expected);
    let shown = desk.json(&["jobs", "show", &waiting]).await;
    assert_eq!((&shown["status"], &shown["error_code"]), (&json!(4), &json!("cancelled")));
    assert!(desk.run(&["jobs", "show", &running]).await.stdout.contains("running, asked to stop"));
    let again = desk.run(&["jobs", "cancel", &waiting, &unknown]).await;
    assert!(again.code == Some(1) && again.stderr.contains("next: "), "{again:?}");
    assert!(again.stdout.contains("was over already") && again.stdout.contains("there is no such job"), "{again:?}");
    desk.enqueue(&["--type", "7", "--dedupe", "once"]).await;
}

#[tokio::test]
async fn text_of_a_job_cannot_steer_the_terminal() {
    let desk = Desk::new().await;
    let hostile = "k\u{1b}[2J\u{9b}31m\nnext: rm";
    let job_id = desk.enqueue(&["--type", "7", "--dedupe", hostile, "--group", hostile]).await;
    desk.claim(1).await;
    desk.end("dead", hostile).await;
    for command in [&["jobs", "list"][..], &["jobs", "show", &job_id]] {
        let ran = desk.run(command).await;
        assert!(ran.code == Some(0) && !ran.stdout.contains(['\u{1b}', '\u{9b}']), "{ran:?}");
    }
    let list = desk.run(&["jobs", "list"]).await.stdout;
    assert!(!list.lines().any(|line| line.starts_with("next: rm")), "{list}");
}

#[tokio::test]
async fn an_unknown_job_and_a_missing_database_say_what_to_do_next() {
    let desk = Desk::new().await;
    let unknown = Uuid::new_v4().to_string();
    desk.run(&["jobs", "show", &unknown]).await.check_refused(1, &[&unknown, "tidemark jobs list"]);
    assert_eq!(desk.run(&["jobs", "show", "7"]).await.code, Some(2));
    for command in [&["jobs", "list"][..], &["jobs", "enqueue", "--type", "7"], &["jobs", "requeue", "--all-dead"]] {
        desk.folder.run(command).await.check_refused(1, &["no database", "DATABASE_URL"]);
        let worker = desk.database.url_for("tidemark_worker");
        if command[1] != "enqueue" {
            let ran = desk.folder.run(&[command, &["--database-url", &worker]].concat()).await;
            ran.check_refused(1, &["connect as the role that migrated"]);
        }
    }
    assert!(desk.folder.is_empty());
}

#[tokio::test]
async fn every_command_about_jobs_has_an_example_in_its_help() {
    let folder = Folder::new().await;
    for command in [
        &["jobs"][..],
        &["jobs", "list"],
        &["jobs", "show"],
        &["jobs", "enqueue"],
        &["jobs", "requeue"],
        &["jobs", "cancel"],
    ] {
        let help = folder.run(&[command, &["--help"]].concat()).await;
        assert!(help.code == Some(0) && help.stdout.contains("Example"), "{command:?}: {help:?}");
    }
}
