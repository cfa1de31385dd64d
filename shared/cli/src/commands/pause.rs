//! `tidemark pause` and `tidemark resume`: the switches of the settings row.

use std::process::ExitCode;

use serde_json::Value;

use crate::audit::Change;
use crate::database::Source;
use crate::output::Output;
use crate::settings_change::SettingsChange;

/// Options of `tidemark pause`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark pause --note \"maintenance until 14:00\"   everything but saving and enqueueing\n  \
    tidemark pause claim --note \"no new work\"\n\n\
    Takes effect at the next tick; work under way ends normally.")]
pub(crate) struct PauseOptions {
    /// Which functions; all if none is named
    #[arg(value_enum)]
    functions: Vec<Switch>,
    /// Why, for whoever looks at the status next
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// Options of `tidemark resume`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tidemark resume\n  tidemark resume claim\n\n\
    Takes effect at the next tick. Leases that expired meanwhile are recovered by the first claim.")]
pub(crate) struct ResumeOptions {
    /// Which functions; all if none is named
    #[arg(value_enum)]
    functions: Vec<Switch>,
    /// Why, for whoever looks at the settings next
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// A function that can be paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    /// Gives runs to stale users
    Claim,
    /// Computes claimed runs
    Compute,
    /// Publishes computed runs
    Publish,
    /// Runs background jobs
    Work,
}

impl Switch {
    const ALL: [Self; 4] = [Self::Claim, Self::Compute, Self::Publish, Self::Work];

    fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Compute => "compute",
            Self::Publish => "publish",
            Self::Work => "work",
        }
    }

    fn column(self) -> &'static str {
        match self {
            Self::Claim => "claim_enabled",
            Self::Compute => "compute_enabled",
            Self::Publish => "publish_enabled",
            Self::Work => "work_enabled",
        }
    }
}

/// Runs `tidemark pause`.
pub(crate) async fn pause(options: &PauseOptions, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    turn(&options.functions, false, options.note.as_deref(), source, output).await
}

/// Runs `tidemark resume`.
pub(crate) async fn resume(options: &ResumeOptions, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    turn(&options.functions, true, options.note.as_deref(), source, output).await
}

async fn turn(
    named: &[Switch],
    on: bool,
    note: Option<&str>,
    source: &Source,
    output: Output,
) -> anyhow::Result<ExitCode> {
    let switches = if named.is_empty() { &Switch::ALL[..] } else { named };
    let mut change = SettingsChange::new(note);
    for switch in switches {
        change.switch(switch.column(), on);
    }
    let database = source.open()?;
    let named: Vec<&str> = switches.iter().map(|switch| switch.name()).collect();
    let remembered = Change::new(if on { "resume" } else { "pause" }, named.join(" "), note);
    let row = change.apply(&mut database.admin().await?, remembered).await?;
    output.answer(&row, || describe(&row))?;
    Ok(ExitCode::SUCCESS)
}

/// Which functions are on now and which are paused.
fn describe(row: &Value) -> String {
    let state = |switch: Switch| if row[switch.column()] == Value::Bool(false) { "paused" } else { "on" };
    let states: Vec<String> =
        Switch::ALL.into_iter().map(|switch| format!("{} {}", switch.name(), state(switch))).collect();
    format!("from the next tick on: {}", states.join(", "))
}
