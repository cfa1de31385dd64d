//! Brings the schema up to date when a release is deployed. Wiring and nothing else.

use std::process::ExitCode;

use serde_json::Value;
use tidemark_migrations::{MigrateError, migrate, plan};
use tidemark_runtime::{Client, Refusal};

// One invocation at a time on a fraction of a processor: more threads would only start slower.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    tidemark_runtime::init_logging();
    tidemark_runtime::serve_calls("migrate", async |client: &mut Client, event: &Value| {
        let dry_run = event.get("dry_run").and_then(Value::as_bool).unwrap_or(false);
        let report = if dry_run { plan(client).await } else { migrate(client).await };
        report.map_err(|error| refusal(&error))
    })
    .await
}

fn refusal(error: &MigrateError) -> Refusal {
    Refusal { error_type: error.name(), message: format!("{error}; nothing was changed; next: {}", error.next()) }
}
