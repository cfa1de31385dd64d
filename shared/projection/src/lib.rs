//! Reads a user's source, computes the statistics, publishes the difference.
//!
//! * [`compute`]: the compute function;
//! * [`publish`]: the publish function.

mod commit;
pub mod compute;
mod document;
mod failure;
pub mod publish;
mod source;
mod statements;
mod work;

pub use statements::STATEMENTS;
