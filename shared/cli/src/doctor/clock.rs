//! The clocks: every decision is the database's, but ticks are planned by another clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio_postgres::Client;

use super::finding::Finding;
use crate::refusal::explain;
use crate::statements::DOCTOR_CLOCK;

/// How far two clocks may be apart: a tick that seems older than five seconds is answered as late.
const APART_MAX: Duration = Duration::from_secs(2);

/// Compares this machine's clock with the database's.
///
/// # Errors
/// The server's refusal.
pub(crate) async fn check(client: &Client) -> anyhow::Result<Vec<Finding>> {
    let (before, began) = (SystemTime::now(), Instant::now());
    let rows = client.query_typed(DOCTOR_CLOCK, &[]).await.map_err(explain)?;
    let round_trip = began.elapsed();
    let theirs: f64 = rows.first().ok_or_else(|| anyhow::anyhow!("the server tells no time"))?.try_get(0)?;
    let ours = before.duration_since(UNIX_EPOCH).unwrap_or_default() + round_trip / 2;
    Ok(vec![compare(theirs - ours.as_secs_f64(), round_trip)])
}

/// `apart`: by how many seconds the database's clock is ahead.
fn compare(apart: f64, round_trip: Duration) -> Finding {
    let side = if apart >= 0.0 { "ahead of" } else { "behind" };
    let what = format!(
        "the database is {:.1} s {side} this machine (known to {:.1} s)",
        apart.abs(),
        round_trip.as_secs_f64() / 2.0
    );
    if apart.abs() > APART_MAX.as_secs_f64() + round_trip.as_secs_f64() / 2.0 {
        Finding::warning(
            "clock",
            what,
            "set both by NTP: where the ticks' clock is apart from the functions', they seem late and do nothing",
        )
    } else {
        Finding::ok("clock", what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::State;

    #[test]
    fn clocks_apart_by_more_than_two_seconds_are_worth_a_word() {
        let short = Duration::from_millis(10);
        assert_eq!(compare(1.9, short).state, State::Ok);
        assert_eq!(compare(-2.1, short).state, State::Warning);
        assert!(compare(-2.1, short).what.contains("2.1 s behind"));
        assert_eq!(compare(2.5, Duration::from_secs(2)).state, State::Ok, "it is not known that well");
    }
}
