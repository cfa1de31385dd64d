//! Opens connections to the one database.

use std::sync::Arc;

use tidemark_queue::{Connect, ConnectFuture, Error, Session};

use crate::connect_error::{classify, is_authentication};
use crate::credential::CredentialSource;

/// Opens connections with the credentials of a [`CredentialSource`], each within the target's connect timeout.
pub struct PostgresConnector {
    credentials: Arc<dyn CredentialSource>,
}

impl PostgresConnector {
    /// A connector to the target that `credentials` knows.
    #[must_use]
    pub fn new(credentials: Arc<dyn CredentialSource>) -> Self {
        Self { credentials }
    }

    async fn open(&self) -> Result<Session, Error> {
        let target = self.credentials.target().await?;
        // tokio-postgres applies its own timeout to the TCP connect alone; a server that accepts and then says nothing
        // would hold the function for good.
        let outcome = match tokio::time::timeout(target.connect_timeout(), target.open()).await {
            Ok(outcome) => outcome.map_err(classify),
            Err(_elapsed) => Err(Error::Unavailable { reason: "timeout".to_owned() }),
        };
        if outcome.as_ref().is_err_and(is_authentication) {
            self.credentials.refused();
        }
        outcome
    }
}

impl Connect for PostgresConnector {
    fn connect(&self) -> ConnectFuture<'_> {
        Box::pin(self.open())
    }
}
