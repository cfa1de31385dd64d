//! `tidemark alerts list`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use jiff::Timestamp;
use serde::Serialize;
use tidemark_alerts::Guidance;
use tidemark_status::attention::duration;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::database::Source;
use crate::job_line::shortened;
use crate::output::Output;
use crate::refusal::explain;
use crate::statements::ALERTS;
use crate::table::{Column, table};

/// Characters of a subject on one line.
const SUBJECT_MAX: usize = 60;

/// Options of `tidemark alerts list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark alerts list\n  \
    tidemark alerts list --all --json | jq '.alerts[] | select(.resolved_at == null)'\n\n\
    Alerts that repeat while they are open are counted, not raised again. Resolved ones are kept for \
    history_retention_days.")]
pub(crate) struct ListOptions {
    /// Resolved ones too, after the open ones
    #[arg(long)]
    all: bool,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(i64).range(1..=1000))]
    limit: i64,
}

/// One alert, and what to do about it.
#[derive(Debug, Serialize)]
struct Alert {
    id: i64,
    kind: String,
    subject: String,
    error_code: String,
    occurrences: i64,
    raised_at: Timestamp,
    last_raised_at: Timestamp,
    resolved_at: Option<Timestamp>,
    /// When the targets were last told; none: not yet.
    told_at: Option<Timestamp>,
    title: Option<&'static str>,
    what_to_do: Option<&'static str>,
    #[serde(skip)]
    as_of: Timestamp,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Listed {
    alerts: Vec<Alert>,
    /// Whether there are more than these.
    more: bool,
}

/// Runs the command.
pub(crate) async fn run(options: &ListOptions, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    let client = database.admin().await?;
    let number = options.limit + 1;
    let parameters = [(&options.all as _, Type::BOOL), (&number as _, Type::INT8)];
    let rows = client.query_typed(ALERTS, &parameters).await.map_err(explain)?;
    let mut alerts = rows.iter().map(Alert::from_row).collect::<anyhow::Result<Vec<_>>>()?;
    let wanted = usize::try_from(options.limit)?;
    let more = alerts.len() > wanted;
    alerts.truncate(wanted);
    let listed = Listed { alerts, more };
    output.answer(&listed, || listed.draw(options.all))?;
    Ok(ExitCode::SUCCESS)
}

impl Alert {
    fn from_row(row: &Row) -> anyhow::Result<Self> {
        let kind: String = row.try_get("kind")?;
        let guidance = Guidance::of(&kind);
        Ok(Self {
            id: row.try_get("id")?,
            subject: row.try_get("subject")?,
            error_code: row.try_get("error_code")?,
            occurrences: row.try_get("occurrences")?,
            raised_at: row.try_get("raised_at")?,
            last_raised_at: row.try_get("last_raised_at")?,
            resolved_at: row.try_get("resolved_at")?,
            told_at: row.try_get("told_at")?,
            title: guidance.map(|guidance| guidance.title),
            what_to_do: guidance.map(|guidance| guidance.what_to_do),
            as_of: row.try_get("as_of")?,
            kind,
        })
    }

    fn ago(&self, time: Timestamp) -> String {
        format!("{} ago", duration(self.as_of.duration_since(time).as_secs().max(0)))
    }

    fn cells(&self) -> Vec<String> {
        vec![
            shortened(&self.kind, SUBJECT_MAX),
            shortened(&self.subject, SUBJECT_MAX),
            shortened(&self.error_code, SUBJECT_MAX),
            self.occurrences.to_string(),
            self.ago(self.raised_at),
            self.ago(self.last_raised_at),
            self.told_at.map_or_else(|| "not yet".to_owned(), |time| self.ago(time)),
            self.resolved_at.map_or_else(|| "open".to_owned(), |time| format!("resolved {}", self.ago(time))),
        ]
    }
}

impl Listed {
    fn draw(&self, all: bool) -> String {
        if self.alerts.is_empty() {
            return if all { "There are no alerts." } else { "No alert is open." }.to_owned();
        }
        let columns = [
            Column::Words("kind"),
            Column::Words("subject"),
            Column::Words("code"),
            Column::Figures("times"),
            Column::Figures("since"),
            Column::Figures("last"),
            Column::Figures("told"),
            Column::Words("state"),
        ];
        let mut parts = vec![table(&columns, self.alerts.iter().map(Alert::cells))];
        if self.more {
            parts.push("There are more: --limit N lists up to 1000.".to_owned());
        }
        let open: BTreeSet<&str> =
            self.alerts.iter().filter(|one| one.resolved_at.is_none()).map(|one| one.kind.as_str()).collect();
        let known: Vec<String> = open
            .into_iter()
            .filter_map(Guidance::of)
            .map(|guidance| format!(" {}: {}\n   next: {}", guidance.kind, guidance.title, guidance.what_to_do))
            .collect();
        if !known.is_empty() {
            parts.push(format!("WHAT TO DO\n{}", known.join("\n")));
        }
        parts.join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn alert(kind: &str, subject: &str) -> Alert {
        let guidance = Guidance::of(kind);
        Alert {
            id: 1,
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            error_code: "deadline_exceeded".to_owned(),
            occurrences: 1234,
            raised_at: time("2026-03-01T10:00:00Z"),
            last_raised_at: time("2026-03-01T10:58:00Z"),
            resolved_at: None,
            told_at: Some(time("2026-03-01T10:00:03Z")),
            title: guidance.map(|guidance| guidance.title),
            what_to_do: guidance.map(|guidance| guidance.what_to_do),
            as_of: time("2026-03-01T11:00:00Z"),
        }
    }

    #[test]
    fn open_alerts_are_shown_with_what_to_do_about_each_kind() {
        let alerts = vec![
            alert("job_dead", "job_type 7"),
            alert("job_dead", "job_type 8"),
            Alert { told_at: None, error_code: String::new(), ..alert("of_tomorrow", "some\nthing") },
            Alert { resolved_at: Some(time("2026-03-01T10:59:00Z")), ..alert("queue_standing_still", "jobs") },
        ];
        insta::assert_snapshot!(Listed { alerts, more: true }.draw(true));
    }
}
