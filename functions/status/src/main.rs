//! Wiring.
fn main() {}
