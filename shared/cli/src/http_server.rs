//! The status router on a port of this machine.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tidemark_queue::{Connect, Connection};
use tidemark_status::Router;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

/// How long a client may take to send its request's head, and how long an idle one is kept.
const HEAD_LIMIT: Duration = Duration::from_secs(30);
/// How long answers under way may go on after the shutdown.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
/// How long no further client is taken in where the system has no file descriptor left for one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `router` on `listener` until `shutdown` is ready. One database connection, opened when first needed, is used in
/// turn by all requests that need one; the others never wait for it.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    connector: Arc<dyn Connect>,
    shutdown: impl Future<Output = ()>,
) {
    let room = Arc::new(Room { router, connection: Mutex::new(Connection::new(Arc::clone(&connector))), connector });
    let graceful = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        let Ok((stream, _peer)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let room = Arc::clone(&room);
        let service = service_fn(move |request: Request<Incoming>| {
            let room = Arc::clone(&room);
            async move { Ok::<_, Infallible>(room.answer(request).await) }
        });
        let mut http = http1::Builder::new();
        let http = http.timer(TokioTimer::new()).header_read_timeout(HEAD_LIMIT);
        let conversation = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        // A client that hangs up in the middle is its own affair.
        tokio::spawn(async move { conversation.await.ok() });
    }
    // A client that does not come to an end is cut off with the process.
    let _ended = tokio::time::timeout(SHUTDOWN_GRACE, graceful.shutdown()).await;
}

struct Room {
    router: Router,
    connection: Mutex<Connection>,
    connector: Arc<dyn Connect>,
}

impl Room {
    async fn answer(&self, request: Request<Incoming>) -> Response<String> {
        let (parts, _body) = request.into_parts();
        if self.router.needs_database(&parts) {
            let mut connection = self.connection.lock().await;
            self.router.answer(&parts, &mut connection).await
        } else {
            let mut unopened = Connection::new(Arc::clone(&self.connector));
            self.router.answer(&parts, &mut unopened).await
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use http_body_util::{BodyExt, Empty};
    use hyper::body::Bytes;
    use hyper::client::conn::http1::handshake;
    use secrecy::SecretString;
    use tidemark_status::Tokens;
    use tidemark_testkit::TestDatabase;
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;

    use super::*;

    async fn request(address: SocketAddr, method: &str, path: &str, token: Option<&str>) -> (u16, String) {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        let (mut sender, conversation) = handshake(TokioIo::new(stream)).await.expect("it speaks HTTP");
        tokio::spawn(conversation);
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Empty::<Bytes>::new()).expect("a request");
        let answer = sender.send_request(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        (status, String::from_utf8(body.to_vec()).expect("UTF-8"))
    }

    #[tokio::test]
    async fn the_router_is_served_until_the_shutdown() {
        let database = TestDatabase::new().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let router = Router::new(Tokens::from_list(&SecretString::from("right")));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(serve(listener, router, database.connector("tidemark_worker"), async {
            stopped.await.ok();
        }));

        assert_eq!(request(address, "GET", "/healthz", None).await.0, 200);
        assert_eq!(request(address, "HEAD", "/", None).await, (200, String::new()));
        assert_eq!(request(address, "GET", "/stats-process-refresh-jobs", None).await.0, 401);
        let (status, body) = request(address, "GET", "/stats-process-refresh-jobs", Some("right")).await;
        let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((status, &body["worker_status"]["settings"]["id"]), (200, &serde_json::json!(1)));
        assert!(body["worker_status"]["queue"]["pending_users"].is_i64());

        let (status, body) = request(address, "GET", "/readyz", None).await;
        let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(status, 503, "nothing has ticked yet: {body}");
        assert_eq!(body["checks"]["database"], "ok");
        assert_eq!(body["checks"]["schema_version"], "ok", "the worker role may see what this build calls");
        assert_eq!(body["checks"]["ticks_claim"], "failed");
        assert_eq!(body["checks"]["leases"], "ok");

        let (status, body) = request(address, "GET", "/metrics", Some("right")).await;
        assert!(status == 200 && body.contains("tidemark_stale_users 0\n"), "{body}");

        stop.send(()).expect("it still serves");
        serving.await.expect("it ends");
        assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
    }

    #[tokio::test]
    async fn an_unmigrated_database_is_not_ready_and_says_what_is_missing() {
        let database = TestDatabase::empty().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let router = Router::new(Tokens::from_list(&SecretString::from("right")));
        tokio::spawn(serve(listener, router, database.connector("postgres"), std::future::pending()));

        let (status, body) = request(address, "GET", "/readyz", None).await;
        let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((status, &body["checks"]["schema_version"]), (503, &serde_json::json!("failed")));
        let (status, body) = request(address, "GET", "/stats-process-refresh-jobs", Some("right")).await;
        assert!(status == 503 && body.contains("schema_missing"), "{body}");
    }
}
