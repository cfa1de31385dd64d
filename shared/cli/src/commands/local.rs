//! `tidemark local`: the whole system on one machine.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use secrecy::SecretString;
use serde::Serialize;
use tidemark_importers::storing::StoreOptions;
use tidemark_importers::{Import, ParseOptions};
use tidemark_stats::Unit;
use tidemark_status::{Router, Tokens};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::commands::migrate;
use crate::commands::tick::handlers;
use crate::database::{Database, Source};
use crate::failure::Failure;
use crate::freshness::{self, Freshness};
use crate::interrupt::Interrupt;
use crate::local_user::{LocalUser, UserSummary};
use crate::output::Output;
use crate::{http_server, importing, ticker};

const LEASES_OVER: &str = include_str!("../sql/leases_over.sql");
/// How often `--until-fresh` looks whether anybody is stale.
const LOOK: Duration = Duration::from_millis(50);

/// Options of `tidemark local`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark local --import hevy.csv --until-fresh\n  \
    tidemark local --import hevy.csv --import strong.csv=7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f\n\n\
    The database is kept in .tidemark/ until --fresh wipes it. A file without a user is given one of its own by
    where it lies, the same each time; --import FILE=USER_UUID says whose it is.")]
pub(crate) struct Options {
    /// A workout export to import first; may be given several times
    #[arg(long = "import", value_name = "FILE[=USER_UUID]")]
    imports: Vec<OsString>,
    /// Unit of the weights, for files that do not say [default: kg]
    #[arg(long, value_name = "kg|lb")]
    unit: Option<Unit>,
    /// Time zone of the files' local times [default: the zone of the user's profile, else UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// End when nobody is stale, with one summary per user
    #[arg(long)]
    until_fresh: bool,
    /// With --until-fresh: give up after this many seconds
    #[arg(long, value_name = "SECS", default_value_t = 600, requires = "until_fresh")]
    timeout: u64,
    /// Port of the status page and its data, on this machine only
    #[arg(long, default_value_t = 9000)]
    port: u16,
    /// Wipe the embedded database first
    #[arg(long)]
    fresh: bool,
}

/// What `--until-fresh --json` prints.
#[derive(Debug, Serialize)]
struct Summary {
    users: Vec<UserSummary>,
    seconds: f64,
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    if options.fresh && source.is_given() {
        return Err(Failure::usage(
            "--fresh wipes the embedded database only, and another database is configured",
            "leave --fresh out, or unset DATABASE_URL and leave --database-url out",
        )
        .into());
    }
    // The embedded database stays with its folder; another may be reached from anywhere.
    let home = if source.is_given() { None } else { std::env::current_dir().and_then(std::fs::canonicalize).ok() };
    let of_import = |import: &OsString| LocalUser::parse(import, home.as_deref());
    let users = options.imports.iter().map(of_import).collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(zone) = &options.zone {
        importing::check_zone_name(zone)?;
    }
    // Files are read before anything is started or wiped: a malformed one leaves everything as it was.
    let imports = users
        .iter()
        .map(|user| importing::read(&user.file, &ParseOptions { unit: options.unit }))
        .collect::<anyhow::Result<Vec<_>>>()?;

    let registry = handlers()?;

    let began = Instant::now();
    // Listened for from here to the end, so that an interrupt is neither lost between two looks nor kills the process before
    // its server has stopped in order.
    let mut interrupt = Interrupt::listen().context("no signal handler could be installed")?;
    let database = open(source, options.fresh, output).await?;
    let client = tokio::select! {
        stored = store(&database, &users, &imports, options.zone.as_deref(), output) => stored?,
        _interrupted = interrupt.recv() => return Err(interrupted()),
    };

    let (stop, stopped) = watch::channel(false);
    let status = serve_status(&database, options, stopped.clone(), output).await?;
    let ticks = ticker::run(&database, registry, stopped);
    let until = async {
        let outcome = if options.until_fresh {
            until_fresh(&client, &users, Duration::from_secs(options.timeout), &mut interrupt).await
        } else {
            output.note("ticking every second; Ctrl-C ends it");
            interrupt.recv().await;
            Ok(())
        };
        let _nobody_listens = stop.send(true);
        outcome
    };
    let (ticked, outcome) = tokio::join!(ticks, until);
    status.await?;
    ticked?;
    outcome?;
    if options.until_fresh {
        let users = UserSummary::read_all(&client, &users).await?;
        let summary = Summary { users, seconds: began.elapsed().as_secs_f64() };
        output.answer(&summary, || UserSummary::table(&summary.users, summary.seconds))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves the status page on this machine only. Whoever waits for figures does not need it, so that a port in use stops only
/// the others.
async fn serve_status(
    database: &Database,
    options: &Options,
    mut stopped: watch::Receiver<bool>,
    output: Output,
) -> anyhow::Result<JoinHandle<()>> {
    let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await {
        Ok(listener) => listener,
        Err(error) if options.until_fresh => {
            output.note(&format!("no status page: port {} cannot be used ({error})", options.port));
            return Ok(tokio::spawn(std::future::ready(())));
        }
        Err(error) => {
            return Err(Failure::new(
                format!("port {} cannot be used: {error}", options.port),
                "choose another with --port; 0 lets the system choose",
            )
            .into());
        }
    };
    let given = std::env::var("STATUS_TOKENS").ok().filter(|tokens| !tokens.trim().is_empty());
    let token = given.clone().unwrap_or_else(|| Uuid::new_v4().simple().to_string());
    let router = Router::new(Tokens::from_list(&SecretString::from(token.clone())));
    if !options.until_fresh {
        // A token made up for this run is of use to nobody else; one that was given is not shown.
        let shown = if given.is_some() { "one of STATUS_TOKENS" } else { &token };
        output.note(&format!("status page http://{}/ (token: {shown})", listener.local_addr()?));
    }
    let connector = database.worker_connector("status")?;
    Ok(tokio::spawn(async move {
        let shutdown = async move {
            let _sender_gone = stopped.wait_for(|stopped| *stopped).await;
        };
        http_server::serve(listener, router, connector, shutdown).await;
    }))
}

/// Starts the database and brings its schema up to date.
async fn open(source: &Source, fresh: bool, output: Output) -> anyhow::Result<Database> {
    let database = source.open_or_create(fresh)?;
    if let Some(directory) = database.data_directory() {
        output.note(&format!("embedded PostgreSQL, data in {}", directory.display()));
    }
    database.ensure_exists().await?;
    migrate::apply(&database).await?;
    if database.data_directory().is_some() {
        // The server was started here a moment ago: no worker of before can live, and nobody need wait for its leases to end.
        database.admin().await?.batch_execute(LEASES_OVER).await?;
    }
    Ok(database)
}

/// Stores the imports; the connection it did so with.
async fn store(
    database: &Database,
    users: &[LocalUser],
    imports: &[Import],
    zone: Option<&str>,
    output: Output,
) -> anyhow::Result<Client> {
    let mut client = database.admin().await?;
    if let Some(zone) = zone {
        importing::check_zone(&client, zone).await?;
    }
    for (user, import) in users.iter().zip(imports) {
        let account = importing::store(&mut client, user.id, import, StoreOptions { zone, replace: false }).await?;
        output.note(&format!("{} (user {}): {}", user.file.display(), user.id, account.describe()));
    }
    Ok(client)
}

fn interrupted() -> anyhow::Error {
    Failure::new("interrupted before everybody was fresh", "run it again; nothing is lost").into()
}

/// Waits until none of the given users (anybody, where none is given) is stale, and no longer than waiting is of use.
async fn until_fresh(
    client: &Client,
    users: &[LocalUser],
    timeout: Duration,
    interrupt: &mut Interrupt,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    let ids: Option<Vec<Uuid>> = (!users.is_empty()).then(|| users.iter().map(|user| user.id).collect());
    loop {
        let freshness = Freshness::read(client, ids.as_deref()).await?;
        if freshness.is_reached() {
            bar.finish_and_clear();
            return Ok(());
        }
        if let Some(failure) = freshness.obstacle(client).await? {
            return Err(failure.into());
        }
        let stale = freshness::users(freshness.on_the_way);
        bar.set_message(format!("{stale} stale"));
        bar.tick();
        if began.elapsed() > timeout {
            return Err(Failure::new(
                format!("{stale} still stale after {} s", timeout.as_secs()),
                "see `tidemark status` for what holds them up, or give a longer --timeout",
            )
            .into());
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _interrupted = interrupt.recv() => return Err(interrupted()),
        }
    }
}
