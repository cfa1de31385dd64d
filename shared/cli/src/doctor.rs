//! The checks of `tidemark doctor`, one file per thing that is looked at.

pub(crate) mod clock;
pub(crate) mod finding;
pub(crate) mod queue;
pub(crate) mod roles;
pub(crate) mod schema;
pub(crate) mod server;
pub(crate) mod settings;
pub(crate) mod vacuum;
