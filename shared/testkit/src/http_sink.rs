//! A receiver of HTTP requests on this machine that answers by a script.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use http::header::{LOCATION, RETRY_AFTER};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::RootCertStore;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::SinkCertificate;
use crate::sink_certificate::authorities_and_tls;

/// The longest that a wait for the sink may take.
const WAIT_LIMIT: Duration = Duration::from_secs(10);
/// Bytes in each piece of an endless body.
const PIECE_SIZE: usize = 16 * 1024;
/// A text that must not reach whoever sends: it stands in every body that a sink answers with.
const BODY: &str = "answer-body-canary";

type Body = BoxBody<Bytes, io::Error>;

/// How a sink answers one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkAnswer {
    /// This status and a short body.
    Status(u16),
    /// This status and this `Retry-After`.
    RetryAfter(u16, String),
    /// This status, and that it is elsewhere.
    Redirect(u16, String),
    /// Nothing until [`HttpSink::release`], then 200.
    Held,
    /// 200 and a body of which the second half comes after [`HttpSink::release`].
    HeldBody,
    /// 200 and a body that does not end.
    EndlessBody,
    /// Closes when the request is there, before anything is answered.
    Cut,
    /// 200 and half of a body, then closes.
    CutBody,
    /// Bytes that are no HTTP.
    Noise,
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub struct SinkRequest {
    /// Its method.
    pub method: Method,
    /// Path and query, as they were sent.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// A receiver that answers a list in the order of the requests; its last answer is given again and again, and 200 where the
/// list is empty. Goes with all its connections when it is dropped.
#[derive(Debug)]
pub struct HttpSink {
    address: SocketAddr,
    authorities: Option<RootCertStore>,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    answers: Mutex<VecDeque<SinkAnswer>>,
    requests: watch::Sender<Vec<SinkRequest>>,
    connections: watch::Sender<Connections>,
    released: watch::Sender<bool>,
}

/// Connections that were made, and how many of them are over.
#[derive(Debug, Default, Clone, Copy)]
struct Connections {
    made: usize,
    over: usize,
}

impl HttpSink {
    /// A sink for plain HTTP.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(answers: impl IntoIterator<Item = SinkAnswer>) -> Self {
        Self::listen(answers, None).await
    }

    /// A sink for HTTPS that shows this certificate.
    ///
    /// # Panics
    /// When no port is free or the certificate cannot be made.
    pub async fn start_encrypted(certificate: SinkCertificate, answers: impl IntoIterator<Item = SinkAnswer>) -> Self {
        Self::listen(answers, Some(authorities_and_tls(certificate))).await
    }

    async fn listen(
        answers: impl IntoIterator<Item = SinkAnswer>,
        encryption: Option<(RootCertStore, TlsAcceptor)>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            answers: Mutex::new(answers.into_iter().collect()),
            requests: watch::Sender::new(Vec::new()),
            connections: watch::Sender::new(Connections::default()),
            released: watch::Sender::new(false),
        });
        let (authorities, tls) = encryption.unzip();
        let accepting = tokio::spawn(accept(listener, tls, Arc::clone(&shared)));
        Self { address, authorities, shared, accepting }
    }

    /// Its URL with this path: host `localhost` where it shows a certificate, its address otherwise.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        match self.authorities {
            Some(_) => format!("https://localhost:{}{path}", self.address.port()),
            None => format!("http://{}{path}", self.address),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The authority that its certificate should be signed by; empty for plain HTTP.
    #[must_use]
    pub fn authorities(&self) -> RootCertStore {
        self.authorities.clone().unwrap_or_else(RootCertStore::empty)
    }

    /// Lets everything that is held go on, now and from now on.
    pub fn release(&self) {
        self.shared.released.send_replace(true);
    }

    /// The requests that have arrived whole, in their order.
    #[must_use]
    pub fn requests(&self) -> Vec<SinkRequest> {
        self.shared.requests.borrow().clone()
    }

    /// Connections that were made so far, whether or not a request came.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.borrow().made
    }

    /// Waits until `count` requests have arrived.
    ///
    /// # Panics
    /// When they have not within ten seconds.
    pub async fn until_requested(&self, count: usize) {
        let mut requests = self.shared.requests.subscribe();
        let arrived = requests.wait_for(|requests| requests.len() >= count);
        tokio::time::timeout(WAIT_LIMIT, arrived).await.expect("the requests arrive").expect("a sink");
    }

    /// Waits until every connection that was made is over, by whichever side.
    ///
    /// # Panics
    /// When they are not within ten seconds.
    pub async fn until_left(&self) {
        let mut connections = self.shared.connections.subscribe();
        let left = connections.wait_for(|connections| connections.over == connections.made);
        tokio::time::timeout(WAIT_LIMIT, left).await.expect("the connections end").expect("a sink");
    }
}

impl Drop for HttpSink {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    /// The list is whole after every change, so a panic elsewhere does not spoil it.
    fn answers(&self) -> MutexGuard<'_, VecDeque<SinkAnswer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_answer(&self) -> SinkAnswer {
        let mut answers = self.answers();
        match answers.len() {
            0 => SinkAnswer::Status(200),
            1 => answers[0].clone(),
            _ => answers.pop_front().unwrap_or(SinkAnswer::Status(200)),
        }
    }

    async fn until_released(&self) {
        // Ends with the sink at the latest.
        let mut released = self.released.subscribe();
        let _released = released.wait_for(|released| *released).await;
    }
}

/// Serves connections until it is aborted, and all of them with it.
async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _address)) = listener.accept().await {
        shared.connections.send_modify(|connections| connections.made += 1);
        let (tls, shared) = (tls.clone(), Arc::clone(&shared));
        connections.spawn(async move {
            // A broken connection is what a sink is for: the client sees it and nobody else needs to.
            let _broken = secure_and_serve(stream, tls, &shared).await;
            shared.connections.send_modify(|connections| connections.over += 1);
        });
    }
}

async fn secure_and_serve(stream: TcpStream, tls: Option<TlsAcceptor>, shared: &Arc<Shared>) -> io::Result<()> {
    match tls {
        None => serve(stream, shared).await,
        Some(tls) => serve(tls.accept(stream).await?, shared).await,
    }
}

/// Serves requests until the client leaves or an answer ends the connection.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, shared: &Arc<Shared>) -> io::Result<()> {
    let noise = Arc::new(AtomicBool::new(false));
    let service = service_fn(|request| {
        let (shared, noise) = (Arc::clone(shared), Arc::clone(&noise));
        // Boxed, because the connection is polled in place below.
        Box::pin(async move {
            let answer = take(request, &shared).await?;
            noise.store(answer == SinkAnswer::Noise, Ordering::Relaxed);
            respond(answer, shared).await
        })
    });
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let served = std::future::poll_fn(|context| connection.poll_without_shutdown(context)).await;
    let mut stream = connection.into_parts().io.into_inner();
    if noise.load(Ordering::Relaxed) {
        stream.write_all(b"SSH-2.0-noise\r\n\r\n").await?;
    }
    stream.shutdown().await?;
    served.map_err(io::Error::other)
}

/// Takes a request in whole and draws its answer.
async fn take(request: Request<Incoming>, shared: &Shared) -> io::Result<SinkAnswer> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let request = SinkRequest { method: head.method, path, headers: head.headers, body };
    let answer = shared.next_answer();
    shared.requests.send_modify(|requests| requests.push(request));
    Ok(answer)
}

/// An error closes the connection.
async fn respond(answer: SinkAnswer, shared: Arc<Shared>) -> io::Result<Response<Body>> {
    let builder = match &answer {
        SinkAnswer::Status(status) => Response::builder().status(*status),
        SinkAnswer::RetryAfter(status, value) => Response::builder().status(*status).header(RETRY_AFTER, value),
        SinkAnswer::Redirect(status, location) => Response::builder().status(*status).header(LOCATION, location),
        SinkAnswer::Held => {
            shared.until_released().await;
            Response::builder()
        }
        SinkAnswer::HeldBody | SinkAnswer::EndlessBody | SinkAnswer::CutBody => Response::builder(),
        SinkAnswer::Cut | SinkAnswer::Noise => return Err(cut()),
    };
    builder.body(body_of(&answer, shared)).map_err(io::Error::other)
}

fn body_of(answer: &SinkAnswer, shared: Arc<Shared>) -> Body {
    let first = Ok(Frame::data(Bytes::from_static(BODY.as_bytes())));
    match answer {
        SinkAnswer::EndlessBody => {
            let piece = Bytes::from(BODY.as_bytes().iter().copied().cycle().take(PIECE_SIZE).collect::<Vec<u8>>());
            BodyExt::boxed(StreamBody::new(stream::repeat_with(move || Ok(Frame::data(piece.clone())))))
        }
        SinkAnswer::CutBody => {
            let end = stream::once(async {
                // What came before goes out while the body is waited for.
                tokio::task::yield_now().await;
                Err(cut())
            });
            BodyExt::boxed(StreamBody::new(stream::iter([first]).chain(end)))
        }
        SinkAnswer::HeldBody => {
            let second = stream::once(async move {
                shared.until_released().await;
                Ok(Frame::data(Bytes::from_static(BODY.as_bytes())))
            });
            BodyExt::boxed(StreamBody::new(stream::iter([first]).chain(second)))
        }
        _ => Full::from(BODY).map_err(|never| match never {}).boxed(),
    }
}

fn cut() -> io::Error {
    io::Error::other("the script says so")
}
