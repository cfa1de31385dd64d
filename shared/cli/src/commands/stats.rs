//! `tidemark stats`: what is published of one user.

use std::process::ExitCode;

use uuid::Uuid;

use crate::database::Source;
use crate::failure::Failure;
use crate::output::Output;
use crate::published::Published;
use crate::stats_screen;

/// Options of `tidemark stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark stats 7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f\n  \
    tidemark stats 7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f --exercise \"Bench Press (Barbell)\"\n\n\
    With --json: every column of the four published tables, exact, and whether the user is stale.")]
pub(crate) struct Options {
    /// Whose statistics
    user: Uuid,
    /// Only this exercise, with its rep maxima and weeks
    #[arg(long, value_name = "NAME")]
    exercise: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    let client = database.admin().await?;
    let exercise = options.exercise.as_deref();
    let published = Published::read(&client, options.user, exercise).await?.ok_or_else(|| {
        Failure::new(
            format!("nothing is known of user {}", options.user),
            "check the id; a user appears with the first saved workout or `tidemark import`",
        )
    })?;
    if let Some(name) = exercise.filter(|_name| published.has_no_exercise()) {
        let next = format!("`tidemark stats {}` lists the user's exercises", options.user);
        return Err(Failure::new(format!("nothing is published of an exercise named `{name}`"), next).into());
    }
    let text = stats_screen::draw(&published, exercise.is_some())?;
    output.answer(&published, || text)?;
    Ok(ExitCode::SUCCESS)
}
