//! The queue that everybody writes first: one table, a status that flips in place, `FOR UPDATE SKIP LOCKED`.

use uuid::Uuid;

use crate::bench::jobs::system::{System, column};

pub(in crate::bench::jobs) const TEXTBOOK: System = System {
    name: "textbook",
    template: "bench_textbook",
    make: "CREATE DATABASE bench_textbook TEMPLATE template0",
    copy: "CREATE DATABASE bench_copy TEMPLATE bench_textbook STRATEGY file_copy",
    schema: Some(include_str!("../../../sql/peers/textbook_schema.sql")),
    seed: include_str!("../../../sql/peers/textbook_seed.sql"),
    claim: include_str!("../../../sql/peers/textbook_claim.sql"),
    claim_parameters: |worker, number| vec![Box::new(worker), Box::new(i64::from(number))],
    complete: include_str!("../../../sql/peers/textbook_complete.sql"),
    complete_parameters: |worker: Uuid, rows| {
        vec![Box::new(worker), Box::new(column::<i64>(rows, 0)), Box::new(column::<i32>(rows, 2))]
    },
};
/// Enqueues one job: its type, payload and key.
pub(in crate::bench::jobs) const ENQUEUE: &str = include_str!("../../../sql/peers/textbook_enqueue.sql");
/// Enqueues many: arrays of types, payloads, keys, priorities, delays and attempts.
pub(in crate::bench::jobs) const ENQUEUE_MANY: &str = include_str!("../../../sql/peers/textbook_enqueue_many.sql");
