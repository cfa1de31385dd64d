//! A queue as the measurements see it: its tables, and the statements that fill, claim, end and enqueue.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// Parameters of a prepared statement.
pub(super) type Parameters = Vec<Box<dyn ToSql + Sync + Send>>;

/// One contender.
#[derive(Clone, Copy)]
pub(super) struct System {
    /// As the figures name it.
    pub(super) name: &'static str,
    /// The database that is filled once.
    pub(super) template: &'static str,
    /// Makes that database.
    pub(super) make: &'static str,
    /// Copies it to [`COPY`](super::arena::COPY).
    pub(super) copy: &'static str,
    /// Makes its tables there. `None`: they are there.
    pub(super) schema: Option<&'static str>,
    /// Makes `$1` pending jobs.
    pub(super) seed: &'static str,
    /// Claims up to a number of jobs.
    pub(super) claim: &'static str,
    /// The parameters of `claim`, for a worker and a number.
    pub(super) claim_parameters: fn(Uuid, i32) -> Parameters,
    /// Ends what was claimed as done, and returns a row for each job that it ended.
    pub(super) complete: &'static str,
    /// The parameters of `complete`, for a worker and the rows of his claim.
    pub(super) complete_parameters: fn(Uuid, &[Row]) -> Parameters,
}

/// Tidemark itself.
pub(super) const TIDEMARK: System = System {
    name: "tidemark",
    template: "bench_tidemark",
    make: "CREATE DATABASE bench_tidemark TEMPLATE tidemark",
    copy: "CREATE DATABASE bench_copy TEMPLATE bench_tidemark STRATEGY file_copy",
    schema: None,
    seed: include_str!("../../sql/bench_jobs_seed.sql"),
    claim: include_str!("../../sql/bench_jobs_claim.sql"),
    claim_parameters: |worker, number| vec![Box::new(worker), Box::new(number)],
    complete: include_str!("../../sql/bench_jobs_end.sql"),
    complete_parameters: |worker, rows| {
        let lease_ids: Vec<i64> = rows.first().map(|row| row.get(0)).into_iter().collect();
        vec![
            Box::new(worker),
            Box::new(lease_ids),
            Box::new(column::<Uuid>(rows, 1)),
            Box::new(column::<i32>(rows, 2)),
            Box::new(vec!["done"; rows.len()]),
        ]
    },
};

/// The values of one column of all rows.
pub(super) fn column<T>(rows: &[Row], index: usize) -> Vec<T>
where
    T: for<'a> tokio_postgres::types::FromSql<'a>,
{
    rows.iter().map(|row| row.get(index)).collect()
}
