//! `tidemark refresh rebuild`: everybody's figures anew, behind every save.

use serde::Serialize;
use tidemark_status::Rebuild;
use tokio_postgres::Client;
use tokio_postgres::types::Json;

use crate::audit::{Change, Why};
use crate::confirmation::Confirmation;
use crate::output::Output;
use crate::refusal::explain;
use crate::statements::{REBUILD_CANCEL, REBUILD_START, REBUILD_STATUS, USERS_KNOWN};
use crate::status_screen::rebuild_line;

/// Options of `tidemark refresh rebuild`.
#[derive(Debug, clap::Args)]
pub(super) struct RebuildOptions {
    /// Only show how far the last rebuild is
    #[arg(long, conflicts_with = "cancel")]
    status: bool,
    /// End the rebuild that is under way; users who are marked already are still refreshed
    #[arg(long)]
    cancel: bool,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    why: Why,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Told {
    /// Whether this command has started it.
    started: bool,
    /// Whether this command has cancelled it.
    cancelled: bool,
    /// The last rebuild as it stands now; none where there never was one.
    rebuild: Option<Rebuild>,
}

/// Runs the command.
pub(super) async fn run(options: &RebuildOptions, client: &mut Client, output: Output) -> anyhow::Result<()> {
    let (mut started, mut cancelled) = (false, false);
    if options.cancel {
        let transaction = client.transaction().await.map_err(explain)?;
        let rows = transaction.query_typed(REBUILD_CANCEL, &[]).await.map_err(explain)?;
        cancelled = rows.first().map_or(Ok(None), |row| row.try_get::<_, Option<i64>>(0))?.is_some();
        let mut remembered = Change::because("refresh rebuild", "--cancel", &options.why);
        remembered.record(&transaction, cancelled.into()).await.map_err(explain)?;
        transaction.commit().await.map_err(explain)?;
    } else if !options.status {
        let users = super::count(client, USERS_KNOWN).await?;
        options.confirmation.check(users, "would be computed anew, behind every save", "refresh rebuild")?;
        let transaction = client.transaction().await.map_err(explain)?;
        let rows = transaction.query_typed(REBUILD_START, &[]).await.map_err(explain)?;
        started = rows.first().map_or(Ok(false), |row| row.try_get(1))?;
        let mut remembered = Change::because("refresh rebuild", "everybody", &options.why);
        remembered.record(&transaction, if started { users } else { 0 }).await.map_err(explain)?;
        transaction.commit().await.map_err(explain)?;
    }
    let rows = client.query_typed(REBUILD_STATUS, &[]).await.map_err(explain)?;
    let rebuild = rows.first().map_or(Ok(None), |row| row.try_get::<_, Option<Json<Rebuild>>>(0))?;
    let told = Told { started, cancelled, rebuild: rebuild.map(|json| json.0) };
    output.answer(&told, || told.describe(options))
}

impl Told {
    fn describe(&self, options: &RebuildOptions) -> String {
        let Some(rebuild) = &self.rebuild else {
            return "There has been no rebuild.".to_owned();
        };
        let what = match (options.cancel, options.status) {
            (true, _) if self.cancelled => "Cancelled. `tidemark refresh rebuild` begins one anew.",
            (true, _) => "Nothing to cancel: no rebuild is under way. The last one:",
            (_, true) => "The last rebuild:",
            _ if self.started => {
                "Started: the next claims mark everybody in small steps, behind every save.\n\
                 `tidemark refresh rebuild --status` shows how far it is, `--cancel` ends it."
            }
            _ => "A rebuild is under way already; it goes on:",
        };
        format!("{what}\n {}", rebuild_line(rebuild))
    }
}
