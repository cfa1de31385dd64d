//! Real exports through the whole pipeline, figure by figure.
#![allow(clippy::unwrap_used)]
