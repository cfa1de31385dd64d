//! A function from start to end.

use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lambda_runtime::{Context, Diagnostic, LambdaEvent, Runtime, service_fn};
use secrecy::SecretString;
use serde::Serialize;
use serde_json::Value;
use tidemark_queue::{Connection, Invocation, Summary};
use tokio::signal::unix::{SignalKind, signal};

use crate::environment::Environment;
use crate::event::planned_at;
use crate::in_flight::InFlight;
use crate::{FixedTarget, PostgresConnector, StartError, Target, panic};

/// How long claim, compute and publish stay for work that is on its way: until shortly before the next tick, so that
/// consecutive invocations leave no gap and hardly overlap.
pub const LINGER: Duration = Duration::from_millis(900);

/// How long an invocation under way may go on after SIGTERM. The platform kills after two seconds at most.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(1_800);

/// No function may run longer on the platform; a deadline beyond it is no deadline.
const LONGEST_INVOCATION: Duration = Duration::from_secs(15 * 60);

const DATABASE_URL: &str = "DATABASE_URL";

/// The variables the Lambda runtime cannot do without.
const LAMBDA_VARIABLES: [&str; 4] = [
    "AWS_LAMBDA_RUNTIME_API",
    "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
    "AWS_LAMBDA_FUNCTION_VERSION",
];

/// Serves invocations of `function` with `handler` until SIGTERM. `linger` is handed to each invocation.
///
/// The answer is the handler's [`Summary`] as JSON. A panic of the handler is answered with the error type
/// `HandlerPanicked`, without its message, and the connection is thrown away. Where the function cannot start, the
/// reason is logged and the exit code says so.
pub async fn serve<H>(function: &'static str, linger: Duration, handler: H) -> ExitCode
where
    H: AsyncFn(&mut Connection, &Invocation) -> Summary + 'static,
{
    panic::log_without_data();
    let outcome = match prepare(function) {
        Ok(connection) => run(Environment::new(function, connection), linger, handler).await,
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

/// The connection of this execution environment, as the environment variables describe it; nothing is opened yet.
/// The server knows it as `tidemark-<function>`.
///
/// # Errors
/// [`StartError`] when `DATABASE_URL` is missing or cannot be used.
pub fn connection(function: &str) -> Result<Connection, StartError> {
    Ok(Connection::new(Arc::new(connector(function)?)))
}

/// Opens connections to the database that the environment variables describe.
pub(crate) fn connector(function: &str) -> Result<PostgresConnector, StartError> {
    let url = match std::env::var(DATABASE_URL) {
        Ok(url) if !url.trim().is_empty() => SecretString::from(url.trim()),
        Ok(_) | Err(std::env::VarError::NotPresent) => return Err(StartError::Missing { variable: DATABASE_URL }),
        Err(std::env::VarError::NotUnicode(_)) => {
            return Err(StartError::Invalid { variable: DATABASE_URL, reason: "it is not UTF-8" });
        }
    };
    let target = Target::from_url(&url, &format!("tidemark-{function}"))
        .map_err(|reason| StartError::Invalid { variable: DATABASE_URL, reason })?;
    Ok(PostgresConnector::new(Arc::new(FixedTarget::new(target))))
}

fn prepare(function: &str) -> Result<Connection, StartError> {
    check_platform()?;
    connection(function)
}

/// Refuses a process that was not started by Lambda or by something that behaves like it.
pub(crate) fn check_platform() -> Result<(), StartError> {
    let missing = LAMBDA_VARIABLES.into_iter().find(|variable| std::env::var_os(variable).is_none());
    missing.map_or(Ok(()), |variable| Err(StartError::NotUnderLambda { variable }))
}

async fn run<H>(environment: Environment, linger: Duration, handler: H) -> Result<(), lambda_runtime::Error>
where
    H: AsyncFn(&mut Connection, &Invocation) -> Summary + 'static,
{
    let environment = Rc::new((environment, handler));
    answer_events(move |event, context| {
        let environment = Rc::clone(&environment);
        async move {
            let invocation = Invocation::begin(planned_at(&event), remaining(context.deadline), linger);
            let (environment, handler) = &*environment;
            environment.invoke(&context.request_id, &invocation, handler).await.ok_or_else(panic::diagnostic)
        }
    })
    .await
}

/// Answers events until SIGTERM, then ends after the one under way.
pub(crate) async fn answer_events<F, R, A>(answer: F) -> Result<(), lambda_runtime::Error>
where
    F: Fn(Value, Context) -> R + 'static,
    R: Future<Output = Result<A, Diagnostic>> + 'static,
    A: Serialize + 'static,
{
    let in_flight = InFlight::default();
    let service = service_fn(move |event: LambdaEvent<Value>| {
        let (event, context) = event.into_parts();
        answer(event, context)
    });
    let runtime = Runtime::new(service).layer(in_flight.clone());
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // Whichever branch ends first, the other is dropped and with it the connection, which tells the server.
    tokio::select! {
        outcome = runtime.run() => outcome,
        () = async {
            tokio::select! { _ = terminate.recv() => (), _ = interrupt.recv() => () }
            in_flight.settled(SHUTDOWN_GRACE).await;
        } => Ok(()),
    }
}

/// Time left until `deadline` (milliseconds since 1970); `None` where it has passed, because some local runtimes send a
/// constant, and where it is further away than any invocation may last.
fn remaining(deadline: u64) -> Option<Duration> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let left = Duration::from_millis(deadline).checked_sub(now)?;
    (!left.is_zero() && left <= LONGEST_INVOCATION).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds_from_now(offset: i64) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
        u64::try_from(now.as_millis()).expect("a clock before the year 584,000,000").saturating_add_signed(offset)
    }

    #[test]
    fn a_deadline_ahead_leaves_the_time_until_then() {
        let left = remaining(milliseconds_from_now(10_000)).expect("time left");
        assert!(left <= Duration::from_secs(10) && left > Duration::from_secs(8), "{left:?}");
    }

    #[test]
    fn a_past_or_impossible_deadline_is_unknown() {
        assert_eq!(remaining(0), None);
        assert_eq!(remaining(600), None);
        assert_eq!(remaining(milliseconds_from_now(-1)), None);
        assert_eq!(remaining(u64::MAX), None);
    }
}
