//! Real certificates and real handshakes: a bad server is refused before any byte of a password is sent.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::SecretString;
use tempfile::TempDir;
use tidemark_queue::{Connect, Error};
use tidemark_runtime::{FixedTarget, PostgresConnector, Target};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

const HOST: &str = "db.example.test";
const PASSWORD: &str = "correct-horse-canary";

/// An SSLRequest: its length, then a code that is no protocol version.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// `R`, length 8, 3: the server asks for the password as it is.
const ASK_FOR_PASSWORD: [u8; 9] = [b'R', 0, 0, 0, 8, 0, 0, 0, 3];

/// An authority of the test's own, as a file for `sslrootcert`.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    _folder: TempDir,
    file: PathBuf,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("authority.pem");
        std::fs::write(&file, certificate.pem()).unwrap();
        Self { issuer: Issuer::new(params, key), _folder: folder, file }
    }

    fn certify(&self, params: &CertificateParams) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        acceptor(certificate.der().clone(), &key)
    }
}

fn for_host(host: &str) -> CertificateParams {
    CertificateParams::new(vec![host.to_owned()]).unwrap()
}

fn acceptor(certificate: CertificateDer<'static>, key: &KeyPair) -> TlsAcceptor {
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// A server that takes one connection, asks for the password in clear if it gets so far, and returns every byte that was
/// meant for it after the TLS request.
struct FakeServer {
    address: SocketAddr,
    received: JoinHandle<Vec<u8>>,
}

impl FakeServer {
    /// `None` answers the TLS request with "no".
    async fn start(acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 8];
            stream.read_exact(&mut request).await.unwrap();
            match acceptor {
                // Without a request for TLS this is the beginning of a start-up in plain text.
                _ if request != SSL_REQUEST => [request.to_vec(), converse(stream).await].concat(),
                None => {
                    stream.write_all(b"N").await.unwrap();
                    converse(stream).await
                }
                Some(acceptor) => secured(stream, acceptor).await,
            }
        });
        Self { address, received }
    }

    async fn connect(&self, parameters: &str) -> Result<(), Error> {
        let url = format!(
            "postgres://user:{PASSWORD}@{HOST}:{}/app?hostaddr={}{parameters}",
            self.address.port(),
            self.address.ip()
        );
        connect(&url).await
    }
}

async fn connect(url: &str) -> Result<(), Error> {
    let target = Target::from_url(&SecretString::from(url), "tidemark-test").unwrap();
    PostgresConnector::new(Arc::new(FixedTarget::new(target))).connect().await.map(drop)
}

async fn secured(mut stream: TcpStream, acceptor: TlsAcceptor) -> Vec<u8> {
    stream.write_all(b"S").await.unwrap();
    match acceptor.accept(stream).await {
        Ok(stream) => converse(stream).await,
        Err(_refused) => Vec::new(),
    }
}

/// Reads a start-up message, asks for the password, reads on until the end.
async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Vec<u8> {
    let mut received = vec![0; 4096];
    let length = stream.read(&mut received).await.unwrap_or(0);
    received.truncate(length);
    if length > 0 && stream.write_all(&ASK_FOR_PASSWORD).await.is_ok() {
        let mut rest = [0; 4096];
        let more = stream.read(&mut rest).await.unwrap_or(0);
        received.extend_from_slice(&rest[..more]);
    }
    received
}

fn contains_password(bytes: &[u8]) -> bool {
    bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes())
}

async fn assert_refused(acceptor: Option<TlsAcceptor>, parameters: &str, reason: &str) {
    let server = FakeServer::start(acceptor).await;
    let error = server.connect(parameters).await.unwrap_err();
    assert_eq!(error.code(), reason);
    assert!(error.breaks_connection());
    let received = server.received.await.unwrap();
    assert_eq!(received, Vec::<u8>::new(), "bytes were sent to a server that cannot be trusted");
}

#[tokio::test]
async fn a_certified_server_gets_the_password_through_tls_alone() {
    let authority = Authority::new();
    for sslmode in ["", "&sslmode=prefer", "&sslmode=require", "&sslmode=verify-full"] {
        let server = FakeServer::start(Some(authority.certify(&for_host(HOST)))).await;
        let outcome = server.connect(&format!("&sslrootcert={}{sslmode}", authority.file.display())).await;
        assert!(outcome.is_err(), "the fake server hangs up after the password");
        assert!(contains_password(&server.received.await.unwrap()), "{sslmode}");
    }
}

#[tokio::test]
async fn an_expired_certificate_is_refused_before_the_password() {
    let authority = Authority::new();
    let mut params = for_host(HOST);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2021, 1, 1);
    let parameters = format!("&sslrootcert={}", authority.file.display());
    assert_refused(Some(authority.certify(&params)), &parameters, "certificate_expired").await;
}

#[tokio::test]
async fn a_certificate_that_is_not_valid_yet_is_refused_before_the_password() {
    let authority = Authority::new();
    let mut params = for_host(HOST);
    params.not_before = date_time_ymd(2990, 1, 1);
    params.not_after = date_time_ymd(2991, 1, 1);
    let parameters = format!("&sslrootcert={}", authority.file.display());
    assert_refused(Some(authority.certify(&params)), &parameters, "certificate_expired").await;
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused_before_the_password() {
    let authority = Authority::new();
    // `require` and `verify-ca` do not ask for the host name elsewhere; here they do.
    for sslmode in ["require", "verify-ca", "verify-full"] {
        let parameters = format!("&sslmode={sslmode}&sslrootcert={}", authority.file.display());
        let acceptor = authority.certify(&for_host("other.example.test"));
        assert_refused(Some(acceptor), &parameters, "certificate_wrong_host").await;
    }
}

async fn assert_self_signed_is_refused(params: CertificateParams, reason: &str) {
    let authority = Authority::new();
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let parameters = format!("&sslmode=require&sslrootcert={}", authority.file.display());
    assert_refused(Some(acceptor(certificate.der().clone(), &key)), &parameters, reason).await;
}

#[tokio::test]
async fn a_self_signed_certificate_is_refused_before_the_password() {
    let mut params = for_host(HOST);
    params.distinguished_name.push(DnType::CommonName, HOST);
    assert_self_signed_is_refused(params, "certificate_unknown_issuer").await;
}

#[tokio::test]
async fn a_self_signed_certificate_in_the_name_of_the_authority_is_refused_before_the_password() {
    assert_self_signed_is_refused(for_host(HOST), "certificate_invalid").await;
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused_before_the_password() {
    let acceptor = Authority::new().certify(&for_host(HOST));
    assert_refused(Some(acceptor), "", "certificate_unknown_issuer").await;
}

#[tokio::test]
async fn a_server_without_tls_is_refused_before_the_password() {
    for sslmode in ["", "&sslmode=prefer", "&sslmode=require", "&sslmode=verify-full"] {
        assert_refused(None, sslmode, "tls_unsupported").await;
    }
}

#[tokio::test]
async fn a_loopback_server_without_tls_is_refused_when_the_url_asks_for_tls() {
    let server = FakeServer::start(None).await;
    let url = format!("postgres://user:{PASSWORD}@{}/app?sslmode=require", server.address);
    assert_eq!(connect(&url).await.unwrap_err().code(), "tls_unsupported");
    assert_eq!(server.received.await.unwrap(), Vec::<u8>::new());
}

#[tokio::test]
async fn a_loopback_server_may_be_plain() {
    let server = FakeServer::start(None).await;
    let url = format!("postgres://user:{PASSWORD}@{}/app", server.address);
    assert!(connect(&url).await.is_err(), "the fake server hangs up after the password");
    assert!(contains_password(&server.received.await.unwrap()));
}
