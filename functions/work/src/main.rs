//! Runs the jobs of the general queue, alerts among them, and fires schedules. Wiring and nothing else.

use std::process::ExitCode;

use tidemark_handlers::handlers::{Configuration, registry};
use tidemark_handlers::work;
use tidemark_queue::{Connection, Invocation};
use tidemark_runtime::LINGER;

// Two threads: a handler that computes for a while keeps neither the heartbeat nor the others from going on.
#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    tidemark_runtime::init_logging();
    let registry = match Configuration::from_environment().and_then(registry) {
        Ok(registry) => registry,
        Err(error) => {
            tracing::error!(error = %error, "the function ends");
            return ExitCode::FAILURE;
        }
    };
    let handle = async move |connection: &mut Connection, invocation: &Invocation| {
        work::handle(connection, invocation, &registry).await
    };
    tidemark_runtime::serve("work", LINGER, handle).await
}
