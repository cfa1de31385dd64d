//! The command line as a newcomer uses it.
#![allow(clippy::unwrap_used)]
