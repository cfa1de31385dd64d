//! What is granted, read from the catalogue. `roles.rs` tries it.

use tidemark_testkit::TestDatabase;
use tokio_postgres::Client;

use crate::refusal::{FORBIDDEN, code_of};

async fn granted(admin: &Client) -> String {
    // Names are printed with their schema where it is not in the path.
    admin.batch_execute("SET search_path = pg_catalog").await.unwrap();
    let rows = admin.query(include_str!("sql/grants.sql"), &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// The first column of every row: what is wrong.
async fn found(admin: &Client, query: &str) -> Vec<String> {
    admin.query(query, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Where a change is meant, `INSTA_UPDATE=always cargo test -p tidemark-tests --test security` writes the snapshot anew.
#[tokio::test]
async fn each_role_may_do_what_the_snapshot_says_and_nothing_else() {
    let database = TestDatabase::new().await;
    insta::assert_snapshot!("grants", granted(&database.admin().await).await);
}

#[tokio::test]
async fn the_grants_are_the_same_where_the_server_opens_new_objects_to_the_application_by_default() {
    let database = TestDatabase::new().await;
    let expected = granted(&database.admin().await).await;
    let open = TestDatabase::empty().await;
    let mut admin = open.admin().await;
    admin
        .batch_execute(
            "ALTER DEFAULT PRIVILEGES FOR ROLE tidemark_owner IN SCHEMA public
                GRANT ALL ON TABLES TO anon, authenticated, service_role;
            ALTER DEFAULT PRIVILEGES FOR ROLE tidemark_owner IN SCHEMA public
                GRANT ALL ON SEQUENCES TO anon, authenticated, service_role;
            ALTER DEFAULT PRIVILEGES FOR ROLE tidemark_owner IN SCHEMA public
                GRANT ALL ON FUNCTIONS TO anon, authenticated, service_role",
        )
        .await
        .unwrap();
    tidemark_migrations::migrate(&mut admin).await.unwrap();
    assert_eq!(granted(&admin).await, expected);
}

#[tokio::test]
async fn every_function_runs_as_the_owner_with_a_path_that_ends_in_the_temporary_schema() {
    let database = TestDatabase::new().await;
    let query = "SELECT routine.oid::regprocedure::text FROM pg_proc AS routine
        WHERE routine.pronamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
            AND NOT (routine.prosecdef
                AND routine.proowner = 'tidemark_owner'::regrole
                AND 'search_path=pg_catalog, pg_temp' = ANY (coalesce(routine.proconfig, '{}')))";
    assert_eq!(found(&database.admin().await, query).await, Vec::<String>::new());
}

#[tokio::test]
async fn no_function_may_be_executed_by_everybody() {
    let database = TestDatabase::new().await;
    let query = "SELECT routine.oid::regprocedure::text FROM pg_proc AS routine
        WHERE routine.pronamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
            AND has_function_privilege('public', routine.oid, 'execute')";
    assert_eq!(found(&database.admin().await, query).await, Vec::<String>::new());
}

#[tokio::test]
async fn every_table_belongs_to_the_owner_and_has_row_level_security() {
    let database = TestDatabase::new().await;
    let query = "SELECT relation.oid::regclass::text FROM pg_class AS relation
        WHERE relation.relkind IN ('r', 'p') AND relation.relnamespace IN ('public'::regnamespace, 'tidemark'::regnamespace)
            AND NOT (relation.relrowsecurity AND relation.relowner = 'tidemark_owner'::regrole)";
    assert_eq!(found(&database.admin().await, query).await, Vec::<String>::new());
}

#[tokio::test]
async fn no_role_of_ours_is_powerful_and_only_the_worker_logs_in() {
    let database = TestDatabase::new().await;
    let query = "SELECT rolname::text FROM pg_roles
        WHERE rolname IN ('anon', 'authenticated', 'service_role', 'tidemark_owner', 'tidemark_worker')
            AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls OR rolinherit
                OR rolcanlogin <> (rolname = 'tidemark_worker'))
        UNION ALL
        SELECT member.rolname || ' is a member of ' || granted.rolname
        FROM pg_auth_members AS membership
        JOIN pg_roles AS member ON member.oid = membership.member
        JOIN pg_roles AS granted ON granted.oid = membership.roleid
        WHERE member.rolname IN ('anon', 'authenticated', 'service_role', 'tidemark_owner', 'tidemark_worker')";
    assert_eq!(found(&database.admin().await, query).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_function_that_the_owner_makes_later_is_closed_to_everybody() {
    let database = TestDatabase::new().await;
    let admin = database.admin().await;
    let later = "SET ROLE tidemark_owner;
        CREATE FUNCTION tidemark.later() RETURNS integer LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION public.later() RETURNS integer LANGUAGE sql AS 'SELECT 1';
        CREATE TABLE public.later_table (a integer);
        RESET ROLE";
    admin.batch_execute(later).await.unwrap();
    for role in ["anon", "authenticated", "service_role", "tidemark_worker"] {
        let client = database.connect_as(role).await;
        for statement in ["SELECT tidemark.later()", "SELECT public.later()", "SELECT * FROM public.later_table"] {
            assert_eq!(code_of(&client, statement).await.as_deref(), Some(FORBIDDEN), "{role}: {statement}");
        }
    }
}
