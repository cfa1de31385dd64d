//! The client.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderName, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::answer::{discard, outcome_of};
use super::connection::{self, CONNECT_LIMIT, Stream, word_of};
use super::endpoint::Endpoint;
use super::outcome::Outcome;
use super::reach::Reach;

/// Names this project and its version to receivers.
const AGENT: HeaderValue = HeaderValue::from_static(concat!("tidemark/", env!("CARGO_PKG_VERSION")));
/// By this a receiver recognises a request that it has seen before.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Bytes of an answer's status line and headers.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The longest limit of a request; nothing that runs as a function lives longer.
const LIMIT_MAX: Duration = Duration::from_secs(900);

/// Sends requests, each over a connection of its own: between two of them an execution environment may be frozen for
/// hours.
pub struct Client {
    tls: TlsConnector,
    reach: Reach,
}

/// A request with a JSON body.
pub struct Post<'a> {
    /// Where to; `https` or `http`. A secret, whoever it belongs to.
    pub url: &'a SecretString,
    /// Sent as `Idempotency-Key`; the same for every attempt at the same thing. Visible ASCII.
    pub idempotency_key: &'a str,
    /// The body, a JSON text.
    pub body: Bytes,
    /// The longest that all of it may take, from resolving the name to the end of the answer; at most a quarter of an
    /// hour. Connecting has a limit of its own within, [`CONNECT_LIMIT`].
    pub limit: Duration,
}

impl Client {
    /// A client that trusts Mozilla's certificate authorities.
    ///
    /// # Errors
    /// Says in words what the TLS library lacks.
    pub fn new(reach: Reach) -> Result<Self, &'static str> {
        Self::trusting(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }, reach)
    }

    /// A client that trusts `authorities` and no others.
    ///
    /// # Errors
    /// Says in words what the TLS library lacks.
    pub fn trusting(authorities: RootCertStore, reach: Reach) -> Result<Self, &'static str> {
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|_| "the TLS library offers no protocol version")?
            .with_root_certificates(authorities)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { tls: TlsConnector::from(Arc::new(config)), reach })
    }

    /// Sends `post` and says what became of it. Never longer than its limit.
    pub async fn post(&self, post: &Post<'_>) -> Outcome {
        self.post_with_headers(post, &HeaderMap::new()).await
    }

    /// As [`Client::post`], with more headers. Ours stand where both name the same.
    pub async fn post_with_headers(&self, post: &Post<'_>, headers: &HeaderMap) -> Outcome {
        let deadline = Instant::now() + post.limit.min(LIMIT_MAX);
        match self.send(post, headers, deadline).await {
            Ok(outcome) | Err(outcome) => outcome,
        }
    }

    /// Errors are outcomes as well: those in which there was no answer.
    async fn send(&self, post: &Post<'_>, headers: &HeaderMap, deadline: Instant) -> Result<Outcome, Outcome> {
        let endpoint = Endpoint::parse(post.url.expose_secret()).map_err(|fault| Outcome::permanent(fault.word()))?;
        let request = request(&endpoint, post, headers)?;
        let connect_deadline = deadline.min(Instant::now() + CONNECT_LIMIT);
        let stream = connection::open(&endpoint, self.reach, &self.tls, connect_deadline).await?;
        exchange(stream, request, deadline).await
    }
}

fn request(endpoint: &Endpoint, post: &Post<'_>, headers: &HeaderMap) -> Result<Request<Full<Bytes>>, Outcome> {
    let key = HeaderValue::from_str(post.idempotency_key).map_err(|_| Outcome::permanent("idempotency_key_invalid"))?;
    let invalid = |_| Outcome::permanent("url_invalid");
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(endpoint.path().as_str())
        .body(Full::new(post.body.clone()))
        .map_err(invalid)?;
    let host = HeaderValue::from_str(endpoint.authority().as_str()).map_err(|_| Outcome::permanent("url_invalid"))?;
    let ours = request.headers_mut();
    *ours = headers.clone();
    ours.insert(HOST, host);
    ours.insert(USER_AGENT, AGENT);
    ours.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    ours.insert(CONNECTION, HeaderValue::from_static("close"));
    ours.insert(IDEMPOTENCY_KEY, key);
    Ok(request)
}

async fn exchange(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
    deadline: Instant,
) -> Result<Outcome, Outcome> {
    let handshake = http1::Builder::new().max_buf_size(HEAD_BYTES_MAX).handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| Outcome::retry(word_of_http(&error)))?;
    let answering = async {
        let response = timeout_at(deadline, sender.send_request(request)).await;
        let response = response.map_err(|_elapsed| Outcome::retry("timeout"))?;
        let (head, body) = response.map_err(|error| Outcome::retry(word_of_http(&error)))?.into_parts();
        let outcome = outcome_of(head.status.as_u16(), &head.headers, Timestamp::now());
        // The status line has decided: a body that is late or breaks off changes nothing.
        let _ended = timeout_at(deadline, discard(body)).await;
        Ok(outcome)
    };
    let mut answering = std::pin::pin!(answering);
    tokio::select! {
        outcome = &mut answering => outcome,
        // The connection may be over before the last of the answer is looked at; its errors reach the sender as well.
        _ended = connection => answering.await,
    }
}

fn word_of_http(error: &hyper::Error) -> &'static str {
    if error.is_parse() || error.is_parse_too_large() {
        return "answer_invalid";
    }
    match error.source().and_then(|cause| cause.downcast_ref::<io::Error>()) {
        Some(cause) => word_of(cause),
        None => "closed",
    }
}
