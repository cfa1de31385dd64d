//! A worker for the soak test: invocation after invocation of the work function, with handlers that leave a trace in the
//! database, until somebody kills it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tidemark_handlers::handlers::{Configuration, registry};
use tidemark_handlers::{Context, End, Handler, Registry, work};
use tidemark_queue::step::Statement;
use tidemark_queue::{Connection, Invocation, Outcome};
use tidemark_testkit::SocketConnector;
use tokio_postgres::types::Type;

/// Counts its effect by its id, and is done.
const COUNTS: i32 = 100;
/// Counts its effect and fails each time.
const FAILS: i32 = 101;
/// Counts its effect and takes its process down with it.
const KILLS: i32 = 102;

/// How long a statement may take on a machine that is busy with killing.
const STATEMENT_LIMIT: Duration = Duration::from_secs(10);
/// Between two invocations that found nothing; shorter than the platform's second, so that the soak is dense.
const TICK: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
struct Nothing {}

/// What a handler does after it has counted.
#[derive(Clone, Copy)]
enum Then {
    Done,
    Fail,
    Abort,
}

struct Effect(Then);

impl Handler for Effect {
    type Payload = Nothing;

    async fn handle(&self, context: &Context<Nothing>) -> End {
        let job_id = context.job_id();
        let statement = Statement { text: "SELECT soak.effect($1)", parameters: &[(&job_id, Type::UUID)] };
        if let Err(error) = context.database().query(statement, STATEMENT_LIMIT).await {
            return End::Failed(error.into());
        }
        match self.0 {
            Then::Done => End::Done(json!({"counted": true})),
            Then::Fail => End::failed("as_ever", "this job fails each time"),
            Then::Abort => std::process::abort(),
        }
    }
}

fn handlers() -> Option<Registry> {
    let registry = registry(Configuration::default()).ok()?;
    Some(
        registry
            .register(COUNTS, Effect(Then::Done))
            .register(FAILS, Effect(Then::Fail))
            .register(KILLS, Effect(Then::Abort)),
    )
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let (Ok(url), Some(registry)) = (std::env::var("DATABASE_URL"), handlers()) else { return ExitCode::FAILURE };
    let mut connection = Connection::new(Arc::new(SocketConnector::new(url)));
    loop {
        let invocation = Invocation::begin(None, Some(Duration::from_secs(60)), Duration::from_millis(900));
        let summary = work::handle(&mut connection, &invocation, &registry).await;
        if summary.outcome != Outcome::Worked {
            // Not a wait for anything: the ticks of a platform come at intervals as well.
            tokio::time::sleep(TICK).await;
        }
    }
}
