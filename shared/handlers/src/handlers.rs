//! The built-in handlers, one file each, and what they are configured with.
//!
//! # Configuration
//! | variable | meaning |
//! |---|---|
//! | `ALERT_TARGETS` | where alerts go, as `docs/ALERTS.md` describes; unset or `[]`: nowhere |
//! | `WEBHOOK_INNER_ADDRESSES` | `allow` lets webhooks reach addresses that are not the public Internet; unset or `deny`: not |

pub mod alert;
pub mod purge;
pub mod webhook;

use std::env::VarError;

use secrecy::SecretString;
use tidemark_alerts::Targets;
use tidemark_alerts::outbound::{Client, Reach};

use crate::Registry;

const ALERT_TARGETS: &str = "ALERT_TARGETS";
const WEBHOOK_INNER_ADDRESSES: &str = "WEBHOOK_INNER_ADDRESSES";

/// Every built-in handler. One line each.
///
/// # Errors
/// [`Unusable`] where the TLS library offers too little.
pub fn registry(configuration: Configuration) -> Result<Registry, Unusable> {
    let Configuration { alert_targets, webhook_reach } = configuration;
    let client = |reach| Client::new(reach).map_err(|reason| Unusable { what: "TLS", reason: reason.to_owned() });
    Ok(Registry::new()
        .register(alert::JOB_TYPE, alert::AlertHandler::new(alert_targets, client(Reach::Configured)?))
        .register(purge::JOB_TYPE, purge::PurgeHandler)
        .register(webhook::JOB_TYPE, webhook::WebhookHandler::new(client(webhook_reach)?)))
}

/// What the built-in handlers are configured with.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// Where alerts go; `None`: nowhere.
    pub alert_targets: Option<Targets>,
    /// Which addresses webhooks may reach.
    pub webhook_reach: Reach,
}

/// What cannot be used, and the rule that it breaks; never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} cannot be used: {reason}")]
pub struct Unusable {
    what: &'static str,
    reason: String,
}

impl Default for Configuration {
    fn default() -> Self {
        Self { alert_targets: None, webhook_reach: Reach::Public }
    }
}

impl Configuration {
    /// As the environment variables say.
    ///
    /// # Errors
    /// [`Unusable`] with the variable's name.
    pub fn from_environment() -> Result<Self, Unusable> {
        let alert_targets = variable(ALERT_TARGETS)?.map(parse_targets).transpose()?;
        let webhook_reach = match variable(WEBHOOK_INNER_ADDRESSES)?.as_deref() {
            None | Some("deny") => Reach::Public,
            Some("allow") => Reach::Anywhere,
            Some(_) => return Err(unusable(WEBHOOK_INNER_ADDRESSES, "it must be allow or deny")),
        };
        Ok(Self { alert_targets, webhook_reach })
    }
}

/// The error of the document says which entry breaks which rule, and nothing that stands in it.
fn parse_targets(document: String) -> Result<Targets, Unusable> {
    Targets::parse(&SecretString::from(document))
        .map_err(|error| Unusable { what: ALERT_TARGETS, reason: error.to_string() })
}

/// `None` where it is not set or empty.
fn variable(name: &'static str) -> Result<Option<String>, Unusable> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value.trim().to_owned()).filter(|value| !value.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(unusable(name, "it is not UTF-8")),
    }
}

fn unusable(what: &'static str, reason: &str) -> Unusable {
    Unusable { what, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn targets_that_cannot_be_used_are_told_by_the_variable_and_the_rule_alone() {
        let error = parse_targets("json=ftp://canary.example.test/canary".to_owned()).unwrap_err();
        let told = format!("{error} {error:?}");
        assert!(told.contains("ALERT_TARGETS cannot be used: alert target 1: its url must begin with"), "{told}");
        assert!(!told.contains("canary"), "{told}");
    }

    #[test]
    fn the_built_in_types_are_alert_purge_and_webhook() {
        let registry = registry(Configuration::default()).unwrap();
        assert_eq!(registry.job_types().collect::<Vec<_>>(), [1, 2, 3]);
    }
}
