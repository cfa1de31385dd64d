//! `tidemark doctor` before real troubles: each is found, and the remedy that it names works.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

use serde_json::Value;
use tidemark_testkit::TestDatabase;
use tokio_postgres::Client;

struct Patient {
    database: TestDatabase,
    admin: Client,
}

impl Patient {
    /// A database in which every function has just ticked.
    async fn new() -> Self {
        let database = TestDatabase::new().await;
        let patient = Self { admin: database.admin().await, database };
        for function in ["claim", "compute", "publish", "work"] {
            assert!(patient.run(&["tick", function]).status.success(), "{function}");
        }
        patient
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_tidemark"))
            .args(arguments)
            .env("DATABASE_URL", self.database.url_for("postgres"))
            .output()
            .unwrap()
    }

    /// What is not ok, as check, state, what and next; and whether the command succeeded as its document says.
    fn examine(&self, arguments: &[&str]) -> Vec<[String; 4]> {
        let output = self.run(&[&["doctor", "--json"], arguments].concat());
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["ok"].as_bool(), Some(output.status.success()), "{document}");
        let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        document["checks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| ["check", "state", "what", "next"].map(|name| text(finding, name)))
            .filter(|[_, state, ..]| state != "ok")
            .collect()
    }

    /// The only thing that is not ok.
    fn finding(&self, arguments: &[&str]) -> [String; 4] {
        let mut found = self.examine(arguments);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    async fn sql(&self, statement: &str) {
        self.admin.batch_execute(statement).await.unwrap();
    }
}

#[tokio::test]
async fn a_system_that_is_well_is_told_so_line_by_line() {
    let patient = Patient::new().await;
    assert_eq!(patient.examine(&[]), Vec::<[String; 4]>::new());
    let output = patient.run(&["doctor"]);
    let screen = String::from_utf8(output.stdout).unwrap();
    for line in ["ok       connection", "ok       schema", "ok       grants", "claim ticked", "All is well."] {
        assert!(screen.contains(line), "{line}: {screen}");
    }
    assert!(!screen.contains("next:"), "{screen}");
}

#[tokio::test]
async fn a_worker_without_a_right_is_found_and_the_remedy_gives_it_back() {
    let patient = Patient::new().await;
    patient.sql("REVOKE EXECUTE ON FUNCTION tidemark.publish_v1(bigint, integer, uuid) FROM tidemark_worker").await;
    let [check, state, what, next] = patient.finding(&[]);
    assert_eq!((check.as_str(), state.as_str()), ("grants", "failed"));
    assert!(what.contains("tidemark.publish_v1(bigint, integer, uuid)"), "{what}");
    patient.sql(&next).await;
    assert!(patient.examine(&[]).is_empty());
}

#[tokio::test]
async fn a_table_that_the_application_or_the_worker_may_read_is_found_and_the_remedy_closes_it() {
    let patient = Patient::new().await;
    patient
        .sql("GRANT SELECT ON public.alert_outbox TO anon; GRANT SELECT ON public.workouts TO tidemark_worker")
        .await;
    let found = patient.examine(&[]);
    let told: Vec<(&str, &str)> = found.iter().map(|[check, state, ..]| (check.as_str(), state.as_str())).collect();
    assert_eq!(told, [("grants", "warning"), ("grants of the application", "failed")], "{found:?}");
    for [.., next] in found {
        patient.sql(&next).await;
    }
    assert!(patient.examine(&[]).is_empty());
}

#[tokio::test]
async fn a_budget_that_the_function_does_not_live_to_see_is_found_and_the_remedy_fits() {
    let patient = Patient::new().await;
    let deployed = ["--function-timeout", "compute=30"];
    let [check, state, what, next] = patient.finding(&deployed);
    assert_eq!((check.as_str(), state.as_str()), ("settings", "failed"));
    assert!(what.contains("compute_timeout_ms is 60000") && next.contains("compute_timeout_ms=25000"), "{what} {next}");
    assert!(
        patient.run(&["settings", "set", "compute_timeout_ms=25000", "--note", "as the doctor says"]).status.success()
    );
    assert!(patient.examine(&deployed).is_empty());
    assert_eq!(patient.run(&["doctor", "--function-timeout", "compute=0"]).status.code(), Some(2));
}

#[tokio::test]
async fn what_is_paused_is_a_warning_and_what_does_not_tick_a_failure() {
    let patient = Patient::new().await;
    assert!(patient.run(&["pause", "claim", "--note", "for the night"]).status.success());
    let [_, state, what, next] = patient.finding(&[]);
    assert!(
        state == "warning" && what.contains("for the night") && next.contains("tidemark resume claim"),
        "{what} {next}"
    );
    patient.sql("UPDATE tidemark.ticks SET last_started_at = now() - interval '1 hour', last_ended_at = now() - interval '1 hour'
        WHERE function_name = 'publish'").await;
    let found = patient.examine(&[]);
    assert!(
        found.iter().any(|[_, state, what, _]| state == "failed" && what.starts_with("publish has not ticked")),
        "{found:?}"
    );
}

#[tokio::test]
async fn alerts_that_reach_nobody_and_tables_full_of_dead_rows_are_found() {
    let patient = Patient::new().await;
    patient
        .sql(
            "INSERT INTO public.alert_outbox (kind, subject, raised_at, last_raised_at)
        VALUES ('job_dead', 'job_type 7', now() - interval '6 minutes', now() - interval '6 minutes')",
        )
        .await;
    patient.sql("ALTER TABLE tidemark.operator_actions SET (autovacuum_enabled = off)").await;
    patient
        .sql(
            "INSERT INTO tidemark.operator_actions (command, subject, rows_changed, operator, note)
        SELECT 'pause', '', 1, '', '' FROM generate_series(1, 12000)",
        )
        .await;
    patient.sql("DELETE FROM tidemark.operator_actions").await;
    patient.sql("SELECT pg_stat_force_next_flush()").await;
    let found = patient.examine(&[]);
    let of = |wanted: &str| {
        found.iter().find(|[check, ..]| check == wanted).unwrap_or_else(|| panic!("{wanted}: {found:?}"))
    };
    assert!(of("alerts")[3].contains("tidemark alerts test"), "{found:?}");
    assert!(of("bloat")[3].contains("VACUUM tidemark.operator_actions"), "{found:?}");
}

#[tokio::test]
async fn a_database_that_is_not_there_or_not_migrated_is_said_and_nothing_else_is_tried() {
    let patient = Patient::new().await;
    let refused = |output: Output| -> Value {
        assert_eq!(output.status.code(), Some(1));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let nowhere =
        refused(patient.run(&["doctor", "--json", "--database-url", "postgres://nobody:canary@127.0.0.1:9/none"]));
    assert_eq!(nowhere["checks"].as_array().unwrap().len(), 1);
    assert!(!nowhere.to_string().contains("canary"), "{nowhere}");
    let unmigrated = TestDatabase::empty().await;
    let empty = refused(patient.run(&["doctor", "--json", "--database-url", &unmigrated.url_for("postgres")]));
    let last = empty["checks"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["check"], &last["next"]), (&"schema".into(), &"run `tidemark migrate`".into()), "{empty}");
}
