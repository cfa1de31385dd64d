//! The figures of the status document, typed. What a newer database adds is ignored, what an older one lacks is empty.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The status document.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Document {
    /// The database's clock when it composed the document, RFC 3339.
    pub as_of: String,
    /// The settings row.
    pub settings: Settings,
    /// What waits.
    pub queue: Queue,
    /// Users whose published statistics are behind.
    pub stale_users: i64,
    /// Who works, and what was left behind.
    pub leases: Leases,
    /// What happened in the last hour.
    pub last_hour: LastHour,
    /// When each function ticked last, by its name.
    pub ticks: BTreeMap<String, Tick>,
    /// The last rebuild of everybody's figures; none where there never was one.
    pub rebuild: Option<Rebuild>,
    /// The general queue; none where it is not installed.
    #[serde(deserialize_with = "installed")]
    pub jobs: Option<Jobs>,
}

/// An empty object stands for a queue that is not installed.
fn installed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Jobs>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if value.as_object().is_none_or(serde_json::Map::is_empty) {
        return Ok(None);
    }
    Jobs::deserialize(value).map(Some).map_err(serde::de::Error::custom)
}

/// What the document's readers need of the settings row.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Live leases over all users.
    pub max_active: i64,
    /// Whether claim is not paused.
    pub claim_enabled: bool,
    /// Whether compute is not paused.
    pub compute_enabled: bool,
    /// Whether publish is not paused.
    pub publish_enabled: bool,
    /// Whether work is not paused.
    pub work_enabled: bool,
    /// A queue whose oldest due job waits longer stands still, in seconds.
    pub alert_oldest_pending_seconds: i64,
    /// A function whose last tick is older no longer ticks, in seconds.
    pub alert_tick_age_seconds: i64,
    /// Why the row was last changed.
    pub note: String,
    /// When it was last changed, RFC 3339.
    pub updated_at: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_active: 0,
            claim_enabled: true,
            compute_enabled: true,
            publish_enabled: true,
            work_enabled: true,
            alert_oldest_pending_seconds: 300,
            alert_tick_age_seconds: 60,
            note: String::new(),
            updated_at: String::new(),
        }
    }
}

/// What waits.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// Users with at least one pending refresh job.
    pub pending_users: i64,
    /// Pending refresh jobs.
    pub pending_jobs: i64,
    /// Age of the oldest pending job, in seconds; none where nothing waits.
    pub oldest_pending_seconds: Option<i64>,
    /// Failed jobs whose attempts are used up and that no later job has absorbed.
    pub exhausted_failed_jobs: i64,
}

/// Who works, and what was left behind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Leases {
    /// Live leases that have not expired.
    pub active: i64,
    /// Leases that have expired and that no claim has recovered.
    pub expired_unrecovered: i64,
    /// Users who wait for the end of their backoff.
    pub backoff_waiting: i64,
    /// The live leases, the oldest hundred.
    pub active_list: Vec<Lease>,
}

/// One live lease.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Lease {
    /// The run's row.
    pub run_id: i64,
    /// Whose statistics.
    pub user_id: String,
    /// Which attempt of its job, from 1.
    pub attempt: i64,
    /// The generation that its publish will apply.
    pub generation: i64,
    /// `claimed`, `computing`, `computed` or `publishing`.
    pub phase: String,
    /// Seconds since it was claimed.
    pub age_seconds: i64,
    /// Whether it has expired.
    pub expired: bool,
}

/// What happened in the last hour.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct LastHour {
    /// Published runs.
    pub completed: i64,
    /// Failed runs.
    pub failed: i64,
    /// Failed runs by their error code.
    pub failed_by_code: BTreeMap<String, i64>,
    /// 95th percentile of a compute, milliseconds.
    pub compute_ms_p95: Option<i64>,
    /// Longest compute, milliseconds.
    pub compute_ms_max: Option<i64>,
    /// 95th percentile of a publish, milliseconds.
    pub publish_ms_p95: Option<i64>,
    /// Longest publish, milliseconds.
    pub publish_ms_max: Option<i64>,
}

/// A rebuild of everybody's figures.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Rebuild {
    /// Its number.
    pub rebuild_id: i64,
    /// `definition`: a newer definition of the figures; `operator`: somebody asked for it.
    pub cause: String,
    /// The version of the definition that it brings everybody to.
    pub definition_version: i64,
    /// `counting`, `marking`, `finishing`, `done`, `cancelled` or `superseded` (by a newer definition).
    pub phase: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// Who began it.
    pub started_by: String,
    /// When it ended, RFC 3339; none: it is under way.
    pub ended_at: Option<String>,
    /// Who ended it.
    pub ended_by: Option<String>,
    /// How far it is, rounded down; 100 only when it is done.
    pub percent: i64,
    /// Seconds to its end at the pace so far; none where that cannot be told yet.
    pub eta_seconds: Option<i64>,
    /// Users whom it is about; a reckoning while it is under way.
    pub users_total: i64,
    /// Users whose figures were published anew.
    pub users_done: i64,
    /// Users whose refresh used up its attempts.
    pub users_failed: i64,
    /// Users of whom nothing is known any more.
    pub users_gone: i64,
    /// Users who are marked and not published yet.
    pub users_under_way: i64,
}

/// The general queue. Counts above a hundred thousand are estimates.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Jobs {
    /// Jobs that wait, for a worker or for their time.
    pub pending: i64,
    /// Those of them that wait for their time, or to be sorted into their group.
    pub scheduled: i64,
    /// Jobs that a worker has.
    pub running: i64,
    /// Jobs that ended well, within the retention.
    pub done: i64,
    /// Jobs that are dead, within the retention; cancelled ones are among them.
    pub dead: i64,
    /// Dead jobs that somebody cancelled.
    pub cancelled: i64,
    /// Whether no count is an estimate.
    pub exact: bool,
    /// How long the longest waiting due job has been due, in seconds; 0 where nothing is due.
    pub oldest_pending_seconds: i64,
    /// Jobs that died in the last hour.
    pub dead_last_hour: i64,
    /// Attempts' ends in the last hour by which a job died over its deadline.
    pub deadline_exceeded_last_hour: i64,
    /// Running jobs whose lease has expired, or that have run for longer than ten minutes.
    pub stuck: i64,
    /// Live leases; each holds the jobs of one claim.
    pub leases: i64,
    /// Leases that have expired and that no tick of work has taken back.
    pub expired_unrecovered: i64,
    /// Alerts that are not over, of refreshes and functions too.
    pub open_alerts: i64,
}

impl Jobs {
    /// Dead jobs that somebody should look at.
    #[must_use]
    pub fn dead_of_themselves(&self) -> i64 {
        (self.dead - self.cancelled).max(0)
    }
}

/// When one function ticked last.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Tick {
    /// How the last noted invocation ended.
    pub last_outcome: String,
    /// Seconds since the last noted start; none where it has never ticked. Starts are noted every few seconds only.
    pub age_seconds: Option<i64>,
    /// Who paused it, while it is paused.
    pub paused: Option<Pause>,
}

/// Who paused a function.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Pause {
    /// When, RFC 3339.
    pub since: String,
    /// As which role of the database.
    pub by: String,
    /// The note of the settings row as it was then.
    pub note: String,
}

/// How a function ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ticking {
    /// It ticked lately.
    Fresh,
    /// The settings row pauses it.
    Paused,
    /// It ticked once, too long ago.
    Stopped(i64),
    /// It never ticked.
    Never,
}

impl Document {
    /// The typed form of what the database composed.
    ///
    /// # Errors
    /// Where a figure has another type than documented.
    pub fn from_value(value: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(value)
    }

    /// The functions that are expected to tick, and how they do. `work` is one of them once the general queue is installed.
    #[must_use]
    pub fn ticking(&self) -> Vec<(&'static str, Ticking)> {
        let work_installed =
            self.jobs.is_some() || self.ticks.get("work").is_some_and(|tick| tick.age_seconds.is_some());
        let functions = [
            ("claim", self.settings.claim_enabled, true),
            ("compute", self.settings.compute_enabled, true),
            ("publish", self.settings.publish_enabled, true),
            ("work", self.settings.work_enabled, work_installed),
        ];
        let expected = functions.into_iter().filter(|(_name, enabled, installed)| *installed || !enabled);
        expected.map(|(name, enabled, _installed)| (name, self.ticking_of(name, enabled))).collect()
    }

    fn ticking_of(&self, name: &str, enabled: bool) -> Ticking {
        if !enabled {
            return Ticking::Paused;
        }
        match self.ticks.get(name).and_then(|tick| tick.age_seconds) {
            None => Ticking::Never,
            Some(age) if age > self.settings.alert_tick_age_seconds => Ticking::Stopped(age),
            Some(_) => Ticking::Fresh,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A document of a system in which nothing needs attention.
    pub(crate) fn healthy() -> Value {
        let tick =
            json!({"last_start": "2026-03-01T10:00:00Z", "last_end": null, "last_outcome": "idle", "age_seconds": 2});
        json!({
            "as_of": "2026-03-01T10:00:02Z",
            "settings": {"id": 1, "max_active": 2, "claim_enabled": true, "compute_enabled": true, "publish_enabled": true,
                "work_enabled": true, "note": "", "updated_at": "2026-03-01T09:00:00Z"},
            "queue": {"pending_users": 0, "pending_jobs": 0, "oldest_pending_seconds": null, "exhausted_failed_jobs": 0},
            "stale_users": 0,
            "leases": {"active": 0, "expired_unrecovered": 0, "backoff_waiting": 0, "active_list": []},
            "last_hour": {"completed": 3, "failed": 0, "failed_by_code": {}, "compute_ms_p95": 12, "compute_ms_max": 15,
                "publish_ms_p95": 8, "publish_ms_max": 9},
            "ticks": {"claim": tick, "compute": tick, "publish": tick,
                "work": {"last_start": null, "last_end": null, "last_outcome": "", "age_seconds": null}},
            "jobs": {}
        })
    }

    /// The same where the general queue is at work, too.
    pub(crate) fn healthy_with_jobs() -> Value {
        let mut value = healthy();
        value["settings"]["alert_oldest_pending_seconds"] = json!(120);
        value["ticks"]["work"] = value["ticks"]["claim"].clone();
        value["jobs"] = json!({"pending": 40, "scheduled": 30, "running": 2, "done": 1000, "dead": 1, "cancelled": 1, "exact": true,
            "oldest_pending_seconds": 1, "dead_last_hour": 1, "deadline_exceeded_last_hour": 0, "stuck": 0, "leases": 1,
            "expired_unrecovered": 0, "open_alerts": 0});
        value
    }

    fn of(value: &Value) -> Document {
        Document::from_value(value).expect("a document")
    }

    #[test]
    fn work_is_expected_to_tick_only_once_the_general_queue_is_installed() {
        let mut value = healthy();
        assert!(of(&value).ticking().iter().all(|(name, _ticking)| *name != "work"));
        value["jobs"] = json!({"pending": 0});
        assert!(of(&value).ticking().contains(&("work", Ticking::Never)));
    }

    #[test]
    fn a_paused_function_is_paused_however_long_ago_it_ticked() {
        let mut value = healthy();
        value["ticks"]["claim"]["age_seconds"] = json!(9000);
        assert!(of(&value).ticking().contains(&("claim", Ticking::Stopped(9000))));
        value["settings"]["claim_enabled"] = json!(false);
        assert!(of(&value).ticking().contains(&("claim", Ticking::Paused)));
    }

    #[test]
    fn jobs_are_typed_where_the_queue_is_installed_and_none_where_it_is_not() {
        assert!(of(&healthy()).jobs.is_none());
        let jobs = of(&healthy_with_jobs()).jobs.expect("the queue is installed");
        assert_eq!((jobs.pending, jobs.dead, jobs.dead_of_themselves()), (40, 1, 0));
        let mut value = healthy_with_jobs();
        value["jobs"]["pending"] = json!("many");
        assert!(Document::from_value(&value).is_err());
    }

    #[test]
    fn figures_a_newer_database_adds_are_ignored() {
        let mut value = healthy();
        value["queue"]["brand_new"] = json!([1, 2]);
        assert_eq!(of(&value).last_hour.completed, 3);
    }
}
