//! `tidemark bench`: the figures of docs/PERFORMANCE.md, measured on this machine.

use std::process::ExitCode;

use crate::bench::{Goal, Laboratory, Scale};
use crate::failure::Failure;
use crate::output::Output;

/// Options of `tidemark bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tidemark bench --quick --only P5,P8 --json\n\n\
    Runs on a durable PostgreSQL of its own in the system's temporary folder; no other database is touched.")]
pub(crate) struct Options {
    /// Smaller amounts: minutes become seconds, and so do the claims
    #[arg(long)]
    quick: bool,
    /// Only these goals
    #[arg(long, value_delimiter = ',', value_name = "P5,P8,…")]
    only: Vec<String>,
}

/// Runs the command.
pub(crate) async fn run(options: &Options, output: Output) -> anyhow::Result<ExitCode> {
    let known = Laboratory::GOALS;
    if let Some(unknown) = options.only.iter().find(|id| !known.contains(&id.as_str())) {
        return Err(
            Failure::usage(format!("no goal is called {unknown}"), format!("use one of {}", known.join(", "))).into()
        );
    }
    let scale = if options.quick { Scale::Quick } else { Scale::Full };
    let laboratory = Laboratory::new(scale);
    let mut goals = Vec::new();
    for id in known.iter().filter(|id| options.only.is_empty() || options.only.iter().any(|only| only == *id)) {
        output.note(&format!("measuring {id} …"));
        let measured = laboratory.measure(id).await?;
        for goal in &measured {
            output.note(&goal.to_string());
        }
        goals.extend(measured);
    }
    let document = serde_json::json!({ "goals": goals });
    output.answer(&document, || Goal::table(&goals))?;
    Ok(ExitCode::SUCCESS)
}
