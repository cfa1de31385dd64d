//! The message for Slack: blocks, and a text for notifications and for what shows no blocks.
//!
//! Foreign text stands in code spans, in which Slack looks for no formatting, with `&`, `<` and `>` escaped, which begin
//! mentions and links everywhere; `verbatim` keeps Slack from finding links by itself.

use serde_json::{Value, json};

use crate::digest::LISTED_MAX;
use crate::entry::Entry;
use crate::{Alert, Digest};

/// Blocks of a message that Slack takes.
pub const SLACK_BLOCKS_MAX: usize = 50;
/// Characters of one text that Slack takes.
pub const SLACK_TEXT_CHARACTERS_MAX: usize = 3000;

/// Alerts that the text for notifications names.
const NAMED_MAX: usize = 2;

// A heading, one block for each alert and one for the rest.
const _: () = assert!(LISTED_MAX + 2 <= SLACK_BLOCKS_MAX);

pub(crate) fn message(digest: &Digest) -> String {
    let headline = json!({ "type": "header", "text": { "type": "plain_text", "text": digest.headline() } });
    let remainder = digest.remainder(LISTED_MAX).map(|text| section(&text));
    let listed = digest.first(LISTED_MAX).iter().map(|alert| section(&text_of(alert)));
    let blocks: Vec<Value> = std::iter::once(headline).chain(listed).chain(remainder).collect();
    json!({ "text": notification(digest), "blocks": blocks }).to_string()
}

fn section(text: &str) -> Value {
    json!({ "type": "section", "text": { "type": "mrkdwn", "text": text, "verbatim": true } })
}

/// Escaping makes at most five characters of one, so that an entry stays below [`SLACK_TEXT_CHARACTERS_MAX`] whatever
/// its foreign texts hold.
fn text_of(alert: &Alert) -> String {
    let entry = Entry::of(alert);
    let mark = if entry.is_resolved { ":large_green_circle:" } else { ":red_circle:" };
    let code =
        if entry.error_code.is_empty() { String::new() } else { format!(", code {}", code_span(&entry.error_code)) };
    let mut lines = vec![format!("{mark} *{}: {}*", entry.state(), entry.title)];
    if !entry.subject.is_empty() {
        lines.push(code_span(&entry.subject));
    }
    lines.push(format!("{}{code}, {}", code_span(&entry.kind), entry.times));
    lines.extend(entry.what_to_do.map(str::to_owned));
    lines.join("\n")
}

fn notification(digest: &Digest) -> String {
    let mut lines = vec![digest.headline()];
    for alert in digest.first(NAMED_MAX) {
        let entry = Entry::of(alert);
        let subject = if entry.subject.is_empty() { String::new() } else { format!(" {}", code_span(&entry.subject)) };
        lines.push(format!("{}: {}{subject}", entry.state(), entry.title));
    }
    lines.join("\n")
}

/// `text` as it is between back-ticks; a back-tick of its own would end the span and becomes an apostrophe.
fn code_span(text: &str) -> String {
    let mut span = String::with_capacity(text.len() + 2);
    span.push('`');
    for character in text.chars() {
        match character {
            '&' => span.push_str("&amp;"),
            '<' => span.push_str("&lt;"),
            '>' => span.push_str("&gt;"),
            '`' => span.push('\''),
            other => span.push(other),
        }
    }
    span.push('`');
    span
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_can_neither_mention_nor_leave_its_span() {
        assert_eq!(code_span("<!channel> & `*x*`"), "`&lt;!channel&gt; &amp; '*x*'`");
    }
}
