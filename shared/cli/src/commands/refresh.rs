//! `tidemark refresh`: ask for refreshes, resume those that ran out of attempts, rebuild everybody's figures.

mod rebuild;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use indicatif::ProgressBar;
use serde::Serialize;
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::audit::{self, Change, Why};
use crate::confirmation::Confirmation;
use crate::database::Source;
use crate::failure::Failure;
use crate::output::Output;
use crate::refusal::explain;
use crate::statements::{
    REFRESH_REQUEST, REFRESH_REQUEST_BATCH, RESUME_ALL_JOBS, RESUME_JOBS, RESUME_RUNS, UNKNOWN_USERS, USERS_FAILED,
    USERS_KNOWN,
};

/// Users marked per statement. A statement holds their rows until it ends, and saves of theirs wait so long.
const USERS_PER_STATEMENT: usize = 500;

/// Unknown users named in a refusal; of more, only the number is told.
const UNKNOWN_NAMED: usize = 5;

/// Options of `tidemark refresh`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark refresh request --all --low-priority --yes\n  \
    tidemark refresh resume --all-failed\n  \
    tidemark refresh rebuild --status")]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Mark users as stale, so that their statistics are computed anew
    #[command(after_help = "Examples:\n  \
        tidemark refresh request 7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f\n  \
        tidemark refresh request --all --low-priority")]
    Request(RequestOptions),
    /// Let refreshes that used up their attempts begin anew
    #[command(after_help = "Examples:\n  \
        tidemark refresh resume 7d9f0c4e-0d6a-4f0e-9d0e-3a3b1c2d4e5f\n  \
        tidemark refresh resume --all-failed\n\n\
        Mend the cause first: `tidemark status` shows the error codes of the last hour.")]
    Resume(ResumeOptions),
    /// Compute everybody's figures anew, behind every save; goes on by itself, whoever is killed
    #[command(after_help = "Examples:\n  \
        tidemark refresh rebuild\n  \
        tidemark refresh rebuild --status\n  \
        tidemark refresh rebuild --cancel\n\n\
        A release with a newer definition of the figures starts one by itself.")]
    Rebuild(rebuild::RebuildOptions),
}

/// Options of `tidemark refresh request`.
#[derive(Debug, clap::Args)]
struct RequestOptions {
    /// Whose statistics
    #[arg(value_name = "USER", required_unless_present = "all")]
    users: Vec<Uuid>,
    /// Every user there is
    #[arg(long, conflicts_with = "users")]
    all: bool,
    /// After every save by a live user
    #[arg(long)]
    low_priority: bool,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    why: Why,
}

/// Options of `tidemark refresh resume`.
#[derive(Debug, clap::Args)]
struct ResumeOptions {
    /// Whose refreshes
    #[arg(required_unless_present = "all_failed")]
    user: Option<Uuid>,
    /// Everybody's
    #[arg(long, conflicts_with = "user")]
    all_failed: bool,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    why: Why,
}

/// What a request did.
#[derive(Debug, Serialize)]
struct Requested {
    users: i64,
    low_priority: bool,
}

/// What a resume did.
#[derive(Debug, Serialize)]
struct Resumed {
    users: usize,
    jobs: usize,
    runs: u64,
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    let mut client = database.admin().await?;
    match &options.action {
        Action::Request(request) => {
            let requested = Requested { users: ask(request, &mut client).await?, low_priority: request.low_priority };
            output.answer(&requested, || requested.describe())?;
        }
        Action::Resume(resume) => {
            if resume.user.is_none() {
                let failed = count(&client, USERS_FAILED).await?;
                resume.confirmation.check(failed, "would be tried again", "refresh resume --all-failed")?;
            }
            let resumed = begin_anew(resume, &mut client).await.map_err(explain)?;
            output.answer(&resumed, || resumed.describe(resume.user))?;
        }
        Action::Rebuild(rebuild) => rebuild::run(rebuild, &mut client, output).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The number that `statement` counts.
async fn count(client: &Client, statement: &str) -> anyhow::Result<u64> {
    let rows = client.query_typed(statement, &[]).await.map_err(explain)?;
    Ok(rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>(0))?.unsigned_abs())
}

async fn ask(request: &RequestOptions, client: &mut Client) -> anyhow::Result<i64> {
    let order = if request.low_priority { " --low-priority" } else { "" };
    if request.all {
        let known = count(client, USERS_KNOWN).await?;
        let command = format!("refresh request --all{order}");
        request.confirmation.check(known, "would be computed anew", &command)?;
        let mut remembered = Change::because("refresh request", format!("--all{order}"), &request.why);
        return ask_for_all(client, request.low_priority, &mut remembered).await;
    }
    let distinct: Vec<Uuid> = BTreeSet::from_iter(request.users.iter().copied()).into_iter().collect();
    refuse_unknown(client, &distinct).await?;
    let mut remembered =
        Change::because("refresh request", format!("{}{order}", audit::listed(&distinct)), &request.why);
    let mut asked = 0;
    for batch in distinct.chunks(USERS_PER_STATEMENT) {
        let parameters = [(&batch as _, Type::UUID_ARRAY), (&request.low_priority as _, Type::BOOL)];
        let transaction = client.transaction().await.map_err(explain)?;
        let rows = transaction.query_typed(REFRESH_REQUEST, &parameters).await.map_err(explain)?;
        let number = rows.first().map_or(Ok(0), |row| row.try_get::<_, i32>(0)).map(i64::from)?;
        remembered.record(&transaction, number.unsigned_abs()).await.map_err(explain)?;
        transaction.commit().await.map_err(explain)?;
        asked += number;
    }
    Ok(asked)
}

/// Somebody of whom nothing was logged is most likely a slip of the pen, so that nobody is marked then.
async fn refuse_unknown(client: &Client, users: &[Uuid]) -> anyhow::Result<()> {
    let rows = client.query_typed(UNKNOWN_USERS, &[(&users, Type::UUID_ARRAY)]).await.map_err(explain)?;
    let unknown = rows.iter().map(|row| row.try_get::<_, Uuid>(0)).collect::<Result<Vec<_>, _>>()?;
    if unknown.is_empty() {
        return Ok(());
    }
    let mut named: Vec<String> = unknown.iter().take(UNKNOWN_NAMED).map(Uuid::to_string).collect();
    if unknown.len() > UNKNOWN_NAMED {
        named.push(format!("and {} more", unknown.len() - UNKNOWN_NAMED));
    }
    Err(Failure::new(
        format!("nothing is known of {}; nobody was marked", named.join(", ")),
        "check the ids, or leave these out; a user appears with the first saved workout or `tidemark import`",
    )
    .into())
}

/// Asks for everybody, in the order of the users' ids, so many per statement. Ended early, it can simply be run again.
async fn ask_for_all(client: &mut Client, low_priority: bool, remembered: &mut Change) -> anyhow::Result<i64> {
    let progress = ProgressBar::new_spinner().with_message("users asked for: 0");
    progress.enable_steady_tick(Duration::from_millis(100));
    let limit = i64::try_from(USERS_PER_STATEMENT)?;
    let mut after: Option<Uuid> = None;
    let mut asked = 0;
    loop {
        let parameters = [(&after as _, Type::UUID), (&low_priority as _, Type::BOOL), (&limit as _, Type::INT8)];
        let transaction = client.transaction().await.map_err(explain)?;
        let rows = transaction.query_typed(REFRESH_REQUEST_BATCH, &parameters).await.map_err(explain)?;
        let (number, last): (i32, Option<Uuid>) = match rows.first() {
            Some(row) => (row.try_get(0)?, row.try_get(1)?),
            None => (0, None),
        };
        remembered.record(&transaction, number.unsigned_abs().into()).await.map_err(explain)?;
        transaction.commit().await.map_err(explain)?;
        asked += i64::from(number);
        progress.set_message(format!("users asked for: {asked}"));
        if last.is_none() {
            progress.finish_and_clear();
            return Ok(asked);
        }
        after = last;
    }
}

/// The two updates of a manual resume, in one transaction. Nothing of the source or of what is dirty is touched.
async fn begin_anew(resume: &ResumeOptions, client: &mut Client) -> Result<Resumed, tokio_postgres::Error> {
    let user = resume.user;
    let subject = user.map_or_else(|| "--all-failed".to_owned(), |user| user.to_string());
    let transaction = client.transaction().await?;
    let jobs = match user {
        Some(user) => transaction.query_typed(RESUME_JOBS, &[(&user, Type::UUID)]).await?,
        None => transaction.query_typed(RESUME_ALL_JOBS, &[]).await?,
    };
    let mut users = jobs.iter().map(|row| row.try_get(0)).collect::<Result<BTreeSet<Uuid>, _>>()?;
    users.extend(user);
    let listed: Vec<Uuid> = users.iter().copied().collect();
    let runs = transaction.execute_typed(RESUME_RUNS, &[(&listed, Type::UUID_ARRAY)]).await?;
    let mut remembered = Change::because("refresh resume", subject, &resume.why);
    remembered.record(&transaction, jobs.len() as u64).await?;
    transaction.commit().await?;
    Ok(Resumed { users: if jobs.is_empty() { 0 } else { users.len() }, jobs: jobs.len(), runs })
}

impl Requested {
    fn describe(&self) -> String {
        let users = if self.users == 1 { "one user is".to_owned() } else { format!("{} users are", self.users) };
        let order = if self.low_priority { ", after every save by a live user" } else { "" };
        format!("{users} stale now; the next claims take them{order}")
    }
}

impl Resumed {
    fn describe(&self, user: Option<Uuid>) -> String {
        match self.jobs {
            0 if user.is_some() => {
                "nothing to resume: this user has no refresh without attempts left; check the id".to_owned()
            }
            0 => "nothing to resume: no refresh has used up its attempts".to_owned(),
            1 => "one refresh begins anew; the next claim takes it".to_owned(),
            jobs => format!("{jobs} refreshes of {} users begin anew; the next claims take them", self.users),
        }
    }
}
