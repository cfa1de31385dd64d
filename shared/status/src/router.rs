//! Which path answers what, to whom.

use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::{Value, json};
use tidemark_queue::Connection;
use tidemark_runbook::Symptom;

use crate::document::Document;
use crate::page::Page;
use crate::readiness::Readiness;
use crate::{Tokens, attention, metrics, reading, response};

/// The longest body that a request may announce. None is of use here, and none is read.
const BODY_LIMIT_BYTES: u64 = 16 * 1024;

/// What all this is, for machines.
const DESCRIPTION: &str = include_str!("openapi.json");
const DESCRIPTION_TYPE: HeaderValue = HeaderValue::from_static("application/json");

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Page,
    Dashboard,
    Document,
    Health,
    Readiness,
    Metrics,
    Description,
}

impl Place {
    fn at(path: &str) -> Option<Self> {
        Some(match path {
            // Some gateways hand over no path at all for the root.
            "/" | "" => Self::Page,
            "/dashboard" => Self::Dashboard,
            "/stats-process-refresh-jobs" => Self::Document,
            "/healthz" => Self::Health,
            "/readyz" => Self::Readiness,
            "/metrics" => Self::Metrics,
            "/openapi.json" => Self::Description,
            _ => return None,
        })
    }

    fn needs_token(self) -> bool {
        matches!(self, Self::Dashboard | Self::Document | Self::Metrics)
    }

    fn needs_database(self) -> bool {
        !matches!(self, Self::Page | Self::Health | Self::Description)
    }
}

/// Answers requests, whoever serves them. It keeps nothing between them.
#[derive(Debug, Clone)]
pub struct Router {
    tokens: Tokens,
    page: Page,
}

impl Router {
    /// A router that lets in whoever has one of `tokens`.
    #[must_use]
    pub fn new(tokens: Tokens) -> Self {
        Self { tokens, page: Page::new() }
    }

    /// Whether answering this request uses the database. A server may answer the others without waiting for the connection.
    #[must_use]
    pub fn needs_database(&self, request: &Parts) -> bool {
        self.refusal(request).is_none() && Place::at(request.uri.path()).is_some_and(Place::needs_database)
    }

    /// Answers one request. Bodies of requests are not looked at; `connection` is used only where the path needs it and the
    /// request may have the answer.
    pub async fn answer(&self, request: &Parts, connection: &mut Connection) -> Response<String> {
        let mut answer = match (self.refusal(request), Place::at(request.uri.path())) {
            (Some(refusal), _) => refusal,
            (None, Some(place)) => self.answer_at(place, connection).await,
            (None, None) => response::not_found(),
        };
        if request.method == Method::HEAD {
            answer.body_mut().clear();
        }
        answer
    }

    /// The answer to a request that goes no further: unknown path, other method, OPTIONS, a large body, no token.
    fn refusal(&self, request: &Parts) -> Option<Response<String>> {
        let Some(place) = Place::at(request.uri.path()) else {
            return Some(response::not_found());
        };
        match request.method {
            Method::GET | Method::HEAD => {}
            Method::OPTIONS => return Some(response::options()),
            _ => return Some(response::method_not_allowed()),
        }
        if announced_body_bytes(request) > BODY_LIMIT_BYTES {
            return Some(response::too_large());
        }
        (place.needs_token() && !self.tokens.admit(&request.headers)).then(response::unauthorized)
    }

    async fn answer_at(&self, place: Place, connection: &mut Connection) -> Response<String> {
        match place {
            Place::Page => self.page.answer(),
            Place::Health => response::document(StatusCode::OK, &json!({"status": "ok"})),
            Place::Description => response::with_body(StatusCode::OK, DESCRIPTION_TYPE, DESCRIPTION.to_owned()),
            Place::Readiness => readiness(&Readiness::check(connection).await),
            Place::Dashboard => match reading::dashboard(connection).await {
                Ok((value, beside)) => dashboard(value, beside),
                Err(error) => response::from_database(&error),
            },
            Place::Document | Place::Metrics => match reading::read(connection).await {
                Ok(value) => from_document(place, value),
                Err(error) => response::from_database(&error),
            },
        }
    }
}

/// The length that the request announces; a length that is none is more than any limit.
fn announced_body_bytes(request: &Parts) -> u64 {
    let announced = request.headers.get(CONTENT_LENGTH);
    announced.map_or(0, |value| value.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX))
}

fn from_document(place: Place, value: Value) -> Response<String> {
    if place == Place::Document {
        return response::document(StatusCode::OK, &json!({"worker_status": value}));
    }
    let Ok(document) = Document::from_value(&value) else {
        return unknown_form();
    };
    match metrics::text(&document) {
        Ok(text) => response::with_body(StatusCode::OK, metrics::CONTENT_TYPE, text),
        Err(_formatting) => {
            response::error(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the metrics could not be written")
        }
    }
}

/// What the page shows: the document, what needs attention, and what stands `beside` them, each alert with its section of the guide.
fn dashboard(value: Value, mut beside: Value) -> Response<String> {
    let Ok(document) = Document::from_value(&value) else {
        return unknown_form();
    };
    for alert in beside["alerts"].as_array_mut().into_iter().flatten() {
        let symptom = alert["kind"].as_str().and_then(Symptom::of_alert).unwrap_or(Symptom::OpenAlerts);
        alert["section"] = json!(symptom.section());
    }
    beside["worker_status"] = value;
    beside["attention"] = json!(attention::of(&document));
    response::document(StatusCode::OK, &beside)
}

fn unknown_form() -> Response<String> {
    let message = "the status document has another form than this build knows";
    response::error(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
}

fn readiness(readiness: &Readiness) -> Response<String> {
    if readiness.is_ready() {
        return response::document(StatusCode::OK, &json!({"status": "ready", "checks": readiness.to_json()}));
    }
    let error = json!({"code": "not_ready", "message": "at least one check failed"});
    response::document(
        StatusCode::SERVICE_UNAVAILABLE,
        &json!({"status": "not_ready", "checks": readiness.to_json(), "runbook": readiness.runbook(), "error": error}),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::Request;
    use http::header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, WWW_AUTHENTICATE};
    use secrecy::SecretString;
    use tidemark_queue::{Connect, ConnectFuture, Error};

    use super::*;

    /// A database that is away; counts how often it was asked for.
    #[derive(Default)]
    struct Away(AtomicUsize);

    impl Connect for Away {
        fn connect(&self) -> ConnectFuture<'_> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(async { Err(Error::Unavailable { reason: "refused".to_owned() }) })
        }
    }

    const BEHIND_THE_TOKEN: [&str; 3] = ["/stats-process-refresh-jobs", "/dashboard", "/metrics"];
    const IN_THE_OPEN: [&str; 4] = ["/", "/healthz", "/readyz", "/openapi.json"];

    fn request(method: &str, path: &str, authorization: &[&str]) -> Parts {
        let mut builder = Request::builder().method(method).uri(path);
        for value in authorization {
            builder = builder.header(AUTHORIZATION, *value);
        }
        builder.body(()).expect("a request").into_parts().0
    }

    /// The answer, and how often the database was asked for.
    async fn answer(tokens: &str, parts: &Parts) -> (Response<String>, usize) {
        let away = Arc::new(Away::default());
        let mut connection = Connection::new(away.clone());
        let router = Router::new(Tokens::from_list(&SecretString::from(tokens)));
        let needed = router.needs_database(parts);
        let answer = router.answer(parts, &mut connection).await;
        let asked = away.0.load(Ordering::SeqCst);
        assert_eq!(needed, asked > 0, "{parts:?}");
        assert_eq!(answer.headers()[CACHE_CONTROL], "no-store");
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
        (answer, asked)
    }

    fn error_code(answer: &Response<String>) -> String {
        let body: Value = serde_json::from_str(answer.body()).expect("JSON");
        let message = body["error"]["message"].as_str().expect("a message");
        assert!(!message.is_empty());
        body["error"]["code"].as_str().expect("a code").to_owned()
    }

    #[tokio::test]
    async fn whatever_is_behind_the_token_answers_401_without_asking_the_database() {
        let long = format!("Bearer {}", "x".repeat(8192));
        let cases: [&[&str]; 6] =
            [&[], &["Bearer wrong"], &["Basic right"], &["Bearer right", "Bearer right"], &["right"], &[long.as_str()]];
        for path in BEHIND_THE_TOKEN {
            for authorization in cases {
                let (answer, asked) = answer("right,other", &request("GET", path, authorization)).await;
                assert_eq!(answer.status(), 401, "{path} {authorization:?}");
                assert_eq!(answer.headers()[WWW_AUTHENTICATE], "Bearer");
                assert_eq!(error_code(&answer), "unauthorized");
                assert_eq!(asked, 0);
            }
        }
    }

    #[tokio::test]
    async fn a_token_in_the_query_string_lets_nobody_in() {
        for query in ["token=right", "access_token=right", "authorization=Bearer%20right"] {
            let path = format!("/stats-process-refresh-jobs?{query}");
            assert_eq!(answer("right", &request("GET", &path, &[])).await.0.status(), 401);
        }
    }

    #[tokio::test]
    async fn without_a_configured_token_everything_behind_one_is_closed() {
        for path in BEHIND_THE_TOKEN {
            for authorization in [&["Bearer "][..], &["Bearer right"], &[]] {
                assert_eq!(answer("", &request("GET", path, authorization)).await.0.status(), 401, "{path}");
            }
        }
    }

    #[tokio::test]
    async fn each_of_several_tokens_reaches_the_database() {
        for path in BEHIND_THE_TOKEN {
            for token in ["Bearer right", "Bearer other"] {
                let (answer, asked) = answer("right,other", &request("GET", path, &[token])).await;
                assert_eq!(answer.status(), 503, "{path}");
                assert_eq!(error_code(&answer), "database_unavailable");
                assert_eq!(asked, 1);
            }
        }
    }

    #[tokio::test]
    async fn other_methods_are_refused_with_what_is_allowed_and_unknown_paths_are_not_found() {
        for path in BEHIND_THE_TOKEN.into_iter().chain(IN_THE_OPEN) {
            for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"] {
                let (answer, _asked) = answer("right", &request(method, path, &["Bearer right"])).await;
                assert_eq!(answer.status(), 405, "{method} {path}");
                assert_eq!(answer.headers()[ALLOW], "GET, HEAD, OPTIONS");
                assert_eq!(error_code(&answer), "method_not_allowed");
            }
        }
        for method in ["GET", "POST", "OPTIONS"] {
            let (answer, _asked) = answer("right", &request(method, "/metrics/", &["Bearer right"])).await;
            assert_eq!(answer.status(), 404, "{method}");
        }
    }

    #[tokio::test]
    async fn options_says_what_is_allowed_without_a_token_and_without_a_body() {
        let (answer, asked) = answer("right", &request("OPTIONS", "/metrics", &[])).await;
        assert_eq!((answer.status().as_u16(), asked), (204, 0));
        assert_eq!(answer.headers()[ALLOW], "GET, HEAD, OPTIONS");
        assert!(answer.body().is_empty());
    }

    #[tokio::test]
    async fn head_has_the_status_and_headers_of_get_and_no_body() {
        for (path, authorization) in [("/", &[][..]), ("/healthz", &[]), ("/readyz", &[]), ("/metrics", &[])] {
            let (get, _asked) = answer("right", &request("GET", path, authorization)).await;
            let (head, _asked) = answer("right", &request("HEAD", path, authorization)).await;
            assert_eq!((head.status(), head.headers()), (get.status(), get.headers()), "{path}");
            assert!(head.body().is_empty() && !get.body().is_empty(), "{path}");
        }
    }

    #[tokio::test]
    async fn health_page_and_description_touch_no_database() {
        for path in ["/", "/healthz", "/openapi.json"] {
            let (answer, asked) = answer("", &request("GET", path, &[])).await;
            assert_eq!((answer.status().as_u16(), asked), (200, 0), "{path}");
        }
        let (page, _asked) = answer("", &request("GET", "/", &[])).await;
        assert!(page.headers().contains_key(CONTENT_SECURITY_POLICY));
    }

    #[tokio::test]
    async fn readiness_names_the_database_that_is_away() {
        let (answer, _asked) = answer("", &request("GET", "/readyz", &[])).await;
        assert_eq!(answer.status(), 503);
        assert_eq!(error_code(&answer), "not_ready");
        let body: Value = serde_json::from_str(answer.body()).expect("JSON");
        assert_eq!(body["checks"]["database"], "failed");
        assert_eq!(body["checks"]["ticks_claim"], "unknown");
        assert_eq!(body["runbook"], json!({"database": "docs/OPERATIONS.md#database_unreachable"}));
    }

    #[tokio::test]
    async fn a_large_body_is_refused_before_the_token_and_the_database_are_looked_at() {
        let announcing = |length: &str| {
            let builder = Request::builder().uri("/metrics").header(CONTENT_LENGTH, length);
            builder.body(()).expect("a request").into_parts().0
        };
        for (length, status) in [("0", 401), ("16384", 401), ("16385", 413), ("-1", 413), ("99999999999999999999", 413)]
        {
            let (answer, asked) = answer("right", &announcing(length)).await;
            assert_eq!((answer.status().as_u16(), asked), (status, 0), "{length}");
            assert_eq!(error_code(&answer), if status == 413 { "payload_too_large" } else { "unauthorized" });
        }
    }

    #[tokio::test]
    async fn the_description_names_every_path_with_the_token_that_it_needs() {
        let (answer, _asked) = answer("", &request("GET", "/openapi.json", &[])).await;
        let description: Value = serde_json::from_str(answer.body()).expect("JSON");
        assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
        let paths = description["paths"].as_object().expect("paths");
        let known: Vec<&str> = BEHIND_THE_TOKEN.into_iter().chain(IN_THE_OPEN).collect();
        assert_eq!(paths.len(), known.len());
        for path in known {
            assert!(Place::at(path).is_some(), "{path}");
            let behind = paths[path]["get"]["security"] == json!([{"token": []}]);
            assert_eq!(behind, BEHIND_THE_TOKEN.contains(&path), "{path}");
        }
    }
}
