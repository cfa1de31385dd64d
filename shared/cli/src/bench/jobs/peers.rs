//! The queues that people use, as statements of our own in the shape of theirs.

mod pgmq;
mod river;
mod textbook;

pub(super) use pgmq::PGMQ;
pub(super) use river::RIVER;
pub(super) use textbook::{ENQUEUE, ENQUEUE_MANY, TEXTBOOK};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tidemark_testkit::TestDatabase;

    use super::*;

    #[tokio::test]
    async fn every_statement_of_a_peer_can_be_prepared_against_its_tables() {
        let database = TestDatabase::new().await;
        let client = database.admin().await;
        for system in [TEXTBOOK, PGMQ, RIVER] {
            client.batch_execute(system.schema.unwrap()).await.unwrap();
            for text in [system.seed, system.claim, system.complete] {
                client.prepare(text).await.unwrap_or_else(|error| panic!("{}: {error:?}", system.name));
            }
        }
        for text in [ENQUEUE, ENQUEUE_MANY] {
            client.prepare(text).await.unwrap_or_else(|error| panic!("enqueue: {error:?}"));
        }
    }
}
