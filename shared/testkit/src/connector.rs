//! Connections over a server's socket.

use std::time::Duration;

use tidemark_queue::{Connect, ConnectFuture, Error, Session};
use tokio_postgres::{Client, Config, NoTls};

/// A socket on the same machine answers at once or not at all.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Opens connections to one URL.
#[derive(Debug, Clone)]
pub struct SocketConnector {
    url: String,
}

impl SocketConnector {
    /// For a libpq-style URL that names user and database.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into() }
    }
}

impl Connect for SocketConnector {
    fn connect(&self) -> ConnectFuture<'_> {
        Box::pin(async {
            let late = |_elapsed| Error::Unavailable { reason: "timeout".to_owned() };
            tokio::time::timeout(CONNECT_LIMIT, session(&self.url)).await.map_err(late)?.map_err(Error::of_connect)
        })
    }
}

/// Opens one connection whose task runs until the client is dropped. The client reports what ends the connection to whoever
/// waits for an answer.
pub(crate) async fn open(url: &str) -> Result<Client, tokio_postgres::Error> {
    session(url).await.map(Session::into_client)
}

async fn session(url: &str) -> Result<Session, tokio_postgres::Error> {
    let mut config: Config = url.parse()?;
    config.application_name("tidemark-testkit");
    let (client, connection) = config.connect(NoTls).await?;
    Ok(Session::new(client, tokio::spawn(connection)))
}
