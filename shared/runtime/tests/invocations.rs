//! A real function process under the Lambda Runtime API.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidemark_testkit::{InvocationError, Simulator, TestDatabase};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::Notify;
use tokio_postgres::config::Host;

/// Nothing here takes this long unless it hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// Longer than the rest after which a connection is tried before it is used. That much time has to pass for real.
const BEYOND_REST: Duration = Duration::from_millis(1_600);

const PROBE: &str = env!("CARGO_BIN_EXE_probe");

const UNREACHABLE: &str = "postgres://user:url-canary@127.0.0.1:1/app";

async fn probe(behaviour: &str, database_url: &str) -> Simulator {
    let environment = [("PROBE", behaviour), ("DATABASE_URL", database_url), ("PROBE_ROW", "row-canary")];
    Simulator::start(PROBE, environment).await.unwrap()
}

fn log_lines(simulator: &Simulator) -> Vec<Value> {
    simulator.logs().iter().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

#[tokio::test]
async fn every_event_is_answered_with_a_summary() {
    let simulator = probe("", UNREACHABLE).await;
    for event in [json!({}), json!(null), json!([1]), json!("text"), json!({"detail-type": "Scheduled Event"})] {
        let summary = simulator.invoke(event.clone(), LIMIT).await.unwrap();
        assert_eq!(summary["function"], "probe", "{event}");
        assert_eq!(summary["outcome"], "idle");
        assert_eq!(summary["recovered"], 0, "no planned instant in {event}");
    }
    let summary = simulator.invoke(json!({"planned_at": "2026-03-01T12:00:07Z"}), LIMIT).await.unwrap();
    assert_eq!(summary["recovered"], 1, "the planned instant was read");
}

#[tokio::test]
async fn the_deadline_of_the_platform_is_known_and_one_in_1970_is_unknown() {
    let simulator = probe("", UNREACHABLE).await;
    let summary = simulator.invoke(json!({}), LIMIT).await.unwrap();
    let left = summary["absorbed"].as_u64().unwrap();
    assert!((10_000..20_000).contains(&left), "{left} ms of {LIMIT:?} less the margin");
    let summary = simulator.invoke_with_past_deadline(json!({}), LIMIT).await.unwrap();
    assert_eq!(summary["absorbed"], 0, "unknown");
}

#[tokio::test]
async fn a_panic_is_answered_and_logged_without_data_and_the_next_invocation_is_served() {
    let simulator = probe("panic", UNREACHABLE).await;
    for _ in 0..2 {
        let error = simulator.invoke(json!({}), LIMIT).await.unwrap_err();
        let InvocationError::Function { error_type, error_message } = error else { panic!("{error:?}") };
        assert_eq!(error_type, "HandlerPanicked");
        assert!(!error_message.contains("canary"), "{error_message}");
    }
    let place = simulator.wait_for_log(LIMIT, |line| line.contains("panic.location")).await.unwrap();
    assert!(place.contains("probe.rs"), "{place}");
    assert!(!simulator.logs().join("\n").contains("canary"));
}

#[tokio::test]
async fn log_lines_are_json_and_name_the_request() {
    let simulator = probe("query", UNREACHABLE).await;
    simulator.invoke(json!({}), LIMIT).await.unwrap();
    simulator.wait_for_log(LIMIT, |line| line.contains("invocation ended")).await.unwrap();
    let lines = log_lines(&simulator);
    let line = lines.iter().find(|line| line["message"] == "invocation ended").unwrap();
    assert_eq!(line["level"], "WARN");
    assert_eq!(line["outcome"], "unavailable");
    assert_eq!(line["error.code"], "refused");
    assert_eq!(line["span"]["function.name"], "probe");
    assert!(line["span"]["request.id"].as_str().is_some_and(|id| !id.is_empty()), "{line}");
    assert!(line["span"]["worker.id"].as_str().is_some_and(|id| !id.is_empty()), "{line}");
}

#[tokio::test]
async fn neither_the_database_url_nor_a_parameter_is_logged_at_the_most_detailed_level() {
    let database = TestDatabase::new().await;
    let reachable = format!("{}&password=url-canary", database.url_for("postgres"));
    for (url, outcome) in [(UNREACHABLE, "unavailable"), (&reachable, "worked")] {
        let level = ("RUST_LOG", "trace,tokio_postgres=trace,tokio_postgres::query=trace");
        let environment = [("PROBE", "query"), ("DATABASE_URL", url), ("PROBE_ROW", "row-canary"), level];
        let simulator = Simulator::start(PROBE, environment).await.unwrap();
        assert_eq!(simulator.invoke(json!({}), LIMIT).await.unwrap()["outcome"], outcome);
        simulator.wait_for_log(LIMIT, |line| line.contains("invocation ended")).await.unwrap();
        let logs = simulator.logs().join("\n");
        assert!(logs.contains("TRACE"), "the level was taken");
        assert!(!logs.contains("canary"), "{logs}");
    }
}

#[tokio::test]
async fn a_missing_or_unusable_url_ends_the_start_and_only_the_variable_is_named() {
    for url in ["", "canary", "postgres://user:canary@db.example.test/app?sslmode=disable"] {
        let simulator = probe("", url).await;
        let status = simulator.ended().await.unwrap();
        assert_eq!(status.code(), Some(1));
        let line = simulator.wait_for_log(LIMIT, |line| line.contains("DATABASE_URL")).await.unwrap();
        assert!(!line.contains("canary"), "{line}");
    }
}

#[tokio::test]
async fn a_process_started_by_hand_says_how_to_start_it() {
    let output = std::process::Command::new(PROBE).env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("cargo lambda watch"), "{text}");
}

#[tokio::test]
async fn sigterm_at_rest_ends_the_process_at_once() {
    let simulator = probe("", UNREACHABLE).await;
    simulator.invoke(json!({}), LIMIT).await.unwrap();
    simulator.terminate();
    assert_eq!(simulator.ended().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn sigterm_lets_the_invocation_under_way_answer_first() {
    let simulator = probe("wait", UNREACHABLE).await;
    let (answer, ()) = tokio::join!(simulator.invoke(json!({}), LIMIT), async {
        simulator.wait_for_log(LIMIT, |line| line.contains("waiting")).await.unwrap();
        simulator.terminate();
    });
    assert_eq!(answer.unwrap()["function"], "probe");
    assert_eq!(simulator.ended().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_function_that_hangs_is_killed_at_its_deadline_and_started_anew() {
    let simulator = probe("hang", UNREACHABLE).await;
    let before = simulator.process_id();
    for _ in 0..2 {
        let error = simulator.invoke(json!({}), Duration::from_millis(500)).await.unwrap_err();
        assert_eq!(error, InvocationError::DeadlineExceeded);
    }
    assert_ne!(simulator.process_id(), before);
}

#[tokio::test]
async fn a_kill_in_the_middle_of_an_invocation_is_told_apart_from_an_answer() {
    let simulator = probe("hang", UNREACHABLE).await;
    let (answer, ()) = tokio::join!(simulator.invoke(json!({}), LIMIT), async {
        simulator.wait_for_log(LIMIT, |line| line.contains("hanging")).await.unwrap();
        simulator.kill();
    });
    assert_eq!(answer.unwrap_err(), InvocationError::Exited { exit_code: None });
}

#[tokio::test]
async fn a_frozen_process_answers_nothing_until_it_is_thawed() {
    let simulator = probe("wait", UNREACHABLE).await;
    let started = Instant::now();
    // Twice as long as the probe waits.
    let frozen = Duration::from_millis(600);
    let answered = async {
        simulator.invoke(json!({}), LIMIT).await.unwrap();
        started.elapsed()
    };
    let (answered, ()) = tokio::join!(answered, async {
        simulator.wait_for_log(LIMIT, |line| line.contains("waiting")).await.unwrap();
        simulator.freeze();
        // The length of the freeze is what is tested, nothing waits for something else here.
        tokio::time::sleep(frozen).await;
        simulator.thaw();
    });
    assert!(answered >= frozen, "{answered:?}");
}

#[tokio::test]
async fn one_connection_serves_all_invocations_of_an_environment() {
    let database = TestDatabase::new().await;
    let simulator = probe("query", &database.url_for("postgres")).await;
    let first = simulator.invoke(json!({}), LIMIT).await.unwrap();
    assert_eq!(first["outcome"], "worked", "{first}");
    let second = simulator.invoke(json!({}), LIMIT).await.unwrap();
    assert_eq!(first["succeeded"], second["succeeded"], "the same server process");
    let admin = database.admin().await;
    let query = "select application_name from pg_stat_activity where pid = $1::bigint::integer";
    let process = i64::try_from(first["succeeded"].as_u64().unwrap()).unwrap();
    let name: String = admin.query_one(query, &[&process]).await.unwrap().get(0);
    assert_eq!(name, "tidemark-probe");
}

#[tokio::test]
async fn a_connection_that_died_during_a_freeze_is_replaced_within_the_invocation() {
    let database = TestDatabase::new().await;
    let admin = database.admin().await;
    let simulator = probe("query", &database.url_for("postgres")).await;
    let first = simulator.invoke(json!({}), LIMIT).await.unwrap();
    let process = i64::try_from(first["succeeded"].as_u64().unwrap()).unwrap();
    simulator.freeze();
    admin.execute("select pg_terminate_backend($1::bigint::integer, 5000)", &[&process]).await.unwrap();
    tokio::time::sleep(BEYOND_REST).await;
    let second = simulator.invoke(json!({}), LIMIT).await.unwrap();
    assert_eq!(second["outcome"], "worked", "{second}");
    assert_ne!(first["succeeded"], second["succeeded"]);
}

/// Forwards to the database's socket. When notified, the connections of that moment fall silent without being closed, as
/// behind a gateway that has forgotten them; later ones work.
async fn forgetful_gateway(database: &TestDatabase) -> (String, Arc<Notify>) {
    let config: tokio_postgres::Config = database.url_for("postgres").parse().unwrap();
    let Host::Unix(folder) = &config.get_hosts()[0] else { panic!("the test server listens on a socket") };
    let socket = folder.join(format!(".s.PGSQL.{}", config.get_ports()[0]));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://postgres@{}/{}", listener.local_addr().unwrap(), database.name());
    let forget = Arc::new(Notify::new());
    let forgotten = Arc::clone(&forget);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = UnixStream::connect(&socket).await.unwrap();
            let forgotten = Arc::clone(&forgotten);
            tokio::spawn(async move {
                tokio::select! {
                    _ = copy_bidirectional(&mut client, &mut server) => (),
                    () = forgotten.notified() => std::future::pending().await,
                }
            });
        }
    });
    (url, forget)
}

#[tokio::test]
async fn a_connection_that_fell_silent_at_rest_is_replaced_within_the_invocation() {
    let database = TestDatabase::new().await;
    let (url, forget) = forgetful_gateway(&database).await;
    let simulator = probe("query", &url).await;
    let first = simulator.invoke(json!({}), LIMIT).await.unwrap();
    assert_eq!(first["outcome"], "worked", "{first}");
    forget.notify_waiters();
    tokio::time::sleep(BEYOND_REST).await;
    let second = simulator.invoke(json!({}), LIMIT).await.unwrap();
    assert_eq!(second["outcome"], "worked", "{second}");
    assert_ne!(first["succeeded"], second["succeeded"]);
}
