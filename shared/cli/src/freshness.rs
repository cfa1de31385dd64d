//! Whether everybody is fresh, and if not, what keeps somebody from becoming so.

use anyhow::Context;
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::failure::Failure;
use crate::status_screen::readable_time;

const FRESHNESS: &str = include_str!("sql/freshness.sql");
const PAUSES: &str = include_str!("sql/pauses.sql");

/// How far some users are from fresh.
#[derive(Debug)]
pub(crate) struct Freshness {
    /// Users who become fresh by waiting, unless a function that they need is paused.
    pub(crate) on_the_way: i64,
    /// Users who do not: their attempts are used up.
    exhausted: i64,
    /// The error of one of those.
    error_code: Option<String>,
    /// Paused functions that somebody on the way needs.
    paused: Vec<String>,
}

impl Freshness {
    /// Of the given users; of everybody where none is given.
    pub(crate) async fn read(client: &Client, users: Option<&[Uuid]>) -> anyhow::Result<Self> {
        let rows = client.query_typed(FRESHNESS, &[(&users, Type::UUID_ARRAY)]).await?;
        let row = rows.first().context("freshness could not be read")?;
        Ok(Self {
            on_the_way: row.try_get(0)?,
            exhausted: row.try_get(1)?,
            error_code: row.try_get(2)?,
            paused: row.try_get(3)?,
        })
    }

    /// Whether nobody is stale.
    pub(crate) fn is_reached(&self) -> bool {
        self.on_the_way == 0 && self.exhausted == 0
    }

    /// Why waiting longer is of no use, where it is not.
    pub(crate) async fn obstacle(&self, client: &Client) -> anyhow::Result<Option<Failure>> {
        if !self.paused.is_empty() {
            return Ok(Some(self.paused(client).await?));
        }
        let is_over = self.on_the_way == 0 && self.exhausted > 0;
        Ok(is_over.then(|| {
            let code = self.error_code.as_deref().unwrap_or_default();
            Failure::new(
                format!("{} cannot be made fresh: attempts are used up, last error {code}", users(self.exhausted)),
                "see `tidemark status`, mend the cause, then `tidemark refresh resume --all-failed`",
            )
        }))
    }

    async fn paused(&self, client: &Client) -> anyhow::Result<Failure> {
        let rows = client.query_typed(PAUSES, &[(&self.paused, Type::TEXT_ARRAY)]).await?;
        let mut pauses = Vec::new();
        for row in rows {
            let (function, since): (&str, jiff::Timestamp) = (row.try_get(0)?, row.try_get(1)?);
            let (by, note): (Option<&str>, &str) = (row.try_get(2)?, row.try_get(3)?);
            let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
            let note = if note.is_empty() { String::new() } else { format!(" (note: {note})") };
            pauses.push(format!("{function} is paused since {}{by}{note}", readable_time(&since.to_string())));
        }
        Ok(Failure::new(
            format!("{} cannot become fresh: {}", users(self.on_the_way), pauses.join("; ")),
            format!("`tidemark resume {}`, then run it again; nothing is lost", self.paused.join(" ")),
        ))
    }
}

/// A number of users in words.
pub(crate) fn users(number: i64) -> String {
    if number == 1 { "one user".to_owned() } else { format!("{number} users") }
}
