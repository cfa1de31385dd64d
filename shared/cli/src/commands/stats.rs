//! `tidemark stats`: what is published of one user.

use std::process::ExitCode;

use tokio_postgres::Client;
use uuid::Uuid;

use crate::database::Source;
use crate::failure::Failure;
use crate::local_user::KNOWN_USERS;
use crate::near_miss::nearest;
use crate::output::Output;
use crate::published::{Published, StaleBecause};
use crate::refusal::explain;
use crate::stats_screen;

/// Users who are named where another one is not known; more would not be read.
const USERS_SHOWN: usize = 3;

/// Options of `tidemark stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark stats 7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f\n  \
    tidemark stats 7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f --exercise \"Bench Press (Barbell)\"\n\n\
    With --json: every column of the published tables, exact, what depends on today, and whether the user is stale since when;\n\
    docs/stats.schema.json describes it.")]
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
    let Some(published) = Published::read(&client, options.user, exercise).await? else {
        return Err(unknown_user(&client, options.user).await?.into());
    };
    if let Some(name) = exercise.filter(|_name| published.has_no_exercise()) {
        return Err(unknown_exercise(&client, &published, name).await?.into());
    }
    let text = stats_screen::draw(&published, exercise.is_some())?;
    output.answer(&published, || text)?;
    Ok(ExitCode::SUCCESS)
}

/// Says who is known, where these are few.
async fn unknown_user(client: &Client, user: Uuid) -> anyhow::Result<Failure> {
    let rows = client.query_typed(KNOWN_USERS, &[]).await.map_err(explain)?;
    let known: Vec<String> =
        rows.iter().map(|row| row.try_get(0).map(|id: Uuid| id.to_string())).collect::<Result<_, _>>()?;
    let next = match known.len() {
        0 => "nobody is known yet: `tidemark import FILE --user UUID`, or the application's first save".to_owned(),
        1..=USERS_SHOWN => format!("check the id; known are {}", known.join(", ")),
        _ => "check the id; a user appears with the first saved workout or `tidemark import`".to_owned(),
    };
    Ok(Failure::new(format!("nothing is known of user {user}"), next))
}

/// Says what was meant, as far as that can be told.
async fn unknown_exercise(client: &Client, published: &Published, name: &str) -> anyhow::Result<Failure> {
    let user = published.user_id;
    let names = Published::names(client, user).await?;
    let what = format!("nothing is published of an exercise named `{name}`");
    if let Some((_merged, target)) =
        names.iter().find(|(own, target)| own != target && own.to_lowercase() == name.to_lowercase())
    {
        return Ok(Failure::new(format!("{what}: its sets count under `{target}`"), command(user, target)));
    }
    let near = nearest(name, names.iter().map(|(own, _target)| own.as_str()));
    let mut next = match near.split_first() {
        None => format!("`tidemark stats {user}` lists the user's exercises"),
        Some((only, [])) => format!("did you mean `{only}`? {}", command(user, only)),
        Some((first, _)) => format!("did you mean `{}`? {}", near.join("`, `"), command(user, first)),
    };
    if published.freshness.stale_because == Some(StaleBecause::Save) {
        next.push_str("; something newer waits to be published, and it may be there");
    }
    Ok(Failure::new(what, next))
}

/// The command that shows an exercise, to be copied into a shell.
fn command(user: Uuid, exercise: &str) -> String {
    format!("`tidemark stats {user} --exercise '{}'`", exercise.replace('\'', r"'\''"))
}
