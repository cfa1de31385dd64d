//! The settings row: its defaults, bounds and history.

use serde_json::Value;
use tidemark_tests::Pipeline;
use tokio_postgres::Client;
use tokio_postgres::types::Json;

use crate::refusal;

const DOCUMENTATION: &str = include_str!("../../docs/SETTINGS.md");
const TABLE: &str = "public.stats_projection_worker_settings";
const CHECK_VIOLATION: &str = "23514";

/// A documented setting: name, default, least, most.
fn documented() -> Vec<(String, i64, i64, i64)> {
    let rows = DOCUMENTATION.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let number = |index: usize| cells[index].parse().expect("the cell is a number");
        (cells[1].trim_matches('`').to_owned(), number(2), number(3), number(4))
    })
    .collect()
}

/// Whether the row takes the value, with the other budgets out of the way. Nothing stays.
async fn takes(admin: &Client, name: &str, value: i64) -> Result<(), String> {
    let neighbours =
        format!("UPDATE {TABLE} SET compute_timeout_ms = 1000, publish_timeout_ms = 100, lease_seconds = 3600");
    admin.batch_execute("BEGIN").await.unwrap();
    admin.batch_execute(&neighbours).await.unwrap();
    let taken = admin.batch_execute(&format!("UPDATE {TABLE} SET {name} = {value}")).await;
    admin.batch_execute("ROLLBACK").await.unwrap();
    taken.map_err(|error| error.code().unwrap().code().to_owned())
}

#[tokio::test]
async fn every_documented_default_and_bound_is_the_one_in_the_database() {
    let pipeline = Pipeline::new().await;
    let rows = documented();
    for (name, default, least, most) in &rows {
        let actual: i64 = pipeline.one(&format!("SELECT {name}::bigint FROM {TABLE}"), &[]).await.get(0);
        assert_eq!(actual, *default, "default of {name}");
        let query = "SELECT pg_get_expr(adbin, adrelid)::bigint FROM pg_attrdef
            JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
            WHERE adrelid = $1::text::regclass AND attname = $2";
        assert_eq!(pipeline.one(query, &[&TABLE, name]).await.get::<_, i64>(0), *default, "column default of {name}");

        assert_eq!(takes(&pipeline.admin, name, *least).await, Ok(()), "{name} = {least}");
        assert_eq!(takes(&pipeline.admin, name, *most).await, Ok(()), "{name} = {most}");
        assert_eq!(
            takes(&pipeline.admin, name, least - 1).await,
            Err(CHECK_VIOLATION.to_owned()),
            "{name} = {least} - 1"
        );
        assert_eq!(
            takes(&pipeline.admin, name, most + 1).await,
            Err(CHECK_VIOLATION.to_owned()),
            "{name} = {most} + 1"
        );
    }
    pipeline.check_invariants().await;
}

#[tokio::test]
async fn every_number_of_the_settings_row_is_documented() {
    let pipeline = Pipeline::new().await;
    let query =
        "SELECT array_agg(column_name::text ORDER BY column_name::text COLLATE \"C\") FROM information_schema.columns
        WHERE table_schema || '.' || table_name = $1 AND data_type = 'integer'";
    let columns: Vec<String> = pipeline.one(query, &[&TABLE]).await.get(0);
    let mut names: Vec<String> = documented().into_iter().map(|(name, ..)| name).collect();
    names.sort();
    assert_eq!(columns, names);
}

#[tokio::test]
async fn every_switch_is_on_by_default() {
    let pipeline = Pipeline::new().await;
    let query = format!("SELECT claim_enabled AND compute_enabled AND publish_enabled AND work_enabled FROM {TABLE}");
    assert!(pipeline.one(&query, &[]).await.get::<_, bool>(0));
}

#[tokio::test]
async fn a_lease_must_be_longer_than_compute_and_publish_together() {
    let pipeline = Pipeline::new().await;
    let equal = format!("UPDATE {TABLE} SET compute_timeout_ms = 60000, publish_timeout_ms = 5000, lease_seconds = 65");
    assert_eq!(refusal(&pipeline.admin, &equal).await, CHECK_VIOLATION);
    let longer =
        format!("UPDATE {TABLE} SET compute_timeout_ms = 60000, publish_timeout_ms = 4999, lease_seconds = 65");
    assert_eq!(pipeline.run(&longer, &[]).await, 1);
    assert_eq!(
        refusal(&pipeline.admin, &format!("UPDATE {TABLE} SET compute_timeout_ms = 60001")).await,
        CHECK_VIOLATION
    );
}

#[tokio::test]
async fn the_publish_budget_is_below_the_limit_of_every_saving_role() {
    let pipeline = Pipeline::new().await;
    let query = "SELECT count(*) FROM pg_db_role_setting JOIN pg_roles ON pg_roles.oid = setrole
        WHERE rolname IN ('authenticated', 'service_role') AND 'statement_timeout=8s' = ANY (setconfig)";
    assert_eq!(pipeline.one(query, &[]).await.get::<_, i64>(0), 2);
    let query = "SELECT bool_and('lock_timeout=8s' = ANY (proconfig)) FROM pg_proc
        WHERE proname IN ('save_workout_v1', 'edit_workout_v1', 'delete_workout_v1')";
    assert!(pipeline.one(query, &[]).await.get::<_, bool>(0));
    let (_name, _default, _least, most) =
        documented().into_iter().find(|(name, ..)| name == "publish_timeout_ms").expect("it is documented");
    assert!(most < 8000);
}

#[tokio::test]
async fn a_second_settings_row_is_impossible() {
    let pipeline = Pipeline::new().await;
    assert_eq!(refusal(&pipeline.admin, &format!("INSERT INTO {TABLE} (id) VALUES (2)")).await, CHECK_VIOLATION);
    assert_eq!(refusal(&pipeline.admin, &format!("INSERT INTO {TABLE} DEFAULT VALUES")).await, "23505");
    assert_eq!(refusal(&pipeline.admin, &format!("UPDATE {TABLE} SET id = 2")).await, CHECK_VIOLATION);
}

#[tokio::test]
async fn the_settings_row_can_be_neither_deleted_nor_emptied() {
    let pipeline = Pipeline::new().await;
    assert_eq!(refusal(&pipeline.admin, &format!("DELETE FROM {TABLE}")).await, "23001");
    assert_eq!(refusal(&pipeline.admin, &format!("TRUNCATE {TABLE}")).await, "23001");
    assert_eq!(refusal(&pipeline.admin, &format!("UPDATE {TABLE} SET max_active = NULL")).await, "23502");
    assert_eq!(pipeline.one(&format!("SELECT count(*) FROM {TABLE}"), &[]).await.get::<_, i64>(0), 1);
}

#[tokio::test]
async fn the_history_of_settings_keeps_the_row_before_and_after_who_and_when() {
    let pipeline = Pipeline::new().await;
    pipeline.set("max_active", "5").await;
    let owner = pipeline.database.connect_as("tidemark_owner").await;
    let statement = format!("UPDATE {TABLE} SET max_active = 7, note = 'more of them', updated_at = '2001-01-01'");
    owner.batch_execute(&statement).await.unwrap();

    let query = "SELECT changed_by, old_row, new_row, changed_at > clock_timestamp() - interval '1 minute'
        FROM public.stats_projection_worker_settings_history ORDER BY id";
    let rows = pipeline.admin.query(query, &[]).await.unwrap();
    assert_eq!(rows.len(), 2);
    let superuser: String = pipeline.one("SELECT session_user::text", &[]).await.get(0);
    assert_eq!(rows[0].get::<_, String>(0), superuser);
    assert_eq!(rows[1].get::<_, String>(0), "tidemark_owner");
    let (Json(before), Json(after)) = (rows[1].get::<_, Json<Value>>(1), rows[1].get::<_, Json<Value>>(2));
    assert_eq!((&before["max_active"], &after["max_active"]), (&Value::from(5), &Value::from(7)));
    assert_eq!(after["note"], "more of them");
    assert!(rows[1].get::<_, bool>(3));
    let query = format!("SELECT updated_at > clock_timestamp() - interval '1 minute' FROM {TABLE}");
    assert!(pipeline.one(&query, &[]).await.get::<_, bool>(0), "the database says when, not the statement");
}

#[tokio::test]
async fn a_refused_change_of_settings_leaves_no_history() {
    let pipeline = Pipeline::new().await;
    assert_eq!(refusal(&pipeline.admin, &format!("UPDATE {TABLE} SET max_active = 0")).await, CHECK_VIOLATION);
    let query = "SELECT count(*) FROM public.stats_projection_worker_settings_history";
    assert_eq!(pipeline.one(query, &[]).await.get::<_, i64>(0), 0);
}
