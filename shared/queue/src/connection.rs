//! One connection per execution environment, opened when first needed and thrown away after any doubt.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::error::{CLOSED, TIMED_OUT};
use crate::{Error, schema};

/// A future that a [`Connect`] hands out.
pub type ConnectFuture<'a> = Pin<Box<dyn Future<Output = Result<Session, Error>> + Send + 'a>>;

/// Opens connections to the one database. The runtime crate does so with TLS and secrets, tests through a socket.
pub trait Connect: Send + Sync {
    /// Opens a new connection within the implementation's own connect budget.
    fn connect(&self) -> ConnectFuture<'_>;
}

/// An open client and the task that carries its conversation with the server.
pub struct Session {
    client: Client,
    conversation: JoinHandle<Result<(), tokio_postgres::Error>>,
}

impl Session {
    /// A client whose `conversation` is already running.
    #[must_use]
    pub fn new(client: Client, conversation: JoinHandle<Result<(), tokio_postgres::Error>>) -> Self {
        Self { client, conversation }
    }

    /// The client alone; the conversation ends by itself after the client is dropped and the server has answered everything.
    #[must_use]
    pub fn into_client(self) -> Client {
        self.client
    }

    /// Closes the socket at once. The server ends what it still does for it within `client_connection_check_interval`; with the
    /// client dropped alone, the socket would stay open, and locks held, until each statement under way had ended by itself.
    fn hang_up(self) {
        self.conversation.abort();
    }
}

/// The connection of one execution environment.
///
/// There is no pool: one invocation runs at a time. After a timeout, a cancellation or an I/O error the connection is
/// dropped, because what is still on the wire belongs to a conversation nobody listens to any more.
pub struct Connection {
    connector: Arc<dyn Connect>,
    session: Option<Session>,
}

impl Connection {
    /// A connection that is opened when it is first used.
    #[must_use]
    pub fn new(connector: Arc<dyn Connect>) -> Self {
        Self { connector, session: None }
    }

    /// One more connection to the same database, opened when it is first used: for what must not wait for this one.
    #[must_use]
    pub fn sibling(&self) -> Self {
        Self::new(Arc::clone(&self.connector))
    }

    /// The open client, opening it if needed. A new one is used only after the schema has turned out to speak to this build,
    /// which takes one round trip more.
    ///
    /// # Errors
    /// What the connector says: unreachable, refused, too many connections. [`Error::SchemaMismatch`].
    pub async fn client(&mut self) -> Result<&mut Client, Error> {
        if !self.is_open() {
            self.session = None;
            let session = self.connector.connect().await?;
            schema::check(&session.client).await?;
            self.session = Some(session);
        }
        self.session
            .as_mut()
            .map(|session| &mut session.client)
            .ok_or_else(|| Error::Unavailable { reason: CLOSED.to_owned() })
    }

    /// Whether a client is held that has not noticed a closed socket. After a thaw this may be wrong.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.client.is_closed())
    }

    /// Throws the connection away; the next use opens a new one.
    pub fn discard(&mut self) {
        if let Some(session) = self.session.take() {
            session.hang_up();
        }
    }

    /// Runs `work` on the client, at most for `limit`, and throws the connection away where it can no longer be trusted.
    ///
    /// # Errors
    /// What `work` says; [`Error::Unavailable`] with reason `timeout` when `limit` passes first.
    pub async fn run<T, F>(&mut self, limit: Duration, work: F) -> Result<T, Error>
    where
        F: AsyncFnOnce(&mut Client) -> Result<T, Error>,
    {
        let outcome = tokio::time::timeout(limit, async {
            let client = self.client().await?;
            work(client).await
        })
        .await
        .unwrap_or_else(|_elapsed| Err(Error::Unavailable { reason: TIMED_OUT.to_owned() }));
        if outcome.as_ref().is_err_and(Error::breaks_connection) {
            self.discard();
        }
        outcome
    }
}
