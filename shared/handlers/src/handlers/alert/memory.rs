//! What is remembered between the attempts of one delivery.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tidemark_alerts::Alert;

/// Which target has what: the progress of an alert job, at most 100 alerts of 8 targets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Memory {
    /// By target: the alerts that it has, by their ids; a resolved one by its negative id.
    has: BTreeMap<String, BTreeSet<i64>>,
    /// Targets that have refused for good; they are not asked again by this job.
    refused: BTreeSet<String>,
    /// By target: the second since 1970 before which it asked to be left alone.
    not_before: BTreeMap<String, i64>,
}

/// The form in which a target has an alert: raised, or resolved as well.
fn form(alert: &Alert) -> i64 {
    if alert.is_resolved() { -alert.id } else { alert.id }
}

impl Memory {
    /// Forgets alerts that are no longer to be told, so that it stays as small as a batch.
    pub(super) fn keep_only(&mut self, alerts: &[Alert]) {
        let forms: BTreeSet<i64> = alerts.iter().map(form).collect();
        for has in self.has.values_mut() {
            has.retain(|one| forms.contains(one));
        }
    }

    /// What `target` does not have yet of `alerts`; nothing where it has refused.
    pub(super) fn lacking(&self, target: &str, alerts: &[Alert]) -> Vec<Alert> {
        if self.refused.contains(target) {
            return Vec::new();
        }
        let has = self.has.get(target);
        alerts.iter().filter(|alert| has.is_none_or(|has| !has.contains(&form(alert)))).cloned().collect()
    }

    /// How long `target` has still asked to be left alone.
    pub(super) fn rests_for(&self, target: &str, now: Timestamp) -> Option<Duration> {
        let left = self.not_before.get(target)?.saturating_sub(now.as_second());
        u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_secs)
    }

    pub(super) fn delivered(&mut self, target: &str, alerts: &[Alert]) {
        self.has.entry(target.to_owned()).or_default().extend(alerts.iter().map(form));
        self.not_before.remove(target);
    }

    pub(super) fn refused(&mut self, target: &str) {
        self.refused.insert(target.to_owned());
    }

    pub(super) fn rests(&mut self, target: &str, until: Timestamp) {
        self.not_before.insert(target.to_owned(), until.as_second());
    }

    /// Whether any target has anything.
    pub(super) fn has_anybody(&self) -> bool {
        self.has.values().any(|has| !has.is_empty())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn alert(id: i64, resolved: bool) -> Alert {
        let raised_at: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        Alert {
            id,
            kind: "test".to_owned(),
            subject: String::new(),
            error_code: String::new(),
            occurrences: 1,
            raised_at,
            last_raised_at: raised_at,
            resolved_at: resolved.then_some(raised_at),
        }
    }

    #[test]
    fn a_target_lacks_what_it_has_not_got_in_this_form() {
        let mut memory = Memory::default();
        memory.delivered("ops", &[alert(1, false), alert(2, false)]);
        let lacking = |memory: &Memory, target: &str| -> Vec<i64> {
            memory
                .lacking(target, &[alert(1, true), alert(2, false), alert(3, false)])
                .iter()
                .map(|one| one.id)
                .collect()
        };
        assert_eq!(lacking(&memory, "ops"), [1, 3]);
        assert_eq!(lacking(&memory, "slack"), [1, 2, 3]);
        memory.refused("slack");
        assert_eq!(lacking(&memory, "slack"), [] as [i64; 0]);
        memory.keep_only(&[alert(3, false)]);
        assert_eq!(lacking(&memory, "ops"), [1, 2, 3]);
    }

    #[test]
    fn a_target_rests_until_it_has_delivered_or_the_time_is_over() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let later = now + jiff::SignedDuration::from_secs(90);
        let mut memory = Memory::default();
        memory.rests("ops", later);
        assert_eq!(memory.rests_for("ops", now), Some(Duration::from_secs(90)));
        assert_eq!(memory.rests_for("slack", now), None);
        assert_eq!(memory.rests_for("ops", later), None);
        memory.delivered("ops", &[]);
        assert_eq!(memory.rests_for("ops", now), None);
    }

    #[test]
    fn the_largest_memory_fits_into_a_progress() {
        let mut memory = Memory::default();
        let alerts: Vec<Alert> = (0..100).map(|number| alert(1_000_000_000 + number, true)).collect();
        for number in 0..8 {
            let target = format!("{number}{}", "x".repeat(31));
            memory.delivered(&target, &alerts);
            memory.rests(&target, Timestamp::MAX);
            memory.refused(&target);
        }
        // The server writes a space behind each comma and colon.
        let text = serde_json::to_string(&memory).unwrap();
        assert!(text.len() + text.matches([',', ':']).count() < tidemark_queue::jobs::PROGRESS_BYTES, "{}", text.len());
        assert_eq!(serde_json::from_str::<Memory>(&text).unwrap(), memory);
    }
}
