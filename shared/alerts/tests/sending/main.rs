//! Requests over real sockets, to a receiver with every way to fail.
#![allow(clippy::unwrap_used)]

mod canaries;
mod delivering;
mod failing;
mod posting;
mod proxies;
mod reaching;

use std::time::Duration;

use bytes::Bytes;
use secrecy::SecretString;
use tidemark_alerts::outbound::{Client, Outcome, Post, Reach};

/// More than anything takes that is not meant to run out of time.
const AMPLE: Duration = Duration::from_secs(30);

/// Posts a small body to `url` with a client of this reach.
async fn post_within(url: &str, reach: Reach, limit: Duration) -> Outcome {
    send(&Client::new(reach).unwrap(), url, limit).await
}

async fn post(url: &str) -> Outcome {
    post_within(url, Reach::Configured, AMPLE).await
}

async fn send(client: &Client, url: &str, limit: Duration) -> Outcome {
    let body = Bytes::from_static(br#"{"greeting":"hello"}"#);
    let url = SecretString::from(url);
    let post = Post { url: &url, idempotency_key: "key-1", body, limit };
    let sent = tokio::time::timeout(limit + AMPLE, client.post(&post)).await;
    sent.expect("a request ends at its limit")
}

/// An outcome in the words that a log would show.
fn words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Delivered => "delivered".to_owned(),
        Outcome::Retry { after: None, reason } => format!("retry: {reason}"),
        Outcome::Retry { after: Some(after), reason } => format!("retry after {} s: {reason}", after.as_secs()),
        Outcome::Permanent { reason } => format!("permanent: {reason}"),
    }
}
