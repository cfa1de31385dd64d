//! Many alerts as one message.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use crate::{Alert, TargetKind, json, slack, teams};

/// Alerts that a message lists; of more, only the number is told.
pub const LISTED_MAX: usize = 20;

/// Length of an idempotency key, in hexadecimal digits.
const KEY_DIGITS: usize = 32;

/// Alerts, raised and resolved ones, that are told in one message per target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Those worth listing first come first.
    alerts: Vec<Alert>,
}

impl Digest {
    /// A digest of `alerts`; `None` where there is nothing to tell.
    ///
    /// Open alerts stand before resolved ones. Kinds take turns, so that a storm of one does not hide another's only alert;
    /// within a kind the newest comes first.
    #[must_use]
    pub fn new(mut alerts: Vec<Alert>) -> Option<Self> {
        if alerts.is_empty() {
            return None;
        }
        alerts.sort_by(|one, other| {
            let newest_first = other.changed_at().cmp(&one.changed_at());
            one.is_resolved().cmp(&other.is_resolved()).then(newest_first).then(other.id.cmp(&one.id))
        });
        let mut turns: HashMap<(bool, String), usize> = HashMap::new();
        let mut ranked: Vec<(usize, Alert)> = Vec::with_capacity(alerts.len());
        for alert in alerts {
            let turn = turns.entry((alert.is_resolved(), alert.kind.clone())).or_default();
            ranked.push((*turn, alert));
            *turn += 1;
        }
        // The sort is stable, so within a turn the order from before stays.
        ranked.sort_by_key(|(turn, alert)| (alert.is_resolved(), *turn));
        Some(Self { alerts: ranked.into_iter().map(|(_turn, alert)| alert).collect() })
    }

    /// Every alert, those worth listing first at the front.
    #[must_use]
    pub fn alerts(&self) -> &[Alert] {
        &self.alerts
    }

    /// The message for a target of this kind: a JSON text within the target's limits.
    #[must_use]
    pub fn message_for(&self, kind: TargetKind) -> String {
        match kind {
            TargetKind::Teams => teams::message(self),
            TargetKind::Slack => slack::message(self),
            TargetKind::Json => json::message(self),
        }
    }

    /// The same for the same alerts in the same state, so that a repeated delivery can be recognised; differs by target.
    #[must_use]
    pub fn idempotency_key(&self, target_name: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(target_name);
        for alert in &self.alerts {
            hash.update(alert.id.to_be_bytes());
            hash.update(alert.occurrences.to_be_bytes());
            hash.update([u8::from(alert.is_resolved())]);
        }
        let mut key = format!("{:x}", hash.finalize());
        key.truncate(KEY_DIGITS);
        key
    }

    /// The first `count` alerts.
    pub(crate) fn first(&self, count: usize) -> &[Alert] {
        &self.alerts[..count.min(self.alerts.len())]
    }

    /// Alerts that are open.
    pub(crate) fn raised(&self) -> usize {
        raised_among(&self.alerts)
    }

    /// Alerts that are over.
    pub(crate) fn resolved(&self) -> usize {
        self.alerts.len() - self.raised()
    }

    /// The whole in one line.
    pub(crate) fn headline(&self) -> String {
        let (raised, resolved) = (self.raised(), self.resolved());
        let alerts = |count: usize| if count == 1 { "alert" } else { "alerts" };
        match (raised, resolved) {
            (0, resolved) => format!("Tidemark: {resolved} {} resolved", alerts(resolved)),
            (raised, 0) => format!("Tidemark: {raised} {} raised", alerts(raised)),
            (raised, resolved) => format!("Tidemark: {raised} {} raised, {resolved} resolved", alerts(raised)),
        }
    }

    /// What is told of the alerts after the first `listed`; `None` where all are listed.
    pub(crate) fn remainder(&self, listed: usize) -> Option<String> {
        let rest = &self.alerts[listed.min(self.alerts.len())..];
        let raised = raised_among(rest);
        let resolved = rest.len() - raised;
        (!rest.is_empty()).then(|| format!("and {} more: {raised} raised, {resolved} resolved", rest.len()))
    }
}

fn raised_among(alerts: &[Alert]) -> usize {
    alerts.iter().filter(|alert| !alert.is_resolved()).count()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    fn alert(id: i64, kind: &str) -> Alert {
        let raised_at: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        Alert {
            id,
            kind: kind.to_owned(),
            subject: format!("subject {id}"),
            error_code: String::new(),
            occurrences: 1,
            raised_at,
            last_raised_at: raised_at + SignedDuration::from_secs(id),
            resolved_at: None,
        }
    }

    fn resolved(id: i64, kind: &str) -> Alert {
        let alert = alert(id, kind);
        Alert { resolved_at: Some(alert.last_raised_at), ..alert }
    }

    fn order(alerts: Vec<Alert>) -> Vec<i64> {
        Digest::new(alerts).unwrap().alerts().iter().map(|alert| alert.id).collect()
    }

    #[test]
    fn no_alerts_are_no_digest() {
        assert_eq!(Digest::new(Vec::new()), None);
    }

    #[test]
    fn open_alerts_come_first_and_kinds_take_turns() {
        let alerts = vec![
            resolved(9, "test"),
            alert(1, "job_dead"),
            alert(3, "job_dead"),
            alert(2, "job_dead"),
            alert(0, "test"),
        ];
        assert_eq!(order(alerts), [3, 0, 2, 1, 9]);
    }

    #[test]
    fn the_only_alert_of_a_kind_is_listed_in_a_storm_of_another() {
        let storm = (1..=1000).map(|id| alert(id, "job_dead")).chain([alert(0, "publish_failed")]).collect();
        assert!(order(storm)[..LISTED_MAX].contains(&0));
    }

    #[test]
    fn a_key_follows_the_state_of_its_alerts_and_not_their_order() {
        let key = |alerts: Vec<Alert>| Digest::new(alerts).unwrap().idempotency_key("ops");
        let once = key(vec![alert(1, "test"), alert(2, "test")]);
        assert_eq!(once, key(vec![alert(2, "test"), alert(1, "test")]));
        assert_eq!(once.len(), KEY_DIGITS);
        assert_ne!(once, key(vec![alert(1, "test")]));
        assert_ne!(once, key(vec![alert(1, "test"), resolved(2, "test")]));
        assert_ne!(once, key(vec![alert(1, "test"), Alert { occurrences: 2, ..alert(2, "test") }]));
        let digest = Digest::new(vec![alert(1, "test")]).unwrap();
        assert_ne!(digest.idempotency_key("ops"), digest.idempotency_key("team"));
    }

    #[test]
    fn the_headline_counts_what_there_is() {
        let headline = |alerts: Vec<Alert>| Digest::new(alerts).unwrap().headline();
        assert_eq!(headline(vec![alert(1, "test")]), "Tidemark: 1 alert raised");
        assert_eq!(headline(vec![resolved(1, "test"), resolved(2, "test")]), "Tidemark: 2 alerts resolved");
        assert_eq!(
            headline(vec![alert(1, "test"), resolved(2, "test"), alert(3, "test")]),
            "Tidemark: 2 alerts raised, 1 resolved"
        );
    }
}
