//! How the server refuses.

use tokio_postgres::Client;
use tokio_postgres::types::{Json, ToSql};

/// The rights are missing.
pub(crate) const FORBIDDEN: &str = "42501";

/// A refusal: SQLSTATE, and everything that the error says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: String,
    pub(crate) text: String,
}

impl Refusal {
    pub(crate) fn of(error: &tokio_postgres::Error) -> Self {
        let database = error.as_db_error().unwrap_or_else(|| panic!("the connection broke: {error:?}"));
        Self { code: database.code().code().to_owned(), text: format!("{database:?}") }
    }
}

/// How `statement` is refused; `None` where it is not.
pub(crate) async fn refusal(client: &Client, statement: &str, parameters: &[&(dyn ToSql + Sync)]) -> Option<Refusal> {
    client.query(statement, parameters).await.err().map(|error| Refusal::of(&error))
}

/// SQLSTATE of a simple statement; `None` where it is not refused. Whatever it did is rolled back.
pub(crate) async fn code_of(client: &Client, statement: &str) -> Option<String> {
    client.batch_execute("BEGIN").await.unwrap();
    let outcome = client.batch_execute(statement).await;
    client.batch_execute("ROLLBACK").await.unwrap();
    outcome.err().map(|error| Refusal::of(&error).code)
}

/// Takes on a role as the gateway of an application does: SET ROLE with the verified claims of the request.
pub(crate) async fn become_role(client: &Client, role: &str, claims: Option<serde_json::Value>) {
    let claims = claims.map(Json);
    let set =
        "SELECT set_config('role', $1, false), set_config('request.jwt.claims', coalesce($2::jsonb::text, ''), false)";
    client.execute(set, &[&role, &claims]).await.unwrap();
}
