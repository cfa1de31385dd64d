//! The shape of pgmq: messages that become invisible for a while when they are read, and are deleted when they are done, which is
//! the faster of its two ways to end one.

use crate::bench::jobs::system::{System, column};

pub(in crate::bench::jobs) const PGMQ: System = System {
    name: "pgmq",
    template: "bench_pgmq",
    make: "CREATE DATABASE bench_pgmq TEMPLATE template0",
    copy: "CREATE DATABASE bench_copy TEMPLATE bench_pgmq STRATEGY file_copy",
    schema: Some(include_str!("../../../sql/peers/pgmq_schema.sql")),
    seed: include_str!("../../../sql/peers/pgmq_seed.sql"),
    claim: include_str!("../../../sql/peers/pgmq_claim.sql"),
    claim_parameters: |_worker, number| vec![Box::new(i64::from(number))],
    complete: include_str!("../../../sql/peers/pgmq_complete.sql"),
    complete_parameters: |_worker, rows| vec![Box::new(column::<i64>(rows, 0))],
};
