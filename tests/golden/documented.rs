//! docs/STATISTICS.md and the tables name the same figures.

use std::collections::BTreeSet;
use std::path::Path;

use tidemark_tests::Pipeline;

/// `table.column` of every row of the page's tables of figures. A row needs its definition and its source.
fn documented() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/STATISTICS.md");
    let mut table = String::new();
    let mut columns = BTreeSet::new();
    for line in std::fs::read_to_string(page).unwrap().lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.clone_into(&mut table);
        } else if let Some(row) = line.strip_prefix("| `").and_then(|row| row.strip_suffix('|')) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            assert_eq!(cells.len(), 4, "column, definition, unit and source: {line}");
            assert!(!cells[1].is_empty() && !cells[3].is_empty(), "{line}");
            assert!(columns.insert(format!("{table}.{}", cells[0].trim_end_matches('`'))), "twice: {line}");
        }
    }
    columns
}

#[tokio::test]
async fn every_published_column_is_documented_and_no_other() {
    let pipeline = Pipeline::new().await;
    let query = "SELECT table_name || '.' || column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name IN ('user_exercise_stats', 'user_exercise_rep_maxes',
            'user_exercise_stats_weekly', 'user_muscle_stats_weekly', 'user_stats_summary')";
    let rows = pipeline.admin.query(query, &[]).await.unwrap();
    let published: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(documented(), published);
}
