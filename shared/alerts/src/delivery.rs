//! Sending a digest.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;

use crate::outbound::{Client, Outcome, Post};
use crate::{Digest, Target};

/// What became of a digest at one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The target's name.
    pub target: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// Sends `digest` to each of `targets`, to all at once and to each on its own: one that is slow or dead keeps no other
/// waiting. Each has `limit` for all of it. Answers in the order of the targets.
///
/// Where only some have it, a repetition goes to the others alone; whoever gets it twice recognises it by its
/// `Idempotency-Key`.
pub async fn deliver<'a>(
    targets: impl IntoIterator<Item = &'a Target>,
    digest: &Digest,
    client: &Client,
    limit: Duration,
) -> Vec<Delivery> {
    let deliveries = targets.into_iter().map(|target| async move {
        let post = Post {
            url: target.url(),
            idempotency_key: &digest.idempotency_key(target.name()),
            body: Bytes::from(digest.message_for(target.kind())),
            limit,
        };
        Delivery { target: target.name().to_owned(), outcome: client.post(&post).await }
    });
    join_all(deliveries).await
}
