//! Claims stale users for the compute function and recovers expired leases; tells CloudWatch the figures of the status document.
//! Wiring and nothing else.

use std::process::ExitCode;

use tidemark_runtime::{LINGER, with_figures};

// One invocation at a time on a fraction of a processor: more threads would only start slower.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    tidemark_runtime::init_logging();
    tidemark_runtime::serve("claim", LINGER, with_figures(tidemark_queue::claim::handle)).await
}
