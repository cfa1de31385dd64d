//! Each way in which a connect fails has its own word, and ends in time.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use secrecy::SecretString;
use tidemark_queue::{Connect, Error};
use tidemark_runtime::{CredentialSource, FixedTarget, PostgresConnector, Target, TargetFuture};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn fixed(url: &str) -> FixedTarget {
    FixedTarget::new(Target::from_url(&SecretString::from(url), "tidemark-test").unwrap())
}

async fn connect(url: &str) -> Result<(), Error> {
    PostgresConnector::new(Arc::new(fixed(url))).connect().await.map(drop)
}

/// Counts how often it is told that its credentials were refused.
struct Counting {
    target: FixedTarget,
    refusals: AtomicU32,
}

impl CredentialSource for Counting {
    fn target(&self) -> TargetFuture<'_> {
        self.target.target()
    }

    fn refused(&self) {
        self.refusals.fetch_add(1, Ordering::SeqCst);
    }
}

/// A server that answers the start-up message with an error of this SQLSTATE.
async fn refusing_server(sqlstate: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut startup = [0; 4096];
        let _startup = stream.read(&mut startup).await.unwrap();
        let fields = format!("SFATAL\0VFATAL\0C{sqlstate}\0Mcanary\0\0");
        let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
        stream.write_all(&[b"E".as_slice(), &length, fields.as_bytes()].concat()).await.unwrap();
    });
    format!("postgres://user:secret@{address}/app")
}

#[tokio::test]
async fn a_closed_port_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert_eq!(connect(&format!("postgres://user@{address}/app")).await.unwrap_err().code(), "refused");
}

#[tokio::test]
async fn a_missing_socket_is_refused() {
    let error = connect("postgres:///app?host=/nowhere/at/all&user=me").await.unwrap_err();
    assert_eq!(error.code(), "refused");
}

#[tokio::test]
async fn a_silent_server_ends_the_connect_at_its_timeout() {
    // The operating system accepts on behalf of a listener that never does.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let started = Instant::now();
    let error = connect(&format!("postgres://user@{address}/app?connect_timeout=1")).await.unwrap_err();
    assert_eq!(error.code(), "timeout");
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_server_that_hangs_up_has_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { drop(listener.accept().await.unwrap()) });
    assert_eq!(connect(&format!("postgres://user@{address}/app")).await.unwrap_err().code(), "closed");
}

#[tokio::test]
async fn too_many_connections_are_contention() {
    let error = connect(&refusing_server("53300").await).await.unwrap_err();
    assert!(matches!(error, Error::Contended { ref code } if code == "53300"), "{error:?}");
}

#[tokio::test]
async fn a_server_that_starts_or_stops_is_unavailable() {
    for sqlstate in ["57P03", "57P01", "55000", "08006"] {
        let error = connect(&refusing_server(sqlstate).await).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable { ref reason } if reason == sqlstate), "{error:?}");
    }
}

#[tokio::test]
async fn refused_credentials_keep_their_sqlstate_and_are_told_to_their_source() {
    for (sqlstate, refusals) in [("28P01", 1), ("28000", 1), ("3D000", 0)] {
        let target = fixed(&refusing_server(sqlstate).await);
        let source = Arc::new(Counting { target, refusals: AtomicU32::new(0) });
        let error = PostgresConnector::new(Arc::<Counting>::clone(&source)).connect().await.map(drop).unwrap_err();
        assert_eq!(error.code(), sqlstate);
        assert!(!error.to_string().contains("canary"), "{error}");
        assert_eq!(source.refusals.load(Ordering::SeqCst), refusals, "{sqlstate}");
    }
}
