//! The status function: the status router behind a function URL. Wiring and nothing else.

use std::process::ExitCode;

use lambda_http::{Error, Request, Response, run, service_fn};
use tidemark_queue::Connection;
use tidemark_status::{Router, Tokens};
use tokio::sync::Mutex;

/// Comma-separated tokens, several at once while one is being replaced.
const STATUS_TOKENS: &str = "STATUS_TOKENS";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    tidemark_runtime::init_logging();
    let connection = match tidemark_runtime::connection("status") {
        Ok(connection) => connection,
        Err(error) => {
            tracing::error!(error = %error, "the function ends");
            return ExitCode::FAILURE;
        }
    };
    match serve(connection).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %error, "the function ends");
            ExitCode::FAILURE
        }
    }
}

async fn serve(connection: Connection) -> Result<(), Error> {
    let tokens = Tokens::from_list(&std::env::var(STATUS_TOKENS).unwrap_or_default().into());
    if tokens.is_empty() {
        tracing::warn!("no status token is configured; whatever needs one stays closed");
    }
    let router = Router::new(tokens);
    let connection = Mutex::new(connection);
    let service = service_fn(async |request: Request| -> Result<Response<String>, Error> {
        let (parts, _body) = request.into_parts();
        Ok(router.answer(&parts, &mut *connection.lock().await).await)
    });
    run(service).await
}
