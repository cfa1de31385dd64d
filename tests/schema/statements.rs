//! Every statement of the product is accepted by the real schema.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tidemark_testkit::TestDatabase;

/// Crates whose statements the functions send, as the worker.
const SENT_BY_THE_WORKER: &[&str] = &["queue", "projection", "handlers", "status"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Statements of other queues, which the command line's tests prepare against the tables of those.
const OF_PEERS: &str = "peers";

/// Every `.sql` file under `folder`, except migrations.
fn statement_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.ends_with(OF_PEERS) {
                continue;
            } else if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "sql") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

async fn prepared(client: &tokio_postgres::Client, name: &str, text: &str) -> Option<String> {
    let refusal = client.prepare(text).await.err()?;
    Some(format!("{name}: {}", refusal.as_db_error().map_or_else(|| refusal.to_string(), ToString::to_string)))
}

#[tokio::test]
async fn every_statement_file_is_prepared_against_the_real_schema() {
    let database = TestDatabase::new().await;
    let (admin, worker) = (database.admin().await, database.worker().await);
    let shared = repository().join("shared");
    let mut files = statement_files(&shared);
    files.extend(statement_files(&repository().join("functions")));
    assert!(files.len() > 10, "the statements were not found: {files:?}");

    let mut refused = Vec::new();
    for file in files {
        let sent_by_worker = SENT_BY_THE_WORKER.iter().any(|name| file.starts_with(shared.join(name)));
        let client = if sent_by_worker { &worker } else { &admin };
        let name = file.strip_prefix(repository()).unwrap().display().to_string();
        // Some files are scripts: statements that end a line with a semicolon, each sent on its own.
        for statement in fs::read_to_string(&file).unwrap().split(";\n") {
            refused.extend(prepared(client, &name, statement).await);
        }
    }
    assert_eq!(refused, Vec::<String>::new());
}

#[tokio::test]
async fn every_listed_statement_is_prepared_as_the_worker() {
    let database = TestDatabase::new().await;
    let worker = database.worker().await;
    let mut refused = Vec::new();
    for (name, text) in
        tidemark_queue::STATEMENTS.iter().chain(tidemark_projection::STATEMENTS).chain(tidemark_handlers::STATEMENTS)
    {
        refused.extend(prepared(&worker, name, text).await);
    }
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn the_lists_of_statements_hold_every_file_of_their_crates() {
    for (name, statements) in [
        ("queue", tidemark_queue::STATEMENTS),
        ("projection", tidemark_projection::STATEMENTS),
        ("handlers", tidemark_handlers::STATEMENTS),
    ] {
        let files = statement_files(&repository().join("shared").join(name));
        let stored: BTreeSet<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        let listed: BTreeSet<String> = statements.iter().map(|(_name, text)| (*text).to_owned()).collect();
        assert_eq!(stored, listed, "the statements of {name}");
    }
}

#[tokio::test]
async fn a_statement_that_the_schema_does_not_know_is_found() {
    let database = TestDatabase::new().await;
    let refusal = prepared(&database.worker().await, "made up", "SELECT tidemark.claim_v0($1)").await;
    assert!(refusal.is_some_and(|text| text.contains("claim_v0")));
}
