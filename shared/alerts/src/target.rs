//! One place to send to.

use std::fmt;

use secrecy::SecretString;

/// What a target understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A Workflows webhook of Microsoft Teams.
    Teams,
    /// An incoming webhook of Slack.
    Slack,
    /// Anything that takes the JSON shape of Tidemark.
    Json,
}

/// A target with its URL. The URL is a secret: neither `Debug` nor `Display` shows it.
#[derive(Debug, Clone)]
pub struct Target {
    name: String,
    kind: TargetKind,
    url: SecretString,
}

impl Target {
    pub(crate) fn new(name: String, kind: TargetKind, url: SecretString) -> Self {
        Self { name, kind, url }
    }

    /// Its name, which logs and errors may show.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it understands.
    #[must_use]
    pub fn kind(&self) -> TargetKind {
        self.kind
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &SecretString {
        &self.url
    }
}

/// The name alone.
impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl TargetKind {
    /// The kind that a secret document calls by this word.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        match word {
            "teams" => Some(Self::Teams),
            "slack" => Some(Self::Slack),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// The word for it in a secret document.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Teams => "teams",
            Self::Slack => "slack",
            Self::Json => "json",
        }
    }
}
