//! `tidemark tick`: one invocation of a function, through the same handler as in the cloud.

mod lambda;

use std::process::ExitCode;
use std::time::Duration;

use tidemark_handlers::handlers::{Configuration, registry};
use tidemark_handlers::{Registry, work};
use tidemark_queue::{Connection, Function, Invocation, Outcome, Summary};

use crate::database::Source;
use crate::failure::Failure;
use crate::output::Output;
use crate::refusal::{CHECK_THE_SERVER, not_let_in};

/// Options of `tidemark tick`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example (a timer that runs this every second replaces the schedule in the cloud):\n  \
    tidemark tick claim && tidemark tick compute && tidemark tick publish; tidemark tick work\n\n\
    Example (`cargo lambda watch` runs the functions, and this is their schedule):\n  \
    tidemark tick --lambda http://127.0.0.1:9000 --seconds 3600")]
pub(crate) struct Options {
    /// Which function; with --lambda all of them unless one is named
    #[arg(value_enum, required_unless_present = "lambda")]
    function: Option<Name>,
    /// Let a local Lambda run the functions instead, by its address
    #[arg(long, value_name = "URL", conflicts_with = "deadline")]
    lambda: Option<String>,
    /// With --lambda: a tick each second, for so many seconds
    #[arg(long, default_value_t = 1, value_name = "SECS", requires = "lambda")]
    seconds: u64,
    /// How long the invocation may take, in seconds
    #[arg(long, default_value_t = 900, value_name = "SECS")]
    deadline: u64,
}

/// A function by its name.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Name {
    /// Recover expired leases, give runs to stale users
    Claim,
    /// Compute claimed runs
    Compute,
    /// Publish computed runs
    Publish,
    /// Run background jobs, alerts among them, and fire schedules
    Work,
}

impl From<Name> for Function {
    fn from(name: Name) -> Self {
        match name {
            Name::Claim => Self::Claim,
            Name::Compute => Self::Compute,
            Name::Publish => Self::Publish,
            Name::Work => Self::Work,
        }
    }
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let named = options.function.map(Function::from);
    if let Some(url) = &options.lambda {
        return lambda::run(url, &named.map_or(Function::TICKING.to_vec(), |one| vec![one]), options.seconds, output)
            .await;
    }
    let function = named.ok_or_else(|| Failure::usage("no function is named", "run `tidemark tick --help`"))?;
    let registry = handlers()?;
    let database = source.open()?;
    let mut connection = database.worker(function.as_str())?;
    let deadline = Duration::from_secs(options.deadline);
    let invocation = Invocation::begin(None, Some(deadline), Duration::ZERO);
    let summary = invoke(function, &mut connection, &invocation, &registry).await;
    output.answer(&summary, || summary.to_string())?;
    let failed = matches!(summary.outcome, Outcome::Failed | Outcome::Unavailable);
    if failed {
        output.note(&format!("next: {}", next_step(&summary)));
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What to do about an invocation that failed.
fn next_step(summary: &Summary) -> &'static str {
    let code = summary.error_code.as_deref().unwrap_or_default();
    match code {
        "schema_mismatch" => {
            "run `tidemark migrate`; where it says that the schema is newer, use a tidemark at least as new as the schema"
        }
        "57014" => {
            "a step took longer than its budget: see `tidemark status` for what holds it up, `tidemark settings` for the budget, \
             and give --deadline more than two seconds"
        }
        "42501" => "connect as the worker role or the role that migrated the database",
        _ if matches!(summary.outcome, Outcome::Unavailable) => CHECK_THE_SERVER,
        _ => not_let_in(code).map_or("see `tidemark status`", |(_what, next)| next),
    }
}

/// The built-in handlers, as the environment configures them.
pub(crate) fn handlers() -> Result<Registry, Failure> {
    Configuration::from_environment().and_then(registry).map_err(|unusable| {
        Failure::usage(
            unusable.to_string(),
            "mend the variable, or unset it; docs/HANDLERS.md and docs/ALERTS.md describe both",
        )
    })
}

/// One invocation of `function`; `registry` is for the jobs of the work function.
pub(crate) async fn invoke(
    function: Function,
    connection: &mut Connection,
    invocation: &Invocation,
    registry: &Registry,
) -> Summary {
    match function {
        Function::Claim => tidemark_queue::claim::handle(connection, invocation).await,
        Function::Compute => tidemark_projection::compute::handle(connection, invocation).await,
        Function::Publish => tidemark_projection::publish::handle(connection, invocation).await,
        Function::Work => work::handle(connection, invocation, registry).await,
    }
}
