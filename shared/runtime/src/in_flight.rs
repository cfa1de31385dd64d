//! The invocation under way, from the event's arrival until its answer is delivered.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use lambda_runtime::tower::{Layer, Service};
use lambda_runtime::{Error, LambdaInvocation};
use serde::de::IgnoredAny;
use tokio::sync::Mutex;

/// A layer that holds a gate while an invocation is under way, so that a shutdown can wait for its end.
#[derive(Clone, Default)]
pub(crate) struct InFlight(Arc<Mutex<()>>);

impl InFlight {
    /// Waits until no invocation is under way, at most for `grace`.
    pub(crate) async fn settled(&self, grace: Duration) {
        // Running out of the grace is no error: the process ends all the same, as a kill would end it.
        let _settled = tokio::time::timeout(grace, self.0.lock()).await;
    }
}

impl<S> Layer<S> for InFlight {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Guarded { inner, gate: Arc::clone(&self.0) }
    }
}

/// The service made by [`InFlight`].
pub(crate) struct Guarded<S> {
    inner: S,
    gate: Arc<Mutex<()>>,
}

impl<S> Service<LambdaInvocation> for Guarded<S>
where
    S: Service<LambdaInvocation, Response = (), Error = Error>,
    S::Future: 'static,
{
    type Response = ();
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<(), Error>>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut invocation: LambdaInvocation) -> Self::Future {
        // A trigger may send no body at all. The runtime would answer with an error and not call the handler.
        if serde_json::from_slice::<IgnoredAny>(&invocation.body).is_err() {
            invocation.body = b"null".as_slice().into();
        }
        let call = self.inner.call(invocation);
        let gate = Arc::clone(&self.gate);
        Box::pin(async move {
            let _under_way = gate.lock().await;
            call.await
        })
    }
}

#[cfg(test)]
mod tests {
    use lambda_runtime::{Context as LambdaContext, tower};

    use super::*;

    /// What the runtime inside the layer gets to read.
    async fn body_behind_the_layer(body: &'static [u8]) -> Vec<u8> {
        let (seen, mut received) = tokio::sync::mpsc::unbounded_channel();
        let inner = tower::service_fn(move |invocation: LambdaInvocation| {
            let outcome = seen.send(invocation.body.to_vec()).map_err(Error::from);
            async move { outcome }
        });
        let (parts, ()) = http::Response::new(()).into_parts();
        let invocation = LambdaInvocation { parts, body: body.into(), context: LambdaContext::default() };
        InFlight::default().layer(inner).call(invocation).await.expect("an answer");
        received.recv().await.expect("a body")
    }

    #[tokio::test]
    async fn an_event_that_is_no_json_is_served_like_one_that_says_nothing() {
        assert_eq!(body_behind_the_layer(b"").await, b"null");
        assert_eq!(body_behind_the_layer(b"{\"planned_at\":").await, b"null");
        assert_eq!(body_behind_the_layer(b"{\"planned_at\":1}").await, b"{\"planned_at\":1}");
    }
}
