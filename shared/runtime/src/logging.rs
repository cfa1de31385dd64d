//! Structured logs on standard error.

use std::io;

use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterFn, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// Crates whose detailed logs hold statements, parameters, handshakes or, the Lambda runtime's, whole events with their
/// headers. Nothing below a warning is taken from them,
/// whatever `RUST_LOG` says.
const WITHHELD: [&str; 7] = [
    "tokio_postgres",
    "postgres_protocol",
    "rustls",
    "tokio_rustls",
    "lambda_runtime",
    "lambda_http",
    "lambda_runtime_api_client",
];

/// Starts the logs: JSON when run by Lambda (`AWS_LAMBDA_RUNTIME_API` is set), lines for people otherwise. The level
/// comes from `RUST_LOG` (`debug`, or `tidemark_queue=debug,info`), `info` when unset or unreadable.
///
/// Does nothing when logs are started already.
pub fn init_logging() {
    let under_lambda = std::env::var_os("AWS_LAMBDA_RUNTIME_API").is_some();
    let lines = if under_lambda {
        fmt::layer()
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .with_writer(io::stderr)
            .boxed()
    } else {
        fmt::layer().with_writer(io::stderr).boxed()
    };
    let wanted = std::env::var("RUST_LOG").unwrap_or_default();
    let registry = tracing_subscriber::registry().with(lines.with_filter(withheld()).with_filter(levels(&wanted)));
    // A second start is a test or a caller that has logs of its own; theirs stay.
    let _already_started = registry.try_init();
}

fn levels(wanted: &str) -> Targets {
    let fallback = || Targets::new().with_default(LevelFilter::INFO);
    if wanted.trim().is_empty() { fallback() } else { wanted.parse().unwrap_or_else(|_| fallback()) }
}

fn withheld() -> FilterFn<fn(&Metadata<'_>) -> bool> {
    filter_fn(|metadata| {
        let crate_name = metadata.target().split("::").next().unwrap_or_default();
        *metadata.level() <= Level::WARN || !WITHHELD.contains(&crate_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_info_when_rust_log_is_unset_or_unreadable() {
        for wanted in ["", "  ", "a=b=c"] {
            assert_eq!(levels(wanted).default_level(), Some(LevelFilter::INFO), "{wanted}");
        }
    }

    #[test]
    fn the_level_can_be_set_by_module() {
        let targets = levels("tidemark_queue=debug,warn");
        assert!(targets.would_enable("tidemark_queue::claim", &Level::DEBUG));
        assert!(!targets.would_enable("tidemark_runtime", &Level::INFO));
    }
}
