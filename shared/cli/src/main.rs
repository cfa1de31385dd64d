//! tidemark
fn main() {}
