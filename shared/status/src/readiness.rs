//! Whether the system can be relied on: named checks, no figures.

use serde::Serialize;
use serde_json::{Value, json};
use tidemark_queue::{Connection, Error};
use tidemark_runbook::Symptom;

use crate::document::{Document, Ticking};
use crate::reading;

/// How one check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// As it should be.
    Ok,
    /// Paused by the settings row, which is as somebody wanted it.
    Paused,
    /// Not as it should be.
    Failed,
    /// Could not be looked at, because an earlier check failed.
    Unknown,
}

/// The checks, in the order in which they were made.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readiness {
    checks: Vec<(&'static str, Verdict)>,
}

impl Readiness {
    /// Makes every check over `connection`.
    pub(crate) async fn check(connection: &mut Connection) -> Self {
        let mut readiness = Self::default();
        let schema = reading::schema_is_known(connection).await;
        readiness.note("database", if reachable(schema.as_ref().err()) { Verdict::Ok } else { Verdict::Failed });
        readiness.note(
            "schema_version",
            match schema {
                Ok(true) => Verdict::Ok,
                Ok(false) | Err(Error::SchemaMismatch(_)) => Verdict::Failed,
                Err(_) => Verdict::Unknown,
            },
        );
        let document = match schema {
            Ok(true) => reading::read(connection).await.ok().and_then(|value| Document::from_value(&value).ok()),
            Ok(false) | Err(_) => None,
        };
        readiness.note_document(document.as_ref());
        readiness
    }

    /// Whether nothing failed.
    pub(crate) fn is_ready(&self) -> bool {
        self.checks.iter().all(|(_name, verdict)| matches!(verdict, Verdict::Ok | Verdict::Paused))
    }

    /// Names and verdicts, as a JSON object.
    pub(crate) fn to_json(&self) -> Value {
        Value::Object(self.checks.iter().map(|(name, verdict)| ((*name).to_owned(), json!(verdict))).collect())
    }

    /// Of the checks that failed, the sections of the operations guide that tell what to do, as a JSON object by name.
    pub(crate) fn runbook(&self) -> Value {
        let failed = self.checks.iter().filter(|(_name, verdict)| *verdict == Verdict::Failed);
        Value::Object(failed.map(|(name, _verdict)| ((*name).to_owned(), json!(symptom(name).section()))).collect())
    }

    fn note_document(&mut self, document: Option<&Document>) {
        let Some(document) = document else {
            for name in ["ticks_claim", "ticks_compute", "ticks_publish", "ticks_work", "leases", "job_leases"] {
                self.note(name, Verdict::Unknown);
            }
            return;
        };
        for (function, ticking) in document.ticking() {
            self.note(
                check_name(function),
                match ticking {
                    Ticking::Fresh => Verdict::Ok,
                    Ticking::Paused => Verdict::Paused,
                    Ticking::Stopped(_) | Ticking::Never => Verdict::Failed,
                },
            );
        }
        let recovered = document.leases.expired_unrecovered <= 0;
        self.note("leases", if recovered { Verdict::Ok } else { Verdict::Failed });
        if let Some(jobs) = &document.jobs {
            let recovered = jobs.expired_unrecovered <= 0;
            self.note("job_leases", if recovered { Verdict::Ok } else { Verdict::Failed });
        }
    }

    fn note(&mut self, name: &'static str, verdict: Verdict) {
        self.checks.push((name, verdict));
    }
}

/// A refused statement is an answer all the same, and so is a schema that does not fit: the server is there.
fn reachable(error: Option<&Error>) -> bool {
    matches!(error, None | Some(Error::Database { .. } | Error::SchemaMismatch(_)))
}

fn check_name(function: &'static str) -> &'static str {
    match function {
        "claim" => "ticks_claim",
        "compute" => "ticks_compute",
        "publish" => "ticks_publish",
        _ => "ticks_work",
    }
}

/// What the failure of a check is a symptom of.
fn symptom(check: &str) -> Symptom {
    match check {
        "database" => Symptom::DatabaseUnreachable,
        "schema_version" => Symptom::SchemaMismatch,
        "leases" | "job_leases" => Symptom::LeasesNotRecovered,
        _ => Symptom::FunctionNotTicking,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::{healthy, healthy_with_jobs};

    fn of(value: &Value) -> Readiness {
        let mut readiness = Readiness::default();
        readiness.note_document(Some(&Document::from_value(value).expect("a document")));
        readiness
    }

    #[test]
    fn a_healthy_system_is_ready_and_the_answer_holds_no_figure() {
        let readiness = of(&healthy());
        assert!(readiness.is_ready());
        assert!(!readiness.to_json().to_string().contains(char::is_numeric));
    }

    #[test]
    fn the_same_checks_are_named_with_the_database_and_without() {
        let mut without = Readiness::default();
        without.note_document(None);
        let names = |readiness: &Readiness| {
            let mut names: Vec<&str> = readiness.checks.iter().map(|(name, _verdict)| *name).collect();
            names.sort_unstable();
            names.join(" ")
        };
        assert_eq!(names(&without), names(&of(&healthy_with_jobs())));
    }

    #[test]
    fn a_paused_function_does_not_make_the_system_unready() {
        let mut value = healthy();
        value["ticks"]["claim"]["age_seconds"] = json!(9000);
        assert!(!of(&value).is_ready());
        value["settings"]["claim_enabled"] = json!(false);
        assert!(of(&value).is_ready());
        assert_eq!(of(&value).to_json()["ticks_claim"], "paused");
    }

    #[test]
    fn an_unrecovered_lease_makes_the_system_unready() {
        let mut value = healthy();
        value["leases"]["expired_unrecovered"] = json!(1);
        assert!(!of(&value).is_ready());
        assert_eq!(of(&value).to_json()["leases"], "failed");
        let mut value = healthy_with_jobs();
        assert!(of(&value).is_ready());
        value["jobs"]["expired_unrecovered"] = json!(1);
        assert!(!of(&value).is_ready());
        assert_eq!(of(&value).to_json()["job_leases"], "failed");
    }

    #[test]
    fn each_failed_check_names_the_section_that_its_alert_names() {
        let mut value = healthy_with_jobs();
        assert_eq!(of(&value).runbook(), json!({}));
        value["ticks"]["claim"]["age_seconds"] = json!(9000);
        value["leases"]["expired_unrecovered"] = json!(1);
        value["jobs"]["expired_unrecovered"] = json!(1);
        let section = |kind| Symptom::of_alert(kind).expect("a kind of alert").section();
        let leases = section("leases_not_recovered");
        let named = json!({"ticks_claim": section("function_not_ticking"), "leases": leases, "job_leases": leases});
        assert_eq!(of(&value).runbook(), named);
        let mut away = Readiness::default();
        away.note("database", Verdict::Failed);
        away.note("schema_version", Verdict::Failed);
        let named = [Symptom::DatabaseUnreachable, Symptom::SchemaMismatch].map(Symptom::section);
        assert_eq!(away.runbook(), json!({"database": named[0], "schema_version": named[1]}));
    }

    #[test]
    fn without_a_document_nothing_is_taken_for_granted() {
        let mut readiness = Readiness::default();
        readiness.note_document(None);
        assert!(!readiness.is_ready());
    }
}
