//! Computes the statistics of claimed users and stages them. Wiring and nothing else.

use std::process::ExitCode;

use tidemark_runtime::LINGER;

// One invocation at a time on a fraction of a processor: more threads would only start slower.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    tidemark_runtime::init_logging();
    tidemark_runtime::serve("compute", LINGER, tidemark_projection::compute::handle).await
}
