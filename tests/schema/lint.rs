//! What no migration and no statement may do, however well it works.

use tidemark_testkit::TestDatabase;

/// The first column of every row: what is wrong.
async fn found(query: &str) -> Vec<String> {
    let database = TestDatabase::new().await;
    let rows = database.admin().await.query(query, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn no_column_holds_a_timestamp_without_time_zone() {
    let query = "SELECT attribute.attrelid::regclass || '.' || attribute.attname
        FROM pg_attribute AS attribute
        JOIN pg_class AS relation ON relation.oid = attribute.attrelid
        WHERE relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
            AND attribute.atttypid IN ('timestamp'::regtype, 'timestamp[]'::regtype)";
    assert_eq!(found(query).await, Vec::<String>::new());
}

#[tokio::test]
async fn no_function_takes_or_returns_a_timestamp_without_time_zone() {
    let query = "SELECT routine.oid::regprocedure::text FROM pg_proc AS routine
        WHERE routine.pronamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
            AND 'timestamp'::regtype = ANY (coalesce(routine.proallargtypes, routine.proargtypes::oid[]) || routine.prorettype)";
    assert_eq!(found(query).await, Vec::<String>::new());
}

#[tokio::test]
async fn every_security_definer_sets_its_search_path_with_the_temporary_schema_last() {
    let query = "SELECT routine.oid::regprocedure::text FROM pg_proc AS routine
        WHERE routine.pronamespace IN ('public'::regnamespace, 'tidemark'::regnamespace) AND routine.prosecdef
            AND NOT EXISTS (
                SELECT FROM unnest(routine.proconfig) AS setting (line) WHERE setting.line ~ '^search_path=.*[ ,]pg_temp$')";
    assert_eq!(found(query).await, Vec::<String>::new());
}

#[tokio::test]
async fn no_index_holds_the_end_of_a_lease() {
    let query = "SELECT entry.indexrelid::regclass::text FROM pg_index AS entry
        JOIN pg_class AS relation ON relation.oid = entry.indrelid
        WHERE relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
            AND pg_get_indexdef(entry.indexrelid) ~ 'lease_(until|expires_at)'";
    assert_eq!(found(query).await, Vec::<String>::new());
}

#[tokio::test]
async fn every_table_is_logged_because_unlogged_ones_are_empty_after_a_crash() {
    let query = "SELECT relation.oid::regclass::text FROM pg_class AS relation
        WHERE relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace) AND relation.relpersistence <> 'p'";
    assert_eq!(found(query).await, Vec::<String>::new());
}

#[test]
fn every_limit_with_skip_locked_stands_in_a_materialized_table_expression_or_alone() {
    for migration in tidemark_migrations::migrations() {
        assert_eq!(unguarded_limits(migration.sql), Vec::<String>::new(), "migration {}", migration.name);
    }
    for (name, text) in tidemark_queue::STATEMENTS.iter().chain(tidemark_projection::STATEMENTS) {
        assert_eq!(unguarded_limits(text), Vec::<String>::new(), "statement {name}");
    }
}

#[test]
fn a_limit_with_skip_locked_in_a_subquery_is_found() {
    let in_subquery = "UPDATE job SET a = 1 WHERE id IN (SELECT id FROM job LIMIT 5 FOR UPDATE SKIP LOCKED)";
    let in_plain_expression = "WITH picked AS (SELECT id FROM job LIMIT 5 FOR UPDATE SKIP LOCKED) DELETE FROM job";
    let guarded = "WITH picked AS MATERIALIZED (SELECT id FROM job LIMIT 5 FOR UPDATE SKIP LOCKED) DELETE FROM job";
    let alone = "SELECT id FROM job WHERE f(id) LIMIT 1 FOR UPDATE SKIP LOCKED";
    assert_eq!(unguarded_limits(in_subquery).len(), 1);
    assert_eq!(unguarded_limits(in_plain_expression).len(), 1);
    assert_eq!(unguarded_limits(guarded), Vec::<String>::new());
    assert_eq!(unguarded_limits(alone), Vec::<String>::new());
}

/// The parenthesised queries with both LIMIT and SKIP LOCKED that are not materialised: under a nested loop such a query can
/// be run again and again, and takes far more rows than its limit.
fn unguarded_limits(sql: &str) -> Vec<String> {
    let sql = without_comments_and_literals(sql);
    let mut found = Vec::new();
    for (place, _words) in sql.match_indices("SKIP LOCKED") {
        let Some(opening) = enclosing_parenthesis(&sql[..place]) else { continue };
        let query = &sql[opening..place];
        if query.contains("LIMIT") && !sql[..opening].trim_end().ends_with("MATERIALIZED") {
            found.push(query.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    found
}

/// Where the innermost parenthesis stands that `text` leaves open.
fn enclosing_parenthesis(text: &str) -> Option<usize> {
    let mut closed = 0_usize;
    for (place, character) in text.char_indices().rev() {
        match character {
            ')' => closed += 1,
            '(' if closed == 0 => return Some(place),
            '(' => closed -= 1,
            _ => {}
        }
    }
    None
}

fn without_comments_and_literals(sql: &str) -> String {
    let lines: Vec<&str> =
        sql.lines().map(|line| line.split_once("--").map_or(line, |(code, _comment)| code)).collect();
    // Odd pieces are inside quotes; a doubled quote makes an empty piece outside, which changes nothing.
    let text = lines.join("\n");
    text.split('\'').step_by(2).collect::<Vec<_>>().join("''")
}
