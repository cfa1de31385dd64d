//! The schema after all migrations, so that a reviewer sees the whole. Where a change is meant,
//! `INSTA_UPDATE=always cargo test -p tidemark-tests --test schema` writes the snapshots anew.

use tidemark_testkit::TestDatabase;

async fn described(query: &str) -> String {
    let database = TestDatabase::new().await;
    let admin = database.admin().await;
    // Names are printed with their schema where it is not in the path.
    admin.batch_execute("SET search_path = pg_catalog").await.unwrap();
    let rows = admin.query(query, &[]).await.unwrap();
    assert!(!rows.is_empty(), "the query describes nothing");
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n\n")
}

#[tokio::test]
async fn the_tables_are_those_of_the_snapshot() {
    insta::assert_snapshot!("tables", described(include_str!("sql/tables.sql")).await);
}

#[tokio::test]
async fn the_functions_are_those_of_the_snapshot() {
    insta::assert_snapshot!("functions", described(include_str!("sql/functions.sql")).await);
}

#[tokio::test]
async fn the_types_and_sequences_are_those_of_the_snapshot() {
    insta::assert_snapshot!("types", described(include_str!("sql/types.sql")).await);
}
