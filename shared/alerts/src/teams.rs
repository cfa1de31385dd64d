//! The message for Teams: an Adaptive Card in the envelope that a Workflows webhook expects.
//!
//! Every text is a `TextRun` of a `RichTextBlock`, in which Teams looks for no Markdown and no mentions.

use serde_json::{Value, json};

use crate::digest::LISTED_MAX;
use crate::entry::Entry;
use crate::{Alert, Digest};

/// Bytes of a message. Teams documents 28 kB for what it makes of a message, and refuses some from 21 kB on.
pub const TEAMS_BYTES_MAX: usize = 20_000;

/// Lists as many alerts as the limit allows.
pub(crate) fn message(digest: &Digest) -> String {
    let mut listed = digest.first(LISTED_MAX).len();
    loop {
        let message = envelope(digest, listed).to_string();
        // Without a list only texts of our own are left, which are short.
        if message.len() <= TEAMS_BYTES_MAX || listed == 0 {
            return message;
        }
        listed -= 1;
    }
}

fn envelope(digest: &Digest, listed: usize) -> Value {
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "fallbackText": digest.headline(),
                "msteams": { "width": "Full" },
                "body": body(digest, listed),
            },
        }],
    })
}

fn body(digest: &Digest, listed: usize) -> Vec<Value> {
    let headline = paragraph(&[json!({
        "type": "TextRun", "text": digest.headline(), "weight": "Bolder", "size": "Large",
    })]);
    let remainder = digest.remainder(listed).map(|text| paragraph(&[subtle(&text)]));
    std::iter::once(headline).chain(digest.first(listed).iter().map(container)).chain(remainder).collect()
}

fn container(alert: &Alert) -> Value {
    let entry = Entry::of(alert);
    let title = json!({
        "type": "TextRun", "text": format!("{}: {}", entry.state(), entry.title), "weight": "Bolder",
    });
    let code = if entry.error_code.is_empty() { String::new() } else { format!(", code {}", entry.error_code) };
    let facts = format!("{}{code}, {}", entry.kind, entry.times);
    let mut items = vec![paragraph(&[title])];
    // A text run without a text is not a valid one.
    if !entry.subject.is_empty() {
        items.push(paragraph(&[json!({ "type": "TextRun", "text": entry.subject })]));
    }
    items.push(paragraph(&[subtle(&facts)]));
    items.extend(entry.what_to_do.map(|text| paragraph(&[json!({ "type": "TextRun", "text": text })])));
    let style = if entry.is_resolved { "good" } else { "attention" };
    json!({ "type": "Container", "style": style, "items": items })
}

fn subtle(text: &str) -> Value {
    json!({ "type": "TextRun", "text": text, "isSubtle": true, "size": "Small" })
}

fn paragraph(inlines: &[Value]) -> Value {
    json!({ "type": "RichTextBlock", "inlines": inlines })
}
