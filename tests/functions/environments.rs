//! The real functions on a database of a test's own, each in an execution environment of its own.

use std::time::Duration;

use serde_json::{Value, json};
use tidemark_testkit::{InvocationError, Simulator};
use tidemark_tests::{Pipeline, binaries};

/// Nothing here takes this long unless it hangs.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// The functions that tick, in the order in which work passes through them.
pub(crate) const TICKING: [&str; 3] = ["claim", "compute", "publish"];

/// Starts the function `name` as the worker role on the pipeline's database.
pub(crate) async fn start(name: &'static str, pipeline: &Pipeline) -> Simulator {
    start_on(name, &pipeline.database.url_for("tidemark_worker")).await
}

async fn start_on(name: &'static str, database_url: &str) -> Simulator {
    let binary = tokio::task::spawn_blocking(move || binaries::function(name)).await.unwrap();
    Simulator::start(binary, [("DATABASE_URL", database_url)]).await.unwrap()
}

/// One environment of each function that ticks.
pub(crate) struct Environments {
    pub(crate) claim: Simulator,
    pub(crate) compute: Simulator,
    pub(crate) publish: Simulator,
}

impl Environments {
    pub(crate) async fn start(pipeline: &Pipeline) -> Self {
        Self::start_on(&pipeline.database.url_for("tidemark_worker")).await
    }

    pub(crate) async fn start_on(database_url: &str) -> Self {
        Self {
            claim: start_on("claim", database_url).await,
            compute: start_on("compute", database_url).await,
            publish: start_on("publish", database_url).await,
        }
    }

    /// All three at once, as a tick does it; their answers.
    pub(crate) async fn tick(&self, event: &Value) -> [Result<Value, InvocationError>; 3] {
        let (claim, compute, publish) = tokio::join!(
            self.claim.invoke(event.clone(), LIMIT),
            self.compute.invoke(event.clone(), LIMIT),
            self.publish.invoke(event.clone(), LIMIT),
        );
        [claim, compute, publish]
    }

    /// Ticks until nobody is stale. The number of runs that each function has taken further.
    pub(crate) async fn refresh(&self, pipeline: &Pipeline) -> [u64; 3] {
        let mut succeeded = [0; 3];
        for _tick in 0..50 {
            for (total, answer) in succeeded.iter_mut().zip(self.tick(&json!({})).await) {
                *total += answer.unwrap()["succeeded"].as_u64().unwrap();
            }
            if stale(pipeline).await == 0 {
                return succeeded;
            }
        }
        panic!("users are still stale after fifty ticks");
    }
}

/// How many users are stale.
pub(crate) async fn stale(pipeline: &Pipeline) -> i64 {
    let query =
        "SELECT count(*) FROM public.user_stats_projection_state WHERE requested_generation > applied_generation";
    pipeline.one(query, &[]).await.get(0)
}

#[tokio::test]
async fn no_function_carries_the_migrations_along() {
    let holds = |binary: std::path::PathBuf| {
        let content = std::fs::read(binary).unwrap();
        String::from_utf8_lossy(&content).contains("CREATE FUNCTION tidemark.")
    };
    for name in ["claim", "compute", "publish", "status", "work"] {
        let binary = tokio::task::spawn_blocking(move || binaries::function(name)).await.unwrap();
        assert!(!holds(binary), "{name}");
    }
    let tidemark = tokio::task::spawn_blocking(binaries::tidemark).await.unwrap();
    assert!(holds(tidemark), "the command line migrates, so that it would be found there");
}
