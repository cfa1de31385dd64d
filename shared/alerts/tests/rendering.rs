//! What a target is sent: every message within its limits, and nothing in it that its target would take for more than text.
#![allow(clippy::unwrap_used)]

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tidemark_alerts::{
    Alert, Digest, Guidance, LISTED_MAX, SLACK_BLOCKS_MAX, SLACK_TEXT_CHARACTERS_MAX, SUBJECT_CHARACTERS_MAX,
    TEAMS_BYTES_MAX, TargetKind,
};

const KINDS: [TargetKind; 3] = [TargetKind::Teams, TargetKind::Slack, TargetKind::Json];

/// Control characters, formatting, mentions, links, quotes, a direction override, Hebrew, emoji, in 20,000 characters.
fn hostile_text() -> String {
    let begin = "\0\u{1b}[31m\r\n\"quoted\" <!channel> <@U024BE7LH> <at>all</at> *bold* _it_ ~no~ `code` & [click](https://evil.test) \
                 <https://evil.test|click> \u{202e}gpj.exe\u{202c} \u{200b} סקוואט 스쿼트 👩\u{200d}🚀 {{DATE(2026)}} \\ ";
    begin.to_owned() + &"🏋".repeat(20_000)
}

fn alert(id: i64, kind: &str) -> Alert {
    let raised_at: Timestamp = "2026-03-01T12:00:00.25Z".parse().unwrap();
    Alert {
        id,
        kind: kind.to_owned(),
        subject: format!("00000000-0000-4000-8000-{id:012}"),
        error_code: "deadline_exceeded".to_owned(),
        occurrences: 1,
        raised_at,
        last_raised_at: raised_at,
        resolved_at: None,
    }
}

fn resolved(id: i64, kind: &str) -> Alert {
    let alert = alert(id, kind);
    Alert {
        occurrences: 12,
        last_raised_at: alert.raised_at + SignedDuration::from_mins(7),
        resolved_at: Some(alert.raised_at + SignedDuration::from_mins(30)),
        ..alert
    }
}

fn storm() -> Vec<Alert> {
    let later = |alert: Alert| Alert { last_raised_at: alert.raised_at + SignedDuration::from_secs(alert.id), ..alert };
    let dead = (1..=996).map(|id| later(alert(id, "job_dead")));
    dead.chain([alert(997, "queue_standing_still"), alert(998, "publish_failed")])
        .chain([resolved(999, "old_snapshot"), resolved(1000, "function_not_ticking")])
        .collect()
}

/// Every foreign text of this alert is `text`.
fn alert_of(id: i64, text: &str) -> Alert {
    Alert { kind: text.to_owned(), subject: text.to_owned(), error_code: text.to_owned(), ..alert(id, "") }
}

fn message(kind: TargetKind, alerts: Vec<Alert>) -> Value {
    serde_json::from_str(&Digest::new(alerts).unwrap().message_for(kind)).unwrap()
}

/// The message for each target, as snapshots named after the target.
fn assert_snapshots(name: &str, alerts: &[Alert]) {
    for kind in KINDS {
        let message = message(kind, alerts.to_vec());
        let pretty = serde_json::to_string_pretty(&message).unwrap();
        insta::assert_snapshot!(format!("{name}_{}", kind.word()), visible(&pretty), &kind.word());
    }
}

/// Characters that nobody sees in a snapshot are spelt out.
fn visible(text: &str) -> String {
    let spelt = |character: char| match character {
        '\u{200b}' | '\u{202c}' | '\u{202e}' => character.escape_unicode().to_string(),
        seen => seen.to_string(),
    };
    text.chars().map(spelt).collect()
}

/// Every text in a message, whatever its member is called.
fn texts(message: &Value) -> Vec<&str> {
    match message {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn one_alert() {
    assert_snapshots("one", &[alert(1, "refresh_exhausted")]);
}

#[test]
fn a_resolved_alert() {
    assert_snapshots("resolved", &[resolved(2, "job_dead")]);
}

#[test]
fn a_storm_of_a_thousand_alerts() {
    assert_snapshots("storm", &storm());
}

#[test]
fn a_hostile_subject() {
    let subject = hostile_text();
    assert_snapshots("hostile", &[Alert { subject, ..alert(3, "publish_failed") }]);
}

#[test]
fn an_unknown_kind_without_subject_and_code() {
    let alert = Alert { subject: String::new(), error_code: String::new(), ..alert(4, "moon_fell") };
    assert_snapshots("unknown", &[alert]);
}

#[test]
fn every_message_lists_at_most_twenty_alerts_and_counts_the_rest() {
    for kind in KINDS {
        for (count, rest) in [(LISTED_MAX, None), (LISTED_MAX + 1, Some("and 1 more: 1 raised, 0 resolved"))] {
            let alerts = (1..).take(count).map(|id| alert(id, "job_dead")).collect();
            let message = message(kind, alerts);
            let texts = texts(&message);
            let listed = texts.iter().filter(|text| text.contains("00000000-0000-4000-8000-")).count();
            // The text for notifications names two of them a second time, together.
            let expected = if kind == TargetKind::Slack { LISTED_MAX + 1 } else { LISTED_MAX };
            assert_eq!(listed, expected, "{kind:?} {count}");
            if kind == TargetKind::Json {
                assert_eq!(message["omitted"], count - LISTED_MAX);
            } else {
                assert_eq!(texts.into_iter().find(|text| text.starts_with("and ")), rest, "{kind:?} {count}");
            }
        }
    }
}

#[test]
fn no_foreign_text_makes_a_message_too_large() {
    for unit in ["x", "&", "<", "`", "\"", "\\", "\0", "é", "스", "🏋", "\u{301}", "👩\u{200d}🚀", "\u{202e}"] {
        let text = unit.repeat(5_000);
        let alerts: Vec<Alert> = (1..=60).map(|id| alert_of(id, &text)).collect();
        let digest = Digest::new(alerts).unwrap();

        let teams = digest.message_for(TargetKind::Teams);
        assert!(teams.len() <= TEAMS_BYTES_MAX, "{unit}: {} bytes", teams.len());
        assert!(teams.contains("more: "), "{unit}");

        let slack: Value = serde_json::from_str(&digest.message_for(TargetKind::Slack)).unwrap();
        assert!(slack["blocks"].as_array().unwrap().len() <= SLACK_BLOCKS_MAX);
        for text in texts(&slack) {
            // Slack may count as JavaScript does.
            assert!(text.encode_utf16().count() <= SLACK_TEXT_CHARACTERS_MAX, "{unit}: {text}");
        }

        let json: Value = serde_json::from_str(&digest.message_for(TargetKind::Json)).unwrap();
        let subject = json["alerts"][0]["subject"].as_str().unwrap();
        assert_eq!(subject.chars().count(), SUBJECT_CHARACTERS_MAX);
        assert!(subject.ends_with('…'));
    }
}

#[test]
fn a_message_for_teams_lists_fewer_alerts_rather_than_be_too_large() {
    let alerts: Vec<Alert> = (1..=20).map(|id| alert_of(id, &"🏋".repeat(200))).collect();
    let message = message(TargetKind::Teams, alerts);
    let body = message["attachments"][0]["content"]["body"].as_array().unwrap();
    // A headline, the alerts, and how many more there are.
    let listed = body.len() - 2;
    assert!((5..20).contains(&listed), "{listed} alerts are listed");
    let rest = format!("and {} more: {} raised, 0 resolved", 20 - listed, 20 - listed);
    assert_eq!(body[body.len() - 1]["inlines"][0]["text"], rest);
}

#[test]
fn slack_finds_no_mention_and_no_link_in_foreign_text() {
    let message = message(TargetKind::Slack, vec![alert_of(1, &hostile_text()), alert_of(2, "`<!here>`")]);
    for text in texts(&message) {
        assert!(!text.contains(['<', '>']), "{text}");
        let mut ampersands = text.match_indices('&').map(|(at, _)| &text[at..]);
        assert!(
            ampersands.all(|rest| ["&amp;", "&lt;", "&gt;"].iter().any(|entity| rest.starts_with(entity))),
            "{text}"
        );
        for line in text.lines() {
            assert_eq!(line.matches('`').count() % 2, 0, "a code span is left: {line}");
        }
    }
    for block in message["blocks"].as_array().unwrap() {
        assert!(block["type"] == "header" || block["text"]["verbatim"] == true, "{block}");
    }
}

#[test]
fn teams_shows_every_text_as_it_is() {
    let message = message(TargetKind::Teams, vec![alert_of(1, &hostile_text())]);
    assert_no_text_outside_of_text_runs(&message["attachments"][0]["content"]["body"]);
}

fn assert_no_text_outside_of_text_runs(element: &Value) {
    match element {
        Value::Array(elements) => elements.iter().for_each(assert_no_text_outside_of_text_runs),
        Value::Object(members) => {
            assert!(!members.contains_key("text") || members["type"] == "TextRun", "{element}");
            members.values().for_each(assert_no_text_outside_of_text_runs);
        }
        _ => (),
    }
}

#[test]
fn a_receiver_of_json_gets_a_subject_as_it_is() {
    let hostile: String = hostile_text().chars().take(SUBJECT_CHARACTERS_MAX).collect();
    let message = message(TargetKind::Json, vec![alert_of(1, &hostile)]);
    assert_eq!(message["alerts"][0]["subject"].as_str().unwrap(), hostile);
    assert_eq!(message["version"], 1);
}

#[test]
fn the_guide_names_every_member_and_every_kind() {
    let guide = include_str!("../../../docs/ALERTS.md");
    let message = message(TargetKind::Json, vec![alert(1, "test")]);
    let members = message.as_object().unwrap().keys().chain(message["alerts"][0].as_object().unwrap().keys());
    let kinds = Guidance::all().iter().map(|guidance| guidance.kind);
    for name in members.map(String::as_str).chain(kinds) {
        assert!(guide.contains(&format!("`{name}`")), "docs/ALERTS.md does not name {name}");
    }
}
