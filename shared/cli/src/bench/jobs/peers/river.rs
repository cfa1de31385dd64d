//! The shape of River: a state that flips in place, and one index over state, queue, priority and time. Its indexes over the
//! arguments and the metadata, which slow it down further, are left out.

use crate::bench::jobs::system::{System, column};

pub(in crate::bench::jobs) const RIVER: System = System {
    name: "River",
    template: "bench_river",
    make: "CREATE DATABASE bench_river TEMPLATE template0",
    copy: "CREATE DATABASE bench_copy TEMPLATE bench_river STRATEGY file_copy",
    schema: Some(include_str!("../../../sql/peers/river_schema.sql")),
    seed: include_str!("../../../sql/peers/river_seed.sql"),
    claim: include_str!("../../../sql/peers/river_claim.sql"),
    claim_parameters: |worker, number| vec![Box::new(worker.to_string()), Box::new(i64::from(number))],
    complete: include_str!("../../../sql/peers/river_complete.sql"),
    complete_parameters: |_worker, rows| vec![Box::new(column::<i64>(rows, 0))],
};
