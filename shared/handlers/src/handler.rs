//! What a job of one type does.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use tidemark_queue::jobs::StoredJson;

use crate::{Context, End};

/// What a job of one type does.
///
/// A job may run more than once: its worker may die after the work and before its end is recorded. What a handler does must
/// be the same when it is done again; the job's id is the key to tell by.
///
/// A handler is cancelled where it waits, at an `await`: when its time is over, when somebody cancels the job, and when its
/// lease is lost. Work without an `await` belongs on a thread of its own (`tokio::task::spawn_blocking`), which asks
/// [`Context::is_cancelled`] from time to time.
pub trait Handler: Send + Sync + 'static {
    /// What its jobs carry. A payload that cannot be decoded fails its job for good, alone, and the handler is not called.
    type Payload: DeserializeOwned + Send + Sync + 'static;

    /// Does the work of one job.
    fn handle(&self, context: &Context<Self::Payload>) -> impl Future<Output = End> + Send;
}

/// The payload is not what the handler takes. Says nothing of its content.
pub(crate) struct InvalidPayload;

/// A handler of any payload.
pub(crate) trait AnyHandler: Send + Sync {
    /// Decodes the payload and makes the future that does the work.
    fn start(
        self: Arc<Self>,
        payload: &StoredJson,
        context: Context<()>,
    ) -> Result<BoxFuture<'static, End>, InvalidPayload>;
}

impl<H: Handler> AnyHandler for H {
    fn start(
        self: Arc<Self>,
        payload: &StoredJson,
        context: Context<()>,
    ) -> Result<BoxFuture<'static, End>, InvalidPayload> {
        let payload = payload.decode().map_err(|_undecodable| InvalidPayload)?;
        let context = context.with_payload(payload);
        Ok(Box::pin(async move { self.handle(&context).await }))
    }
}
