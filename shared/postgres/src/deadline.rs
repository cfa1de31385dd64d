//! Waiting for a predicate, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// How often a predicate is asked. Five milliseconds are far below what a person notices and cost nothing.
const PAUSE: Duration = Duration::from_millis(5);

/// Asks `predicate` until it holds or `limit` has passed; answers whether it held.
pub(crate) fn holds_within(limit: Duration, mut predicate: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if predicate() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(PAUSE);
    }
}
