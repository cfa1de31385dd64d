//! Where the connector learns whom to connect to, and as whom.

use std::pin::Pin;
use std::sync::Arc;

use tidemark_queue::Error;

use crate::Target;

/// A future that a [`CredentialSource`] hands out.
pub type TargetFuture<'a> = Pin<Box<dyn Future<Output = Result<Arc<Target>, Error>> + Send + 'a>>;

/// Knows the database and the credentials for it.
///
/// A source may fetch them from elsewhere; it keeps them until [`CredentialSource::refused`] or their expiry.
pub trait CredentialSource: Send + Sync {
    /// The target with credentials that are valid now.
    fn target(&self) -> TargetFuture<'_>;

    /// The server refused these credentials: the next [`CredentialSource::target`] has to fetch them anew.
    fn refused(&self);
}

/// The target that the environment named when the process started; it never changes.
pub struct FixedTarget(Arc<Target>);

impl FixedTarget {
    /// A source that always answers `target`.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self(Arc::new(target))
    }
}

impl CredentialSource for FixedTarget {
    fn target(&self) -> TargetFuture<'_> {
        Box::pin(std::future::ready(Ok(Arc::clone(&self.0))))
    }

    fn refused(&self) {}
}
