//! What an operator does by hand is remembered in the transaction that does it: who, what, how many rows, and why.

use tokio_postgres::types::Type;
use tokio_postgres::{Error, GenericClient};

use crate::statements::ACTION_RECORD;

/// Variables that name who runs the command, the first that is set. With `sudo` it is the person, not root.
const LOGIN_NAMES: [&str; 4] = ["TIDEMARK_OPERATOR", "SUDO_USER", "USER", "USERNAME"];

/// The option of every command that changes something.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Why {
    /// Why, for whoever reads `tidemark audit`
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// One command that changes something, in one transaction or in several.
#[derive(Debug)]
pub(crate) struct Change {
    command: &'static str,
    subject: String,
    note: String,
    /// The line that was written for the part of it that is done.
    line: Option<i64>,
}

impl Change {
    /// `command` without its operands, done to `subject`: ids, settings, or the options that choose the rows.
    pub(crate) fn new(command: &'static str, subject: impl Into<String>, note: Option<&str>) -> Self {
        Self { command, subject: subject.into(), note: note.unwrap_or_default().to_owned(), line: None }
    }

    /// The same with the reason that was given as `--note`.
    pub(crate) fn because(command: &'static str, subject: impl Into<String>, why: &Why) -> Self {
        Self::new(command, subject, why.note.as_deref())
    }

    /// Remembers, in the caller's transaction, that it changed `rows` rows or users; nothing where that is none. Called again it
    /// adds to the same line.
    pub(crate) async fn record<C: GenericClient + Sync>(&mut self, transaction: &C, rows: u64) -> Result<(), Error> {
        if rows == 0 {
            return Ok(());
        }
        let changed = i64::try_from(rows).unwrap_or(i64::MAX);
        let operator = operator();
        let parameters = [
            (&self.line as _, Type::INT8),
            (&self.command as _, Type::TEXT),
            (&self.subject as _, Type::TEXT),
            (&changed as _, Type::INT8),
            (&operator as _, Type::TEXT),
            (&self.note as _, Type::TEXT),
        ];
        let written = transaction.query_typed(ACTION_RECORD, &parameters).await?;
        self.line = written.first().map(|row| row.try_get(0)).transpose()?;
        Ok(())
    }
}

/// Ids as the subject of an action.
pub(crate) fn listed<T: ToString>(ids: &[T]) -> String {
    ids.iter().map(T::to_string).collect::<Vec<_>>().join(" ")
}

fn operator() -> String {
    let named = |name| std::env::var(name).ok().filter(|value: &String| !value.trim().is_empty());
    // U+0000 cannot be in a variable, and what is not UTF-8 is as good as unset.
    LOGIN_NAMES.into_iter().find_map(named).unwrap_or_else(|| "unknown".to_owned())
}
