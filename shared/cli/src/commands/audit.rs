//! `tidemark audit`: who changed what by hand, and why.

use std::process::ExitCode;

use serde::Serialize;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::database::Source;
use crate::job_line::shortened;
use crate::output::Output;
use crate::refusal::explain;
use crate::statements::ACTIONS;
use crate::status_screen::readable_time;
use crate::table::{Column, table};

/// Characters of a subject or a note on one line.
const CELL_MAX: usize = 48;

/// Options of `tidemark audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark audit\n  \
    tidemark audit --limit 500 --json | jq '.actions[] | select(.command == \"pause\")'\n\n\
    Remembers what was done with `tidemark`, for 400 days. The settings row has a history of its own, whatever changed it: \
    stats_projection_worker_settings_history.")]
pub(crate) struct Options {
    /// How many at most, the newest first
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

/// One line of the audit table.
#[derive(Debug, Serialize)]
struct Action {
    id: i64,
    acted_at: String,
    command: String,
    subject: String,
    rows_changed: i64,
    operator: String,
    database_role: String,
    client_address: Option<String>,
    note: String,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Listed {
    actions: Vec<Action>,
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    let client = database.admin().await?;
    let rows = client.query_typed(ACTIONS, &[(&options.limit as _, Type::INT8)]).await.map_err(explain)?;
    let listed = Listed { actions: rows.iter().map(Action::from_row).collect::<Result<_, _>>()? };
    output.answer(&listed, || listed.draw())?;
    Ok(ExitCode::SUCCESS)
}

impl Action {
    fn from_row(row: &Row) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            id: row.try_get(0)?,
            acted_at: row.try_get(1)?,
            command: row.try_get(2)?,
            subject: row.try_get(3)?,
            rows_changed: row.try_get(4)?,
            operator: row.try_get(5)?,
            database_role: row.try_get(6)?,
            client_address: row.try_get(7)?,
            note: row.try_get(8)?,
        })
    }

    fn who(&self) -> String {
        let from = self.client_address.as_ref().map(|address| format!(" from {address}")).unwrap_or_default();
        format!("{} as {}{from}", self.operator, self.database_role)
    }

    fn cells(&self) -> Vec<String> {
        vec![
            readable_time(&self.acted_at),
            shortened(&self.who(), CELL_MAX),
            self.command.clone(),
            shortened(&self.subject, CELL_MAX),
            self.rows_changed.to_string(),
            shortened(&self.note, CELL_MAX),
        ]
    }
}

impl Listed {
    fn draw(&self) -> String {
        if self.actions.is_empty() {
            return "Nothing was changed by hand yet.".to_owned();
        }
        let columns = [
            Column::Words("when"),
            Column::Words("who"),
            Column::Words("command"),
            Column::Words("of what"),
            Column::Figures("changed"),
            Column::Words("why"),
        ];
        table(&columns, self.actions.iter().map(Action::cells))
    }
}
