//! A function that somebody calls and waits for, as opposed to one that ticks.

use std::process::ExitCode;
use std::rc::Rc;

use lambda_runtime::Diagnostic;
use serde::Serialize;
use serde_json::Value;
use tidemark_queue::{Connect, Error};
use tokio_postgres::Client;

use crate::serve::{answer_events, check_platform, connector};
use crate::{PostgresConnector, panic};

/// Why a call was refused. The caller gets it as the function's error, and it is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// A stable name for programs.
    pub error_type: &'static str,
    /// What was wrong and what to do next; never a secret or a row value.
    pub message: String,
}

impl Refusal {
    fn of_connect(error: &Error) -> Self {
        let message =
            format!("{error}; next: check that the database is up and that its credentials are right, and call again");
        Self { error_type: "DatabaseUnreachable", message }
    }
}

/// Serves calls of `function` with `handler` until SIGTERM. Each call gets a new connection, whatever version the schema has,
/// and its event; `null` where that is no JSON. The answer is the handler's as JSON, or its [`Refusal`].
pub async fn serve_calls<H, A>(function: &'static str, handler: H) -> ExitCode
where
    H: AsyncFn(&mut Client, &Value) -> Result<A, Refusal> + 'static,
    A: Serialize + 'static,
{
    panic::log_without_data();
    let outcome = match check_platform().and_then(|()| connector(function)) {
        Ok(connector) => {
            let called = Rc::new((connector, handler));
            answer_events(move |event, _context| {
                let called = Rc::clone(&called);
                async move { answer(function, &called.0, &called.1, &event).await }
            })
            .await
        }
        Err(error) => Err(error.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("function.name" = function, error = %error, "the function ends");
            ExitCode::FAILURE
        }
    }
}

async fn answer<H, A>(
    function: &'static str,
    connector: &PostgresConnector,
    handler: &H,
    event: &Value,
) -> Result<A, Diagnostic>
where
    H: AsyncFn(&mut Client, &Value) -> Result<A, Refusal>,
{
    let called = async {
        let session = connector.connect().await.map_err(|error| Refusal::of_connect(&error))?;
        handler(&mut session.into_client(), event).await
    };
    called.await.map_err(|refusal: Refusal| {
        tracing::error!("function.name" = function, "error.code" = refusal.error_type, "{}", refusal.message);
        Diagnostic { error_type: refusal.error_type.to_owned(), error_message: refusal.message }
    })
}
