//! Panics without data.

use lambda_runtime::Diagnostic;

/// Logs where a panic happened instead of printing its message, which can hold row values. A message that is a literal
/// in the source holds none and is kept.
pub(crate) fn log_without_data() {
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        let literal = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(withheld)");
        tracing::error!("panic.location" = location, "panic.message" = literal, "panic");
    }));
}

/// What the platform is told of a panic.
pub(crate) fn diagnostic() -> Diagnostic {
    Diagnostic {
        error_type: "HandlerPanicked".to_owned(),
        error_message: "the handler panicked; the log has the place".to_owned(),
    }
}
