//! What needs an operator, in words, with the next step. The page and the command line show the same sentences.

use serde::Serialize;
use tidemark_runbook::Symptom;

use crate::document::{Document, Jobs, Rebuild, Ticking};

/// How urgent it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// Somebody has to act, or statistics stay behind.
    Action,
    /// Worth knowing; the system goes on by itself, or somebody wanted it so.
    Notice,
}

/// One thing that needs attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attention {
    /// How urgent it is.
    pub urgency: Urgency,
    /// What is the matter, as a sentence.
    pub what: String,
    /// The next thing to do.
    pub next: String,
    /// The section of the operations guide that tells more: the one that readiness and alerts name for the same trouble.
    pub section: &'static str,
}

impl Attention {
    fn action(symptom: Symptom, what: String, next: impl Into<String>) -> Self {
        Self { urgency: Urgency::Action, what, next: next.into(), section: symptom.section() }
    }

    fn notice(symptom: Symptom, what: String, next: impl Into<String>) -> Self {
        Self { urgency: Urgency::Notice, what, next: next.into(), section: symptom.section() }
    }
}

/// What needs attention, the most urgent first. Empty where nothing does.
#[must_use]
pub fn of(document: &Document) -> Vec<Attention> {
    let mut found = ticks(document);
    found.extend(exhausted(document));
    found.extend(expired(document));
    found.extend(long_wait(document));
    if let Some(jobs) = &document.jobs {
        found.extend(stuck_jobs(jobs));
        found.extend(jobs_standing_still(document, jobs));
        found.extend(dead_jobs(jobs));
        found.extend(jobs_over_their_deadline(jobs));
    }
    found.extend(outdated_compute(document));
    found.extend(document.rebuild.as_ref().and_then(rebuild));
    found.extend(recent_failures(document));
    found.extend(document.jobs.as_ref().and_then(open_alerts));
    found.sort_by_key(|attention| attention.urgency);
    found
}

fn ticks(document: &Document) -> Vec<Attention> {
    let mut found = Vec::new();
    for (name, ticking) in document.ticking() {
        let next = format!(
            "check the schedule that invokes {name} and the function's log; `tidemark tick {name}` runs it once by hand"
        );
        match ticking {
            Ticking::Fresh => {}
            Ticking::Never => {
                found.push(Attention::action(Symptom::FunctionNotTicking, format!("{name} has never ticked."), next));
            }
            Ticking::Stopped(age) => {
                let what = format!("{name} has not ticked for {}.", duration(age));
                found.push(Attention::action(Symptom::FunctionNotTicking, what, next));
            }
            Ticking::Paused => found.push(paused(document, name)),
        }
    }
    found
}

fn paused(document: &Document, name: &str) -> Attention {
    let pause = document.ticks.get(name).and_then(|tick| tick.paused.as_ref());
    let (since, note) = match pause {
        Some(pause) => (format!(" since {} by {}", minute(&pause.since), pause.by), pause.note.trim()),
        // The settings row was made like this, or the database is older than the record of who paused.
        None => (String::new(), document.settings.note.trim()),
    };
    let why = if note.is_empty() { String::new() } else { format!(" Note: {note}") };
    let next = format!("`tidemark resume {name}` once the reason is gone");
    Attention::notice(Symptom::FunctionPaused, format!("{name} is paused{since}.{why}"), next)
}

fn exhausted(document: &Document) -> Option<Attention> {
    let number = document.queue.exhausted_failed_jobs;
    (number > 0).then(|| {
        let what = match number {
            1 => "One refresh has used up its attempts; that user's statistics stay behind.".to_owned(),
            _ => format!("{number} refreshes have used up their attempts; those users' statistics stay behind."),
        };
        let next = "mend the cause that their error codes name, then `tidemark refresh resume --all-failed`";
        Attention::action(Symptom::RefreshExhausted, what, next)
    })
}

fn expired(document: &Document) -> Option<Attention> {
    let number = document.leases.expired_unrecovered;
    if number <= 0 {
        return None;
    }
    let what = match number {
        1 => "One lease has expired and is not recovered.".to_owned(),
        _ => format!("{number} leases have expired and are not recovered."),
    };
    if document.settings.claim_enabled {
        let next =
            "the next claim recovers it unless its worker still holds the row; if this stays, check claim's ticks";
        Some(Attention::action(Symptom::LeasesNotRecovered, what, next))
    } else {
        let next = "claim is paused; the first claim after `tidemark resume claim` recovers it";
        Some(Attention::notice(Symptom::LeasesNotRecovered, what, next))
    }
}

fn long_wait(document: &Document) -> Option<Attention> {
    let settings = &document.settings;
    let limit = settings.alert_oldest_pending_seconds;
    let waited = document.queue.oldest_pending_seconds.filter(|seconds| *seconds > limit)?;
    let running = settings.claim_enabled && settings.compute_enabled && settings.publish_enabled;
    running.then(|| {
        let what = format!("The oldest request has waited for {}.", duration(waited));
        let next = if document.leases.active >= settings.max_active {
            "every lease is taken: `tidemark settings set max_active=N` allows more at once"
        } else {
            "look at the failures and the backoff below, and at the ticks of claim"
        };
        Attention::action(Symptom::QueueStandingStill, what, next)
    })
}

/// A compute whose formulas are older than those of what is published gets no runs.
fn outdated_compute(document: &Document) -> Option<Attention> {
    let outdated = document.ticks.get("compute").is_some_and(|tick| tick.last_outcome == "outdated");
    outdated.then(|| {
        let next = "deploy the newest release of compute; to go back to older formulas, release them under a higher \
            definition version";
        let what = "A compute with an older definition of the figures ticks; it is given no work.";
        Attention::notice(Symptom::Rebuild, what.to_owned(), next)
    })
}

fn rebuild(rebuild: &Rebuild) -> Option<Attention> {
    if rebuild.phase == "cancelled" {
        let what =
            "The last rebuild was cancelled: some figures may be of an older definition until their users' next save.";
        let next = "`tidemark refresh rebuild` when it may go on";
        return Some(Attention::notice(Symptom::Rebuild, what.to_owned(), next));
    }
    (rebuild.users_failed > 0).then(|| {
        let users = match rebuild.users_failed {
            1 => "one user".to_owned(),
            number => format!("{number} users"),
        };
        let next = "mend the cause that the error codes name, then `tidemark refresh resume --all-failed`";
        Attention::notice(Symptom::Rebuild, format!("The last rebuild could not reach {users}."), next)
    })
}

fn recent_failures(document: &Document) -> Option<Attention> {
    let last_hour = &document.last_hour;
    (last_hour.failed > 0).then(|| {
        let codes: Vec<String> =
            last_hour.failed_by_code.iter().map(|(code, number)| format!("{code} ×{number}")).collect();
        let hints: Vec<&str> = last_hour.failed_by_code.keys().filter_map(|code| meaning(code)).collect();
        let next = if hints.is_empty() {
            "each is tried again after its backoff; the runs' error messages say more".to_owned()
        } else {
            hints.join("; ")
        };
        let attempts = if last_hour.failed == 1 { "attempt" } else { "attempts" };
        let what = format!("{} {attempts} failed in the last hour: {}.", last_hour.failed, codes.join(", "));
        Attention::notice(Symptom::AttemptsFailed, what, next)
    })
}

fn stuck_jobs(jobs: &Jobs) -> Option<Attention> {
    let what = match (jobs.stuck, jobs.expired_unrecovered) {
        (..=0, _) => return None,
        (1, 0) => "One job has been running for longer than ten minutes.".to_owned(),
        (stuck, 0) => format!("{stuck} jobs have been running for longer than ten minutes."),
        (1, _) => "One job is stuck: its lease has expired and is not recovered.".to_owned(),
        (stuck, expired) => {
            let leases = if expired == 1 { "one lease has".to_owned() } else { format!("{expired} leases have") };
            format!(
                "{stuck} jobs are stuck: {leases} expired and not been recovered, or they have run for more than ten minutes."
            )
        }
    };
    let next = "`tidemark jobs list --status running` shows them; the next tick of work takes expired leases back, and \
        `tidemark jobs cancel JOB_ID` asks a job to stop";
    // A lease that is over is what readiness and the alert speak of; a handler that is slow is another matter.
    let symptom = if jobs.expired_unrecovered > 0 { Symptom::LeasesNotRecovered } else { Symptom::JobsStuck };
    Some(Attention::action(symptom, what, next))
}

fn jobs_standing_still(document: &Document, jobs: &Jobs) -> Option<Attention> {
    let waited = jobs.oldest_pending_seconds;
    let still = document.settings.work_enabled && waited > document.settings.alert_oldest_pending_seconds;
    still.then(|| {
        let what = format!("The oldest due job has waited for {}.", duration(waited));
        let next = "check the ticks of work, and what runs: `tidemark jobs list --status running`; a job whose group or quota \
            is full waits as well";
        Attention::action(Symptom::QueueStandingStill, what, next)
    })
}

fn dead_jobs(jobs: &Jobs) -> Option<Attention> {
    let dead = jobs.dead_of_themselves();
    (dead > 0).then(|| {
        let number = if dead == 1 { "One job is dead".to_owned() } else { format!("{dead} jobs are dead") };
        let lately = match jobs.dead_last_hour {
            ..=0 => "none of them since an hour ago".to_owned(),
            lately => format!("{lately} died in the last hour"),
        };
        let next = "`tidemark jobs list --status dead` shows why; mend the cause, then `tidemark jobs requeue JOB_ID` or \
            `tidemark jobs requeue --all-dead`";
        Attention::action(Symptom::JobDead, format!("{number}: {lately}."), next)
    })
}

fn jobs_over_their_deadline(jobs: &Jobs) -> Option<Attention> {
    let number = jobs.deadline_exceeded_last_hour;
    (number > 0).then(|| {
        let jobs = if number == 1 { "One job was".to_owned() } else { format!("{number} jobs were") };
        let next =
            "give handlers more time with `tidemark settings set work_timeout_ms=N`, or give each job less to do";
        let what = format!("{jobs} given up in the last hour over the deadline.");
        Attention::notice(Symptom::JobsOverDeadline, what, next)
    })
}

fn open_alerts(jobs: &Jobs) -> Option<Attention> {
    let open = jobs.open_alerts;
    (open > 0).then(|| {
        let what = if open == 1 { "One alert is open.".to_owned() } else { format!("{open} alerts are open.") };
        Attention::notice(Symptom::OpenAlerts, what, "`tidemark alerts list` shows them and what to do")
    })
}

/// What a stored error code asks for.
fn meaning(code: &str) -> Option<&'static str> {
    Some(match code {
        "57014" => "57014: a step went over its budget; raise the timeout in the settings, or see what blocks it",
        "55000" => "55000: the order defence refused a publish; a newer one was there first, nothing to do",
        "23503" => "23503: the source refers to something that is gone; mend the source rows",
        "lease_expired" => "lease_expired: a worker died or was frozen; check the function's memory and timeout",
        "panic" => "panic: the computation itself failed; the function's log says where",
        _ => return None,
    })
}

/// A time of the database to the minute; as it is where it cannot be read.
fn minute(time: &str) -> String {
    time.parse::<jiff::Timestamp>()
        .map_or_else(|_unreadable| time.to_owned(), |time| time.strftime("%F %R UTC").to_string())
}

/// Seconds as people say them.
#[must_use]
pub fn duration(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::document::tests::{healthy, healthy_with_jobs};

    fn found(value: &Value) -> Vec<Attention> {
        of(&Document::from_value(value).expect("a document"))
    }

    #[test]
    fn nothing_needs_attention_in_a_healthy_system() {
        assert_eq!(found(&healthy()), []);
        assert_eq!(found(&healthy_with_jobs()), [], "a job that somebody cancelled is no trouble");
    }

    #[test]
    fn dead_jobs_ask_for_action_with_the_commands_that_help() {
        let mut value = healthy_with_jobs();
        value["jobs"]["dead"] = json!(4);
        value["jobs"]["dead_last_hour"] = json!(2);
        let found = found(&value);
        assert_eq!((found.len(), found[0].urgency), (1, Urgency::Action));
        assert_eq!(found[0].what, "3 jobs are dead: 2 died in the last hour.");
        for command in ["tidemark jobs list --status dead", "tidemark jobs requeue"] {
            assert!(found[0].next.contains(command), "{found:?}");
        }
    }

    #[test]
    fn stuck_jobs_ask_for_action_and_say_whether_their_leases_are_over() {
        let mut value = healthy_with_jobs();
        value["jobs"]["stuck"] = json!(1);
        assert_eq!(found(&value)[0].what, "One job has been running for longer than ten minutes.");
        value["jobs"]["expired_unrecovered"] = json!(1);
        assert_eq!(found(&value)[0].what, "One job is stuck: its lease has expired and is not recovered.");
        value["jobs"]["stuck"] = json!(7);
        assert!(found(&value)[0].what.starts_with("7 jobs are stuck: one lease has expired"), "{:?}", found(&value));
    }

    #[test]
    fn a_due_job_that_waits_longer_than_the_setting_asks_for_action_unless_work_is_paused() {
        let mut value = healthy_with_jobs();
        value["jobs"]["oldest_pending_seconds"] = json!(120);
        assert_eq!(found(&value), []);
        value["jobs"]["oldest_pending_seconds"] = json!(121);
        assert_eq!(found(&value)[0].what, "The oldest due job has waited for 2 min.");
        value["settings"]["work_enabled"] = json!(false);
        assert!(found(&value).iter().all(|one| one.urgency == Urgency::Notice), "{:?}", found(&value));
    }

    #[test]
    fn open_alerts_and_jobs_over_their_deadline_are_worth_knowing() {
        let mut value = healthy_with_jobs();
        value["jobs"]["open_alerts"] = json!(2);
        value["jobs"]["deadline_exceeded_last_hour"] = json!(1);
        let found = found(&value);
        assert!(found.iter().all(|one| one.urgency == Urgency::Notice));
        assert_eq!(found[0].what, "One job was given up in the last hour over the deadline.");
        assert_eq!(found[1].what, "2 alerts are open.");
        assert!(found[1].next.contains("tidemark alerts list"));
    }

    #[test]
    fn what_needs_action_comes_before_what_is_only_worth_knowing() {
        let mut value = healthy();
        value["settings"]["publish_enabled"] = json!(false);
        value["settings"]["note"] = json!("maintenance");
        value["queue"]["exhausted_failed_jobs"] = json!(2);
        let found = found(&value);
        assert_eq!(found.iter().map(|one| one.urgency).collect::<Vec<_>>(), [Urgency::Action, Urgency::Notice]);
        assert!(found[0].what.starts_with("2 refreshes"), "{found:?}");
        assert_eq!(found[1].what, "publish is paused. Note: maintenance");
    }

    #[test]
    fn a_pause_says_since_when_by_whom_and_why() {
        let mut value = healthy();
        value["settings"]["publish_enabled"] = json!(false);
        value["settings"]["note"] = json!("a later change of something else");
        value["ticks"]["publish"]["paused"] =
            json!({"since": "2026-03-01T09:00:00Z", "by": "dana", "note": "maintenance"});
        let what = &found(&value)[0].what;
        assert_eq!(what, "publish is paused since 2026-03-01 09:00 UTC by dana. Note: maintenance");
    }

    #[test]
    fn whatever_needs_attention_names_the_section_that_readiness_and_the_alert_name() {
        let mut value = healthy_with_jobs();
        value["ticks"]["compute"]["age_seconds"] = json!(600);
        value["leases"]["expired_unrecovered"] = json!(1);
        value["jobs"]["dead"] = json!(4);
        let sections: Vec<&str> = found(&value).iter().map(|one| one.section).collect();
        let of_alert = |kind| Symptom::of_alert(kind).expect("a kind of alert").section();
        assert_eq!(sections, ["function_not_ticking", "leases_not_recovered", "job_dead"].map(of_alert));
    }

    #[test]
    fn a_function_that_stopped_ticking_is_named_with_its_age() {
        let mut value = healthy();
        value["ticks"]["compute"]["age_seconds"] = json!(600);
        assert_eq!(found(&value)[0].what, "compute has not ticked for 10 min.");
    }

    #[test]
    fn an_expired_lease_asks_for_action_unless_claim_is_paused() {
        let mut value = healthy();
        value["leases"]["expired_unrecovered"] = json!(1);
        assert_eq!(found(&value)[0].urgency, Urgency::Action);
        value["settings"]["claim_enabled"] = json!(false);
        assert!(found(&value).iter().all(|one| one.urgency == Urgency::Notice));
    }

    #[test]
    fn failures_of_the_last_hour_are_listed_by_code() {
        let mut value = healthy();
        value["last_hour"]["failed"] = json!(3);
        value["last_hour"]["failed_by_code"] = json!({"57014": 2, "XX000": 1});
        assert_eq!(found(&value)[0].what, "3 attempts failed in the last hour: 57014 ×2, XX000 ×1.");
    }
}
