//! The answers' shape: one for documents, one for errors, the same headers on all.

use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};
use tidemark_queue::{Error, SchemaMismatch};

/// What every known path allows.
const ALLOWED: HeaderValue = HeaderValue::from_static("GET, HEAD, OPTIONS");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An answer with `body`.
pub(crate) fn with_body(status: StatusCode, content_type: HeaderValue, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    set(&mut response, CONTENT_TYPE, content_type);
    set(&mut response, CACHE_CONTROL, HeaderValue::from_static("no-store"));
    set(&mut response, X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A JSON document.
pub(crate) fn document(status: StatusCode, value: &Value) -> Response<String> {
    with_body(status, JSON, value.to_string())
}

/// An error, in the one shape that all have.
pub(crate) fn error(status: StatusCode, code: &str, message: &str) -> Response<String> {
    document(status, &json!({"error": {"code": code, "message": message}}))
}

/// 401, the same whatever was wrong.
pub(crate) fn unauthorized() -> Response<String> {
    let message = "send one header `Authorization: Bearer TOKEN` with a configured token";
    let mut response = error(StatusCode::UNAUTHORIZED, "unauthorized", message);
    set(&mut response, WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// 404.
pub(crate) fn not_found() -> Response<String> {
    error(StatusCode::NOT_FOUND, "not_found", "there is nothing at this path")
}

/// 405 with what is allowed.
pub(crate) fn method_not_allowed() -> Response<String> {
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "use GET or HEAD");
    set(&mut response, ALLOW, ALLOWED);
    response
}

/// 413. The body has not been read, so that the connection cannot go on.
pub(crate) fn too_large() -> Response<String> {
    let mut response = error(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", "send the request without a body");
    set(&mut response, CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The answer to OPTIONS.
pub(crate) fn options() -> Response<String> {
    let mut response = with_body(StatusCode::NO_CONTENT, JSON, String::new());
    response.headers_mut().remove(CONTENT_TYPE);
    set(&mut response, ALLOW, ALLOWED);
    response
}

/// What an error of the database becomes. Its own text stays here.
pub(crate) fn from_database(cause: &Error) -> Response<String> {
    tracing::warn!(error.code = cause.code(), "the status document could not be read");
    match cause {
        Error::SchemaMismatch(SchemaMismatch::Missing) => error(
            StatusCode::SERVICE_UNAVAILABLE,
            "schema_missing",
            "the database is not migrated; apply the migrations",
        ),
        Error::SchemaMismatch(mismatch) => error(StatusCode::SERVICE_UNAVAILABLE, cause.code(), &mismatch.to_string()),
        Error::Database { code, .. } if code == "42501" => error(
            StatusCode::SERVICE_UNAVAILABLE,
            "permission_denied",
            "this role may not read the status document; connect as the worker role",
        ),
        Error::Database { .. } | Error::Invalid(_) | Error::Stale => {
            error(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the status document could not be read; see the log")
        }
        _ => {
            let message = "the database cannot be reached or is busy; try again";
            let mut response = error(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", message);
            set(&mut response, RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
    }
}

/// Sets one header.
pub(crate) fn set(response: &mut Response<String>, name: HeaderName, value: HeaderValue) {
    response.headers_mut().insert(name, value);
}
