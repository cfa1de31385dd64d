//! P1 to P4: the general queue beside the queues that people use, in the same run on the same server.
//!
//! Every contender has a database of its own, copied anew for each round from one that was filled once, and is driven by the
//! same client: one connection per task, prepared statements, one round trip that claims and one that ends. The rounds are
//! interleaved and the medians of three count, because a machine that others use changes even ratios.

mod arena;
mod crew;
mod drain;
mod enqueue;
mod held_snapshot;
mod peers;
mod rate;
mod single;
mod system;

pub(crate) use drain::measure as drain;
pub(crate) use enqueue::measure as enqueue;
pub(crate) use held_snapshot::measure as held_snapshot;
pub(crate) use single::measure as single;

/// Each contender is measured as often as this, in turns.
const ROUNDS: usize = 3;
/// Connections of a drain.
const CONNECTIONS: usize = 8;
/// Jobs of one claim.
const BATCH: i32 = 100;
