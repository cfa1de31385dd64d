//! One alert as the lines that a person reads, without the markup of any target.

use crate::guidance::UNKNOWN_TITLE;
use crate::plain_text::one_line;
use crate::{Alert, Guidance};

/// Characters of a subject that are shown.
const SUBJECT_MAX: usize = 200;
/// Characters of a kind that are shown.
const KIND_MAX: usize = 60;
/// Characters of an error code that are shown.
const ERROR_CODE_MAX: usize = 100;

/// Shown where the kind is empty.
const NO_KIND: &str = "no kind";

/// The lines of one alert. `subject`, `kind` and `error_code` come from outside: they are clean but may hold markup.
pub(crate) struct Entry {
    pub(crate) is_resolved: bool,
    pub(crate) title: &'static str,
    pub(crate) subject: String,
    pub(crate) kind: String,
    pub(crate) error_code: String,
    /// When and how often, in words of our own.
    pub(crate) times: String,
    /// Only while it is open: what is over asks for nothing.
    pub(crate) what_to_do: Option<&'static str>,
}

impl Entry {
    pub(crate) fn of(alert: &Alert) -> Self {
        let guidance = Guidance::of(&alert.kind);
        Self {
            is_resolved: alert.is_resolved(),
            title: guidance.map_or(UNKNOWN_TITLE, |guidance| guidance.title),
            subject: one_line(&alert.subject, SUBJECT_MAX),
            kind: if alert.kind.is_empty() { NO_KIND.to_owned() } else { one_line(&alert.kind, KIND_MAX) },
            error_code: one_line(&alert.error_code, ERROR_CODE_MAX),
            times: times(alert),
            what_to_do: guidance.filter(|_| !alert.is_resolved()).map(|guidance| guidance.what_to_do),
        }
    }

    /// What became of it, in one word.
    pub(crate) fn state(&self) -> &'static str {
        if self.is_resolved { "Resolved" } else { "Raised" }
    }
}

/// Instants are shown to the second, in UTC.
fn times(alert: &Alert) -> String {
    let Alert { occurrences, raised_at, last_raised_at, .. } = alert;
    let raised = match occurrences {
        0 | 1 => format!("raised {raised_at:.0}"),
        _ => format!("raised {occurrences} times, first {raised_at:.0}, last {last_raised_at:.0}"),
    };
    match alert.resolved_at {
        None => raised,
        Some(resolved_at) => format!("{raised}, resolved {resolved_at:.0}"),
    }
}
