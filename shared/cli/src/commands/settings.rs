//! `tidemark settings`: the one row that every budget comes from.

use std::process::ExitCode;

use serde_json::Value;

use crate::audit;
use crate::database::Source;
use crate::output::Output;
use crate::setting;
use crate::settings_change::{self, SettingsChange};
use crate::status_screen::readable_time;
use crate::table::{Column, table};

/// Options of `tidemark settings`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark settings\n  \
    tidemark settings set max_active=4 compute_timeout_ms=90000 --note \"backlog after the import\"\n\n\
    A change takes effect at the next tick, in every function. Its history is kept.")]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Change settings
    #[command(after_help = "Example:\n  tidemark settings set publish_timeout_ms=5000 --note \"saves wait too long\"")]
    Set(SetOptions),
}

/// Options of `tidemark settings set`.
#[derive(Debug, clap::Args)]
struct SetOptions {
    /// The settings and their new values
    #[arg(required = true, value_name = "KEY=VALUE")]
    assignments: Vec<String>,
    /// Why, for whoever looks at the row next
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let change = match &options.action {
        None => None,
        Some(Action::Set(set)) => Some((change(set)?, set)),
    };
    let database = source.open()?;
    let mut client = database.admin().await?;
    let row = match change {
        None => settings_change::read(&client).await?,
        Some((change, set)) => {
            let remembered = audit::Change::new("settings set", set.assignments.join(" "), set.note.as_deref());
            change.apply(&mut client, remembered).await?
        }
    };
    output.answer(&row, || describe(&row))?;
    Ok(ExitCode::SUCCESS)
}

fn change(options: &SetOptions) -> anyhow::Result<SettingsChange> {
    let mut change = SettingsChange::new(options.note.as_deref());
    for assignment in &options.assignments {
        change.take(assignment)?;
    }
    Ok(change)
}

/// The row for people: each value with its bound and meaning, and why it was last changed.
fn describe(row: &Value) -> String {
    let columns =
        [Column::Words("setting"), Column::Figures("value"), Column::Words("must be"), Column::Words("meaning")];
    let rows = setting::ALL.iter().map(|setting| {
        vec![
            setting.name.to_owned(),
            row[setting.name].to_string(),
            setting.bound.to_owned(),
            setting.meaning.to_owned(),
        ]
    });
    let note = row["note"].as_str().filter(|note| !note.is_empty()).unwrap_or("none");
    let changed = row["updated_at"].as_str().map_or_else(|| "at an unknown time".to_owned(), readable_time);
    format!("{}\n\nlast changed {changed}, note: {note}", table(&columns, rows))
}
