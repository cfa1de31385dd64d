//! The database, for handlers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tidemark_queue::jobs::{self, Fence, StoredJson};
use tidemark_queue::lease::SHORT_CALL_LIMIT;
use tidemark_queue::step::{Statement, in_one_round_trip};
use tidemark_queue::{Connection, Error, Function};
use tokio::sync::Mutex;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

/// How long after a statement's limit the client still waits for the server to say that it is over.
const GRACE: Duration = Duration::from_millis(250);

/// A connection that the handlers of one invocation share, opened when the first of them needs it. It is none of those on
/// which jobs are claimed, renewed and ended: a slow statement of a handler delays other handlers at most.
#[derive(Clone)]
pub struct Database(Arc<Mutex<Shared>>);

struct Shared {
    connection: Connection,
    /// True while a call is under way, and after one that was cancelled: what is on the wire then belongs to nobody.
    in_use: bool,
}

impl Database {
    pub(crate) fn new(connection: Connection) -> Self {
        Self(Arc::new(Mutex::new(Shared { connection, in_use: false })))
    }

    /// Runs one statement in a transaction of its own and returns its rows. It ends after `limit`, or after the budget of the
    /// work function (`claim_timeout_ms`) where that is shorter.
    ///
    /// # Errors
    /// What the connection or the server says; [`Error::Unknown`] where it may have been done all the same.
    pub async fn query(&self, statement: Statement<'_>, limit: Duration) -> Result<Vec<Row>, Error> {
        self.call(limit + GRACE, async |client: &mut Client| {
            let (_limit, rows) = in_one_round_trip(client, Function::Work, Some(limit), statement).await?;
            Ok(rows)
        })
        .await
    }

    /// The progress that an attempt of the job stored last.
    ///
    /// # Errors
    /// What the connection or the server says.
    pub async fn progress_of(&self, job_id: Uuid) -> Result<Option<StoredJson>, Error> {
        self.call(SHORT_CALL_LIMIT, async |client: &mut Client| {
            Ok(jobs::get(&*client, job_id).await?.and_then(|job| job.progress))
        })
        .await
    }

    pub(crate) async fn set_progress(&self, fence: Fence, value: Value) -> Result<(), Error> {
        let stored =
            self.call(SHORT_CALL_LIMIT, async |client: &mut Client| jobs::set_progress(client, &fence, &value).await);
        if stored.await? { Ok(()) } else { Err(Error::Stale) }
    }

    async fn call<T, F>(&self, limit: Duration, work: F) -> Result<T, Error>
    where
        F: AsyncFnOnce(&mut Client) -> Result<T, Error>,
    {
        let mut shared = self.0.lock().await;
        if std::mem::replace(&mut shared.in_use, true) {
            shared.connection.discard();
        }
        let outcome = shared.connection.run(limit, work).await;
        shared.in_use = false;
        outcome
    }
}
