//! Which handler takes which type of job.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Handler;
use crate::handler::AnyHandler;

/// Handlers by the `job_type` that they take.
#[derive(Default)]
pub struct Registry {
    handlers: BTreeMap<i32, Arc<dyn AnyHandler>>,
}

impl Registry {
    /// A registry without handlers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the handler of one type.
    ///
    /// # Panics
    /// When the type has a handler already: two of them would be told apart by chance.
    #[must_use]
    pub fn register(mut self, job_type: i32, handler: impl Handler) -> Self {
        let before = self.handlers.insert(job_type, Arc::new(handler));
        assert!(before.is_none(), "job_type {job_type} has a handler already");
        self
    }

    /// The types that have a handler.
    pub fn job_types(&self) -> impl Iterator<Item = i32> {
        self.handlers.keys().copied()
    }

    pub(crate) fn handler(&self, job_type: i32) -> Option<Arc<dyn AnyHandler>> {
        self.handlers.get(&job_type).map(Arc::clone)
    }
}
