//! Partial failures of a handler, as structure.

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// Diagnostics that are kept of one job; of more, only the number is told.
const KEPT_MAX: usize = 50;
/// Characters that are kept of each text.
const TEXT_CHARACTERS_MAX: usize = 500;

/// What failed while a handler went on. Shared between the handler, which adds, and whoever records its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Diagnostics(Arc<Mutex<Collected>>);

#[derive(Debug, Default)]
struct Collected {
    kept: Vec<(String, String)>,
    omitted: usize,
}

impl Diagnostics {
    pub(crate) fn add(&self, channel: &str, error: &dyn Display) {
        let mut collected = self.collected();
        if collected.kept.len() == KEPT_MAX {
            collected.omitted += 1;
        } else {
            collected.kept.push((storable(channel), storable(&error.to_string())));
        }
    }

    /// An array of `{"channel", "error"}`, with one entry at the end that counts what was left out; `None` where nothing
    /// was added.
    pub(crate) fn to_json(&self) -> Option<Value> {
        let collected = self.collected();
        if collected.kept.is_empty() {
            return None;
        }
        let mut listed: Vec<Value> =
            collected.kept.iter().map(|(channel, error)| json!({"channel": channel, "error": error})).collect();
        if collected.omitted > 0 {
            listed.push(json!({"channel": "diagnostics", "error": format!("{} more", collected.omitted)}));
        }
        Some(Value::Array(listed))
    }

    /// A list is whole after every push, so a panic elsewhere does not spoil it.
    fn collected(&self) -> MutexGuard<'_, Collected> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The server stores no NUL.
fn storable(text: &str) -> String {
    text.chars().take(TEXT_CHARACTERS_MAX).map(|one| if one == '\0' { '\u{fffd}' } else { one }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_collected_can_be_stored_and_has_an_end() {
        let diagnostics = Diagnostics::default();
        assert_eq!(diagnostics.to_json(), None);
        for _one in 0..KEPT_MAX + 7 {
            diagnostics.add("mail\0", &"ä".repeat(TEXT_CHARACTERS_MAX + 1));
        }
        let listed = diagnostics.to_json().unwrap_or_default();
        let listed = listed.as_array().cloned().unwrap_or_default();
        assert_eq!(listed.len(), KEPT_MAX + 1);
        assert_eq!(listed[0], json!({"channel": "mail\u{fffd}", "error": "ä".repeat(TEXT_CHARACTERS_MAX)}));
        assert_eq!(listed[KEPT_MAX], json!({"channel": "diagnostics", "error": "7 more"}));
    }
}
