//! What stands before a function in the cloud: HTTP in, events of a function URL to the real binary, its answers out.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tidemark_testkit::Simulator;
use tidemark_tests::{Pipeline, binaries};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Nothing here takes this long unless it hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// A function behind a port of this machine, until it is dropped.
pub(crate) struct Gateway {
    /// Host and port.
    pub(crate) address: String,
    accepting: JoinHandle<()>,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Gateway {
    /// The status function on the pipeline's database, as the worker role.
    pub(crate) async fn start(pipeline: &Pipeline, tokens: &str) -> Self {
        let binary = tokio::task::spawn_blocking(|| binaries::function("status")).await.unwrap();
        let database_url = pipeline.database.url_for("tidemark_worker");
        let environment = [("DATABASE_URL", database_url), ("STATUS_TOKENS", tokens.to_owned())];
        let function = Arc::new(Simulator::start(binary, environment).await.unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        Self { address, accepting: tokio::spawn(accept(listener, function)) }
    }
}

async fn accept(listener: TcpListener, function: Arc<Simulator>) {
    while let Ok((stream, _peer)) = listener.accept().await {
        let function = Arc::clone(&function);
        let service = service_fn(move |request: Request<Incoming>| {
            let function = Arc::clone(&function);
            async move { Ok::<_, Infallible>(answer(&function, request).await) }
        });
        tokio::spawn(async move { http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok() });
    }
}

async fn answer(function: &Simulator, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let answer = function.invoke(event(&request), LIMIT).await.expect("the function answers every event");
    let mut response = Response::builder().status(u16::try_from(answer["statusCode"].as_u64().unwrap()).unwrap());
    for (name, value) in answer["headers"].as_object().unwrap() {
        response = response.header(name, value.as_str().unwrap());
    }
    let body = answer["body"].as_str().unwrap_or_default();
    // Media types that the function's library does not know as text travel encoded.
    let body = if answer["isBase64Encoded"] == true { STANDARD.decode(body).unwrap() } else { body.into() };
    response.body(Full::from(body)).unwrap()
}

/// The request as a function URL hands it over; of a body only what its headers say.
fn event(request: &Request<Incoming>) -> Value {
    let path = request.uri().path();
    json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": request.uri().query().unwrap_or_default(),
        "headers": headers(request.headers()),
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "status",
            "domainName": "status.example.test",
            "domainPrefix": "status",
            "http": {
                "method": request.method().as_str(),
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "test",
            },
            "requestId": "request",
            "routeKey": "$default",
            "stage": "$default",
            "time": "19/Jul/2026:17:30:00 +0000",
            "timeEpoch": 1_784_482_200_000_i64,
        },
        "isBase64Encoded": false,
    })
}

/// One value by lower-case name, several joined by commas.
fn headers(headers: &HeaderMap) -> Value {
    let joined = |name| {
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        values.collect::<Vec<_>>().join(",")
    };
    headers.keys().map(|name| (name.to_string(), json!(joined(name)))).collect::<Map<_, _>>().into()
}
