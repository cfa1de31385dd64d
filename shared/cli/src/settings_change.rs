//! Changing the settings row: one statement with values, whatever is changed.

use serde_json::Value;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error};

use crate::audit::Change;
use crate::failure::Failure;
use crate::refusal::explain;
use crate::setting::{self, Kind, LEASE_COVERS_WORK, NUMBERS, SWITCHES, Setting};
use crate::statements::{SETTINGS, SETTINGS_CHANGE};

/// New values of some settings, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SettingsChange {
    numbers: [Option<i32>; NUMBERS],
    switches: [Option<bool>; SWITCHES],
    note: String,
}

impl SettingsChange {
    /// A change for the reason in `note` that changes nothing yet.
    pub(crate) fn new(note: Option<&str>) -> Self {
        Self { note: note.unwrap_or_default().to_owned(), ..Self::default() }
    }

    /// Takes up `KEY=VALUE`.
    pub(crate) fn take(&mut self, assignment: &str) -> anyhow::Result<()> {
        let (name, value) = assignment.split_once('=').ok_or_else(|| {
            Failure::usage(
                format!("`{assignment}` is not of the form KEY=VALUE"),
                "for example `tidemark settings set max_active=4 --note \"more compute\"`",
            )
        })?;
        let (name, value) = (name.trim(), value.trim());
        let setting = setting::named(name).ok_or_else(|| unknown(name))?;
        let given_before = match setting.kind {
            Kind::Number(place) => self.numbers[place].replace(parse_number(setting, value)?).is_some(),
            Kind::Switch(place) => self.switches[place].replace(parse_switch(setting, value)?).is_some(),
        };
        if given_before {
            return Err(Failure::usage(format!("{name} is given twice"), "nothing was changed; give it once").into());
        }
        Ok(())
    }

    /// Turns a function on or off.
    pub(crate) fn switch(&mut self, name: &str, on: bool) {
        if let Some(Kind::Switch(place)) = setting::named(name).map(|setting| setting.kind) {
            self.switches[place] = Some(on);
        }
    }

    /// Changes the row, remembered as `remembered` and returns it. A refused value is explained.
    pub(crate) async fn apply(&self, client: &mut Client, mut remembered: Change) -> anyhow::Result<Value> {
        let mut parameters: Vec<(&(dyn ToSql + Sync), Type)> = Vec::with_capacity(NUMBERS + SWITCHES + 1);
        parameters.extend(self.numbers.iter().map(|number| (number as &(dyn ToSql + Sync), Type::INT4)));
        parameters.extend(self.switches.iter().map(|switch| (switch as &(dyn ToSql + Sync), Type::BOOL)));
        parameters.push((&self.note, Type::TEXT));
        let transaction = client.transaction().await.map_err(explain)?;
        match transaction.query_typed(SETTINGS_CHANGE, &parameters).await {
            Ok(rows) => {
                remembered.record(&transaction, rows.len() as u64).await.map_err(explain)?;
                transaction.commit().await.map_err(explain)?;
                single(&rows)
            }
            Err(error) => {
                drop(transaction);
                Err(self.explain_refusal(client, error).await)
            }
        }
    }

    async fn explain_refusal(&self, client: &Client, error: Error) -> anyhow::Error {
        let Some(constraint) = error.as_db_error().and_then(|error| error.constraint()).map(str::to_owned) else {
            return explain(error);
        };
        if constraint == LEASE_COVERS_WORK {
            return match read(client).await {
                Ok(row) => self.lease_too_short(&row),
                Err(_unreadable) => explain(error),
            };
        }
        let Some(setting) = setting::bounded_by(&constraint) else {
            return explain(error);
        };
        let value = match setting.kind {
            Kind::Number(place) => self.numbers[place].map(|number| number.to_string()),
            Kind::Switch(place) => self.switches[place].map(|switch| switch.to_string()),
        };
        refused(setting, &value.unwrap_or_default(), &constraint)
    }

    /// Says the sum that does not hold, with the values that the row would have had.
    fn lease_too_short(&self, row: &Value) -> anyhow::Error {
        let would_be = |name: &str| -> i64 {
            let place = match setting::named(name).map(|setting| setting.kind) {
                Some(Kind::Number(place)) => self.numbers[place],
                _ => None,
            };
            place.map_or_else(|| row[name].as_i64().unwrap_or(0), i64::from)
        };
        let (lease, compute, publish) =
            (would_be("lease_seconds"), would_be("compute_timeout_ms"), would_be("publish_timeout_ms"));
        let lease_ms = lease * 1000;
        let what = format!(
            "refused: a lease must last longer than a compute and a publish together: lease_seconds × 1000 must be above \
             compute_timeout_ms + publish_timeout_ms, and {lease_ms} is not above {compute} + {publish} ({LEASE_COVERS_WORK})"
        );
        let least = (compute + publish) / 1000 + 1;
        Failure::new(what, format!("nothing was changed; set lease_seconds to at least {least} in the same command"))
            .into()
    }
}

/// The settings row.
pub(crate) async fn read(client: &Client) -> anyhow::Result<Value> {
    let rows = client.query_typed(SETTINGS, &[]).await.map_err(explain)?;
    single(&rows)
}

fn single(rows: &[tokio_postgres::Row]) -> anyhow::Result<Value> {
    let row = rows.first().ok_or_else(|| {
        Failure::new("the settings row is missing", "restore it from stats_projection_worker_settings_history")
    })?;
    Ok(row.try_get(0)?)
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = setting::ALL.iter().map(|setting| setting.name).collect();
    let hint = if name == "note" { "; the note is given with --note" } else { "" };
    Failure::usage(format!("there is no setting `{name}`{hint}"), format!("the settings are {}", names.join(", ")))
}

fn parse_number(setting: &Setting, value: &str) -> anyhow::Result<i32> {
    let number: i128 = value.parse().map_err(|_not_a_number| {
        Failure::usage(format!("{}: `{value}` is not a whole number", setting.name), must_be(setting))
    })?;
    // What the column cannot hold at all is beyond its bound as well.
    i32::try_from(number).map_err(|_beyond| refused(setting, value, "its bound"))
}

fn parse_switch(setting: &Setting, value: &str) -> anyhow::Result<bool> {
    match value {
        "true" | "on" => Ok(true),
        "false" | "off" => Ok(false),
        _ => {
            Err(Failure::usage(format!("{}: `{value}` is neither true nor false", setting.name), must_be(setting))
                .into())
        }
    }
}

fn must_be(setting: &Setting) -> String {
    format!("{} must be {}", setting.name, setting.bound)
}

fn refused(setting: &Setting, value: &str, constraint: &str) -> anyhow::Error {
    let what = format!("{} = {value} is refused: it must be {} ({constraint})", setting.name, setting.bound);
    Failure::new(what, "nothing was changed; choose a value within the bound, `tidemark settings` shows them all")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the failure holds: sentence, next step, exit status.
    fn held(error: &anyhow::Error) -> String {
        format!("{:?}", error.downcast_ref::<Failure>().expect("a failure"))
    }

    #[test]
    fn an_unknown_key_is_wrong_usage_and_the_known_ones_are_listed() {
        let error = SettingsChange::new(None).take("max_activ=3").expect_err("there is none of that name");
        assert!(held(&error).contains("code: 2"), "{error}");
        assert!(held(&error).contains("max_active"), "{error}");
    }

    #[test]
    fn a_number_too_large_for_the_column_is_refused_by_its_bound() {
        let error = SettingsChange::new(None).take("max_active=99999999999").expect_err("beyond the bound");
        assert!(error.to_string().contains("between 1 and 1000"), "{error}");
    }

    #[test]
    fn what_is_not_a_number_or_a_switch_is_wrong_usage() {
        for assignment in ["max_active=two", "max_active=", "claim_enabled=yes please", "max_active", "max_active=2.5"]
        {
            let error = SettingsChange::new(None).take(assignment).expect_err("wrong usage");
            assert!(held(&error).contains("code: 2"), "{assignment}: {error}");
        }
    }

    #[test]
    fn a_setting_given_twice_is_wrong_usage() {
        let mut change = SettingsChange::new(None);
        change.take("max_active=3").expect("a number");
        let error = change.take("max_active=4").expect_err("given twice");
        assert!(held(&error).contains("code: 2"), "{error}");
    }

    #[test]
    fn a_lease_too_short_is_explained_with_the_values_the_row_would_have_had() {
        let mut change = SettingsChange::new(None);
        change.take("lease_seconds=60").expect("a number");
        let row = serde_json::json!({"lease_seconds": 300, "compute_timeout_ms": 60000, "publish_timeout_ms": 6000});
        let error = change.lease_too_short(&row);
        assert!(error.to_string().contains("60000 is not above 60000 + 6000"), "{error}");
        assert!(held(&error).contains("at least 67"), "{error}");
    }
}
