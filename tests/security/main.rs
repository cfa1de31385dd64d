//! Who may do what.
#![allow(clippy::unwrap_used)]
