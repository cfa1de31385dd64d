//! What a trigger says about its tick.

use jiff::Timestamp;
use serde_json::Value;

/// The fields that may hold the planned instant, the most telling first: our own state machine's and pg_cron's,
/// a Scheduler template's, an EventBridge rule's.
const FIELDS: [&str; 3] = ["planned_at", "scheduled_time", "time"];

/// When the tick was planned, if the event says so in RFC 3339. Any event is accepted; what cannot be read says nothing.
///
/// A call of the function's URL carries the trigger's JSON as text in `body`.
pub(crate) fn planned_at(event: &Value) -> Option<Timestamp> {
    let instant = |document: &Value| FIELDS.iter().find_map(|field| document.get(field)?.as_str()?.parse().ok());
    instant(event).or_else(|| {
        let body: Value = serde_json::from_str(event.get("body")?.as_str()?).ok()?;
        instant(&body)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_planned_instant_is_found_in_the_event_of_each_trigger() {
        let instant: Timestamp = "2026-03-01T12:00:07Z".parse().expect("an instant");
        for event in [
            json!({"planned_at": "2026-03-01T12:00:07Z"}),
            json!({"planned_at": "2026-03-01T14:00:07+02:00", "time": "2026-03-01T11:00:00Z"}),
            json!({"scheduled_time": "2026-03-01T12:00:07Z"}),
            json!({"source": "aws.events", "time": "2026-03-01T12:00:07Z", "detail": {}}),
            json!({"version": "2.0", "body": "{\"planned_at\":\"2026-03-01T12:00:07Z\"}"}),
        ] {
            assert_eq!(planned_at(&event), Some(instant), "{event}");
        }
    }

    #[test]
    fn any_other_event_is_accepted_and_says_nothing() {
        for event in [
            json!({}),
            json!(null),
            json!([1, 2]),
            json!("text"),
            json!({"planned_at": 7}),
            json!({"planned_at": "yesterday"}),
            json!({"body": "not json"}),
            json!({"body": null}),
        ] {
            assert_eq!(planned_at(&event), None, "{event}");
        }
    }
}
