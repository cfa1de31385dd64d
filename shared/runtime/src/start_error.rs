//! Why a function cannot start.

/// Why a function cannot start. Names variables, never their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A required environment variable is not set or empty.
    #[error("{variable} is not set")]
    Missing {
        /// Name of the variable.
        variable: &'static str,
    },
    /// An environment variable has a value that cannot be used.
    #[error("{variable} cannot be used: {reason}")]
    Invalid {
        /// Name of the variable.
        variable: &'static str,
        /// What is wrong with it; never contains the value.
        reason: &'static str,
    },
    /// The process was started by hand.
    #[error(
        "{variable} is not set, so this process was not started as a Lambda function; \
         use `cargo lambda watch` or `tidemark local`"
    )]
    NotUnderLambda {
        /// Name of the missing variable.
        variable: &'static str,
    },
}
