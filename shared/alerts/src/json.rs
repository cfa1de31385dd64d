//! The message for receivers of JSON, told in `docs/ALERTS.md`. Its shape is versioned: within a version members are only
//! added.

use serde_json::{Value, json};

use crate::digest::LISTED_MAX;
use crate::guidance::UNKNOWN_TITLE;
use crate::plain_text::cut;
use crate::{Alert, Digest, Guidance};

/// The version of the shape of messages for receivers of JSON, told in `docs/ALERTS.md`.
pub const JSON_VERSION: u32 = 1;
/// Characters of a subject, a kind and an error code that are sent to a receiver of JSON.
pub const SUBJECT_CHARACTERS_MAX: usize = 1000;

pub(crate) fn message(digest: &Digest) -> String {
    let listed: Vec<Value> = digest.first(LISTED_MAX).iter().map(member).collect();
    json!({
        "version": JSON_VERSION,
        "source": "tidemark",
        "headline": digest.headline(),
        "raised": digest.raised(),
        "resolved": digest.resolved(),
        "omitted": digest.alerts().len() - listed.len(),
        "alerts": listed,
    })
    .to_string()
}

fn member(alert: &Alert) -> Value {
    let guidance = Guidance::of(&alert.kind);
    json!({
        "id": alert.id,
        "state": if alert.is_resolved() { "resolved" } else { "raised" },
        "kind": cut(&alert.kind, SUBJECT_CHARACTERS_MAX),
        "title": guidance.map_or(UNKNOWN_TITLE, |guidance| guidance.title),
        "what_to_do": guidance.map(|guidance| guidance.what_to_do),
        "subject": cut(&alert.subject, SUBJECT_CHARACTERS_MAX),
        "error_code": cut(&alert.error_code, SUBJECT_CHARACTERS_MAX),
        "occurrences": alert.occurrences,
        "raised_at": alert.raised_at,
        "last_raised_at": alert.last_raised_at,
        "resolved_at": alert.resolved_at,
    })
}
