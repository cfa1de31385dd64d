//! The operator's commands against a real database, as they are typed.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

use serde_json::{Value, json};
use tidemark_testkit::TestDatabase;
use tokio_postgres::Client;
use uuid::Uuid;

const USER: Uuid = Uuid::from_u128(0x0a11_ce00_0000_4000_8000_0000_0000_0001);
const OTHER: Uuid = Uuid::from_u128(0x0a11_ce00_0000_4000_8000_0000_0000_0002);

struct Operator {
    database: TestDatabase,
    client: Client,
}

impl Operator {
    async fn new() -> Self {
        let database = TestDatabase::new().await;
        let client = database.admin().await;
        Self { database, client }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_tidemark"))
            .args(arguments)
            .env("DATABASE_URL", self.database.url_for("postgres"))
            .env("TIDEMARK_OPERATOR", "night-shift")
            .output()
            .unwrap()
    }

    /// The one JSON document on stdout of a command that succeeds.
    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Exit status and stderr of a command that fails, which prints nothing on stdout.
    fn fails(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    async fn save(&self, user: Uuid, exercise: &str) {
        let workout = json!([{"id": Uuid::new_v4(), "local_start": "2026-03-02T18:00:00", "title": "", "notes": "",
            "sets": [{"position": 0, "exercise": exercise, "kind": "normal", "weight": "102.5", "unit": "kg", "reps": 5,
                "notes": ""}]}]);
        let statement = "select tidemark.import_workouts_v1($1, 'test', 'UTC', $2)";
        self.client.execute(statement, &[&user, &workout]).await.unwrap();
    }

    /// Runs the whole pipeline once.
    fn tick(&self) {
        for function in ["claim", "compute", "publish"] {
            assert!(self.run(&["tick", function]).status.success());
        }
    }

    async fn number(&self, statement: &str) -> i64 {
        self.client.query_one(statement, &[]).await.unwrap().get(0)
    }
}

#[tokio::test]
async fn the_status_document_is_printed_exactly_as_the_database_composes_it() {
    let operator = Operator::new().await;
    let mut printed = operator.json(&["status"]);
    let mut composed: Value =
        operator.client.query_one("select stats_projection_worker_status_v1()", &[]).await.unwrap().get(0);
    // Only the clock moves between the two.
    printed.as_object_mut().unwrap().remove("as_of").unwrap();
    composed.as_object_mut().unwrap().remove("as_of").unwrap();
    assert_eq!(printed, composed);
}

#[tokio::test]
async fn a_changed_setting_is_stored_with_its_note_and_history() {
    let operator = Operator::new().await;
    let row = operator.json(&["settings", "set", "max_active=7", "work_enabled=false", "--note", "it's 'quoted'"]);
    assert_eq!((&row["max_active"], &row["work_enabled"]), (&json!(7), &json!(false)));
    assert_eq!(row["note"], "it's 'quoted'");
    assert_eq!(operator.json(&["settings"]), row);
    assert_eq!(operator.number("select count(*) from stats_projection_worker_settings_history").await, 1);
}

#[tokio::test]
async fn a_refused_value_explains_the_constraint_and_changes_nothing() {
    let operator = Operator::new().await;
    let before = operator.json(&["settings"]);
    let cases = [
        ("publish_timeout_ms=8000", "below 8000, the save limit"),
        ("lease_seconds=66", "66000 is not above 60000 + 6000"),
        ("compute_timeout_ms=600000", "300000 is not above 600000 + 6000"),
        ("max_attempts=21", "between 1 and 20"),
        ("history_retention_days=-1", "between 1 and 365"),
        ("work_timeout_ms=900000", "between 100 and 840000"),
        ("job_lease_seconds=2", "between 3 and 3600"),
        ("job_backoff_max_seconds=0", "between 1 and 86400"),
        ("job_aging_seconds=0", "between 1 and 86400"),
        ("alert_oldest_pending_seconds=9", "between 10 and 86400"),
        ("alert_tick_age_seconds=86401", "between 10 and 86400"),
    ];
    for (assignment, explanation) in cases {
        let (code, text) = operator.fails(&["settings", "set", "backoff_seconds=1", assignment]);
        assert_eq!(code, 1, "{text}");
        assert!(text.contains(explanation), "{assignment}: {text}");
        let column = assignment.split('=').next().unwrap();
        assert!(text.contains(column), "{assignment}: {text}");
    }
    assert_eq!(operator.json(&["settings"]), before);
}

#[tokio::test]
async fn every_column_of_the_settings_row_is_shown_and_can_be_changed() {
    let operator = Operator::new().await;
    let row = operator.json(&["settings"]);
    let screen = String::from_utf8(operator.run(&["settings"]).stdout).unwrap();
    for (name, value) in row.as_object().unwrap() {
        if ["id", "note", "updated_at"].contains(&name.as_str()) {
            continue;
        }
        assert!(screen.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))), "{name}: {screen}");
        let changed = match value {
            Value::Bool(on) => json!(!on),
            number => json!(number.as_i64().unwrap() + 1),
        };
        let answer = operator.json(&["settings", "set", &format!("{name}={changed}")]);
        let expected =
            row.as_object().unwrap().iter().filter(|(other, _)| !["note", "updated_at"].contains(&other.as_str()));
        for (other, before) in expected {
            assert_eq!(&answer[other], if other == name { &changed } else { before }, "{name} changes {other}");
        }
        operator.json(&["settings", "set", &format!("{name}={value}")]);
    }
}

#[tokio::test]
async fn an_unknown_setting_is_wrong_usage_and_the_known_ones_are_listed() {
    let operator = Operator::new().await;
    let (code, text) = operator.fails(&["settings", "set", "max_actve=3"]);
    assert_eq!(code, 2);
    assert!(text.contains("max_active") && text.contains("history_retention_days"), "{text}");
}

#[tokio::test]
async fn pausing_and_resuming_turn_exactly_the_named_switches() {
    let operator = Operator::new().await;
    let switches = |row: &Value| {
        ["claim_enabled", "compute_enabled", "publish_enabled", "work_enabled"].map(|name| row[name].as_bool().unwrap())
    };
    let row = operator.json(&["pause", "claim", "publish", "--note", "maintenance"]);
    assert_eq!(switches(&row), [false, true, false, true]);
    assert_eq!(row["note"], "maintenance");
    assert_eq!(switches(&operator.json(&["resume", "claim"])), [true, true, false, true]);
    assert_eq!(switches(&operator.json(&["pause"])), [false; 4]);
    assert_eq!(switches(&operator.json(&["resume"])), [true; 4]);
    assert_eq!(operator.fails(&["pause", "clame"]).0, 2);
}

#[tokio::test]
async fn requests_mark_the_named_users_or_all_of_them_as_stale() {
    let operator = Operator::new().await;
    for user in [USER, OTHER] {
        operator.save(user, "Squat").await;
    }
    operator.tick();
    operator.tick();
    let stale = "select count(*) from user_stats_projection_state where requested_generation > applied_generation";
    assert_eq!(operator.number(stale).await, 0);
    let user = USER.to_string();
    assert_eq!(operator.json(&["refresh", "request", &user, &user])["users"], 1);
    assert_eq!(operator.number(stale).await, 1);
    assert_eq!(operator.json(&["refresh", "request", "--all", "--low-priority"])["users"], 2);
    assert_eq!(operator.number(stale).await, 2);
    for wrong in [&["refresh", "request"][..], &["refresh", "request", "--all", &user], &["refresh", "resume"]] {
        assert_eq!(operator.fails(wrong).0, 2, "{wrong:?}");
    }
}

#[tokio::test]
async fn a_rebuild_is_started_once_shown_and_cancelled() {
    let operator = Operator::new().await;
    operator.save(USER, "Squat").await;
    operator.tick();
    operator.tick();
    assert!(operator.json(&["refresh", "rebuild", "--status"])["rebuild"].is_null());
    let started = operator.json(&["refresh", "rebuild"]);
    assert_eq!((&started["started"], &started["rebuild"]["cause"]), (&true.into(), &"operator".into()));
    assert_eq!(operator.json(&["refresh", "rebuild"])["started"], false);
    assert_eq!(operator.json(&["refresh", "rebuild", "--cancel"])["cancelled"], true);
    assert_eq!(operator.json(&["refresh", "rebuild", "--cancel"])["cancelled"], false);
    let screen = operator.run(&["status"]);
    let screen = String::from_utf8(screen.stdout).unwrap();
    assert!(screen.contains("The last rebuild was cancelled") && screen.contains("REBUILD"), "{screen}");

    operator.json(&["refresh", "rebuild"]);
    operator.tick();
    operator.tick();
    let told = operator.json(&["refresh", "rebuild", "--status"]);
    let last = (&told["rebuild"]["phase"], &told["rebuild"]["percent"], &told["rebuild"]["users_done"]);
    assert_eq!(last, (&"done".into(), &100.into(), &1.into()));
    assert_eq!(operator.fails(&["refresh", "rebuild", "--status", "--cancel"]).0, 2);
}

#[tokio::test]
async fn a_request_that_names_an_unknown_user_says_who_and_marks_nobody() {
    let operator = Operator::new().await;
    operator.save(USER, "Squat").await;
    operator.tick();
    let (user, other) = (USER.to_string(), OTHER.to_string());
    let (code, text) = operator.fails(&["refresh", "request", &user, &other]);
    assert!(code == 1 && text.contains(&other) && !text.contains(&user), "{text}");
    assert!(text.contains("nobody was marked") && text.contains("next: "), "{text}");
    let strangers: Vec<String> = (0..7).map(|_one| Uuid::new_v4().to_string()).collect();
    let arguments: Vec<&str> = ["refresh", "request"].into_iter().chain(strangers.iter().map(String::as_str)).collect();
    let (code, text) = operator.fails(&arguments);
    assert!(code == 1 && text.contains("and 2 more"), "{text}");
    let stale = "select count(*) from user_stats_projection_state where requested_generation > applied_generation";
    assert_eq!(operator.number(stale).await, 0);
}

#[tokio::test]
async fn all_users_are_asked_for_however_many_batches_it_takes() {
    let operator = Operator::new().await;
    let statement =
        "insert into user_stats_projection_state (user_id) select gen_random_uuid() from generate_series(1, 1203)";
    operator.client.execute(statement, &[]).await.unwrap();
    let (code, text) = operator.fails(&["refresh", "request", "--all"]);
    assert!(code == 2 && text.contains("1203 users would be computed anew"), "{text}");
    assert!(text.contains("next: ") && text.contains("`tidemark refresh request --all --yes`"), "{text}");
    assert_eq!(operator.number("select count(*) from user_exercise_stats_refresh_jobs").await, 0);
    assert_eq!(operator.json(&["refresh", "request", "--all", "--yes"])["users"], 1203);
    let audited = operator.json(&["audit"])["actions"].clone();
    assert_eq!((&audited[0]["rows_changed"], &audited[1]), (&1203.into(), &Value::Null), "one line for all batches");
    let waiting = "select count(distinct user_id) from user_exercise_stats_refresh_jobs where status = 'pending'";
    assert_eq!(operator.number(waiting).await, 1203);
}

#[tokio::test]
async fn what_is_changed_by_hand_is_remembered_with_who_and_why() {
    let operator = Operator::new().await;
    operator.save(USER, "Squat").await;
    operator.tick();
    let user = USER.to_string();
    let job =
        operator.json(&["jobs", "enqueue", "--type", "7", "--payload", "{}", "--note", "try it"])["job_id"].clone();
    let job = job.as_str().unwrap().to_owned();
    operator.json(&["settings", "set", "max_active=3", "--note", "more"]);
    operator.json(&["pause", "claim", "--note", "night"]);
    operator.json(&["resume", "claim"]);
    operator.json(&["refresh", "request", &user, "--note", "asked by support"]);
    operator.json(&["jobs", "cancel", &job]);
    operator.json(&["jobs", "requeue", &job]);
    operator.json(&["refresh", "rebuild"]);
    operator.json(&["refresh", "rebuild", "--cancel"]);
    // What changes nothing leaves no line, whether it was refused or there was nothing to do.
    operator.fails(&["settings", "set", "max_active=0", "--note", "none"]);
    operator.json(&["refresh", "rebuild", "--cancel"]);
    operator.json(&["refresh", "resume", "--all-failed"]);
    let listed = operator.json(&["audit"]);
    let told: Vec<(&str, &str, i64, &str)> = listed["actions"]
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .map(|action| {
            let text = |name: &str| action[name].as_str().unwrap();
            (text("command"), text("subject"), action["rows_changed"].as_i64().unwrap(), text("note"))
        })
        .collect();
    let enqueued = format!("{job}, type 7");
    let expected = [
        ("jobs enqueue", enqueued.as_str(), 1, "try it"),
        ("settings set", "max_active=3", 1, "more"),
        ("pause", "claim", 1, "night"),
        ("resume", "claim", 1, ""),
        ("refresh request", user.as_str(), 1, "asked by support"),
        ("jobs cancel", job.as_str(), 1, ""),
        ("jobs requeue", job.as_str(), 1, ""),
        ("refresh rebuild", "everybody", 1, ""),
        ("refresh rebuild", "--cancel", 1, ""),
    ];
    assert_eq!(told, expected);
    let newest = &listed["actions"][0];
    assert_eq!((&newest["operator"], &newest["database_role"]), (&"night-shift".into(), &"postgres".into()));
    let screen = operator.run(&["audit", "--limit", "2"]);
    let screen = String::from_utf8(screen.stdout).unwrap();
    assert!(screen.contains("night-shift as postgres") && !screen.contains("max_active"), "{screen}");
}

#[tokio::test]
async fn lines_of_the_audit_go_after_400_days_and_are_nobodys_to_write_for_another() {
    let operator = Operator::new().await;
    let old = "insert into tidemark.operator_actions (command, subject, rows_changed, operator, note, acted_at)
        select 'pause', 'claim', 1, 'somebody', '', now() - interval '401 days' from generate_series(1, 3)";
    operator.client.execute(old, &[]).await.unwrap();
    operator.json(&["pause", "--note", "now"]);
    assert_eq!(operator.number("select count(*) from tidemark.operator_actions").await, 1);
    let worker = operator.database.worker().await;
    let add = "select tidemark.action_record_v1((select 1::bigint), 'pause', '', 5, '', '')";
    let id = operator.number("select max(id) from tidemark.operator_actions").await;
    worker.execute(&add.replace("(select 1::bigint)", &id.to_string()), &[]).await.unwrap();
    assert_eq!(operator.number("select rows_changed from tidemark.operator_actions").await, 1);
}

#[tokio::test]
async fn a_resumed_refresh_begins_anew_and_nobody_elses_does() {
    let operator = Operator::new().await;
    for user in [USER, OTHER] {
        operator.save(user, "Squat").await;
    }
    let exhaust =
        "update user_exercise_stats_refresh_jobs set status = 'failed', attempts = 3, error_message = 'broken'";
    operator.client.execute(exhaust, &[]).await.unwrap();
    let resumed = operator.json(&["refresh", "resume", &USER.to_string()]);
    assert_eq!(resumed, json!({"users": 1, "jobs": 1, "runs": 0}));
    let rows = operator
        .client
        .query(
            "select user_id, status, attempts, error_message from user_exercise_stats_refresh_jobs order by user_id",
            &[],
        )
        .await
        .unwrap();
    let states: Vec<(Uuid, String, i32, String)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect();
    assert_eq!(states[0], (USER, "pending".to_owned(), 0, String::new()));
    assert_eq!(states[1], (OTHER, "failed".to_owned(), 3, "broken".to_owned()));

    assert_eq!(operator.json(&["refresh", "resume", "--all-failed"])["jobs"], 1);
    assert_eq!(operator.json(&["refresh", "resume", "--all-failed"]), json!({"users": 0, "jobs": 0, "runs": 0}));
}

#[tokio::test]
async fn a_resume_ends_the_backoff_of_the_users_failed_runs() {
    let operator = Operator::new().await;
    operator.save(USER, "Squat").await;
    assert!(operator.run(&["tick", "claim"]).status.success());
    let fail = "select tidemark.run_fail_v1(id, attempt, lease_token, 'panic', '') from user_stats_projection_runs";
    operator.client.execute(fail, &[]).await.unwrap();
    let waiting = "select count(*) from user_stats_projection_runs where retry_not_before is not null";
    assert_eq!(operator.number(waiting).await, 1);
    assert_eq!(operator.json(&["refresh", "resume", &USER.to_string()])["runs"], 1);
    assert_eq!(operator.number(waiting).await, 0);
    let pending = "select count(*) from user_stats_projection_state where retry_not_before is not null";
    assert_eq!(operator.number(pending).await, 0, "the next claim may take the user");
}

#[tokio::test]
async fn published_statistics_are_printed_with_every_column_and_exact_figures() {
    let operator = Operator::new().await;
    operator.save(USER, "Squat").await;
    let user = USER.to_string();
    let before = operator.json(&["stats", &user]);
    assert_eq!((&before["stale"], &before["user_stats_summary"]), (&json!(true), &Value::Null));
    operator.tick();
    let published = operator.json(&["stats", &user]);
    assert_eq!(published["stale"], false);
    assert_eq!(published["user_stats_summary"]["workouts"], 1);
    assert_eq!(published["user_exercise_stats"][0]["exercise_name"], "Squat");
    for table in ["user_exercise_stats", "user_exercise_rep_maxes", "user_exercise_stats_weekly"] {
        let statement =
            "select count(*) from information_schema.columns where table_name = $1 and table_schema = 'public'";
        let columns: i64 = operator.client.query_one(statement, &[&table]).await.unwrap().get(0);
        let row = published[table][0].as_object().unwrap();
        assert_eq!(i64::try_from(row.len()).unwrap(), columns, "{table}");
    }
    let text = String::from_utf8(operator.run(&["stats", &user, "--json"]).stdout).unwrap();
    let exact = "select best_e1rm_kg::text from user_exercise_stats";
    let exact: String = operator.client.query_one(exact, &[]).await.unwrap().get(0);
    assert!(text.contains(&format!("\"best_e1rm_kg\": {exact}")), "{exact} is not in {text}");
}

#[tokio::test]
async fn one_exercise_is_found_by_name_and_unknown_names_and_users_are_errors() {
    let operator = Operator::new().await;
    operator.save(USER, "Squat").await;
    operator.save(USER, "Bench Press (Barbell)").await;
    operator.tick();
    let user = USER.to_string();
    let one = operator.json(&["stats", &user, "--exercise", "bench press (barbell)"]);
    assert_eq!(one["user_exercise_stats"].as_array().unwrap().len(), 1);
    assert_eq!(one["user_exercise_rep_maxes"].as_array().unwrap().len(), 5);
    let screen = String::from_utf8(operator.run(&["stats", &user, "--exercise", "Squat"]).stdout).unwrap();
    assert!(screen.contains("102.5 kg") && screen.contains("REP MAX") && !screen.contains("Bench"), "{screen}");

    let (code, text) = operator.fails(&["stats", &user, "--exercise", "Squad"]);
    assert!(code == 1 && text.contains("Squad"), "{text}");
    let (code, text) = operator.fails(&["stats", &OTHER.to_string()]);
    assert!(code == 1 && text.contains(&OTHER.to_string()), "{text}");
}

#[tokio::test]
async fn a_role_without_rights_and_an_unmigrated_database_are_told_what_to_do() {
    let operator = Operator::new().await;
    let worker = operator.database.url_for("tidemark_worker");
    let (code, text) = operator.fails(&["settings", "--database-url", &worker]);
    assert!(code == 1 && text.contains("connect as the role that migrated"), "{text}");
    let empty = TestDatabase::empty().await;
    for command in ["status", "settings"] {
        let (code, text) = operator.fails(&[command, "--database-url", &empty.url_for("postgres")]);
        assert!(code == 1 && text.contains("tidemark migrate"), "{command}: {text}");
    }
}

#[tokio::test]
async fn a_schema_of_another_release_is_told_with_who_is_older() {
    let operator = Operator::new().await;
    let version = tidemark_migrations::latest_version();
    let check = |words: &str, next: &str| {
        let (code, text) = operator.fails(&["status"]);
        assert!(code == 1 && text.contains(words) && text.contains(next), "{text}");
        let ticked = operator.run(&["tick", "claim"]);
        let text = String::from_utf8(ticked.stderr).unwrap();
        assert!(ticked.status.code() == Some(1) && text.contains(words) && text.contains("tidemark migrate"), "{text}");
    };
    let newer = "update tidemark.schema_migrations set version = $1 where version = $2";
    operator.client.execute(newer, &[&(version + 100), &version]).await.unwrap();
    let minimum = format!(
        "create or replace function tidemark.minimum_function_version() returns integer
        language sql immutable security definer set search_path = pg_catalog, pg_temp as 'select {}'",
        version + 100
    );
    operator.client.batch_execute(&minimum).await.unwrap();
    check("this build is older than the schema", "at least as new");
    operator.client.execute("delete from tidemark.schema_migrations where version > $1", &[&version]).await.unwrap();
    check("the schema is older than this", "next: run `tidemark migrate`");
}

#[tokio::test]
async fn a_role_or_database_that_is_not_there_is_told_from_a_server_that_is_not() {
    let operator = Operator::new().await;
    let nobody = operator.database.url_for("nobody_of_this_name");
    let nowhere = operator.database.url_for("postgres").replace(operator.database.name(), "nothing_of_this_name");
    for (url, code, words) in [(nobody, "28000", "may log in"), (nowhere, "3D000", "end of the URL")] {
        for command in ["status", "settings"] {
            let (status, text) = operator.fails(&[command, "--database-url", &url]);
            assert!(status == 1 && text.contains(code) && text.contains(words), "{command}: {text}");
            assert!(!text.contains("refused the statement") && !text.contains("of_this_name"), "{command}: {text}");
        }
        let ticked = operator.run(&["tick", "claim", "--database-url", &url]);
        let text = String::from_utf8(ticked.stderr).unwrap();
        assert!(ticked.status.code() == Some(1) && text.contains(words), "{text}");
    }
}

#[tokio::test]
async fn every_command_of_the_operator_has_an_example_in_its_help() {
    let operator = Operator::new().await;
    let commands = [
        &["status"][..],
        &["settings"],
        &["settings", "set"],
        &["pause"],
        &["resume"],
        &["refresh"],
        &["refresh", "request"],
        &["refresh", "resume"],
        &["stats"],
    ];
    for command in commands {
        let output = operator.run(&[command, &["--help"]].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("Example"), "{command:?}: {text}");
    }
}
