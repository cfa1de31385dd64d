//! A connection to an endpoint: resolved, permitted, encrypted.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustls::CertificateError;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::endpoint::Endpoint;
use super::outcome::Outcome;
use super::reach::Reach;

/// The longest that resolving, connecting and the TLS handshake may take together.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Addresses of one host that are tried.
const ADDRESSES_MAX: usize = 4;

/// A connection, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Opens a connection to `endpoint` before `deadline`.
///
/// # Errors
/// What the caller does next.
pub(super) async fn open(
    endpoint: &Endpoint,
    reach: Reach,
    tls: &TlsConnector,
    deadline: Instant,
) -> Result<Box<dyn Stream>, Outcome> {
    let opening = async {
        let addresses = permitted_addresses(endpoint, reach).await?;
        let stream = connect(&addresses, deadline).await?;
        if !endpoint.is_encrypted() {
            return Ok(Box::new(stream) as Box<dyn Stream>);
        }
        let name = ServerName::try_from(endpoint.host().to_owned()).map_err(|_| Outcome::permanent("url_invalid"))?;
        let stream = tls.connect(name, stream).await.map_err(|error| Outcome::retry(word_of(&error)))?;
        Ok(Box::new(stream) as Box<dyn Stream>)
    };
    timeout_at(deadline, opening).await.unwrap_or_else(|_elapsed| Err(Outcome::retry("connect_timeout")))
}

/// The addresses of the endpoint's host that may be connected to.
async fn permitted_addresses(endpoint: &Endpoint, reach: Reach) -> Result<Vec<SocketAddr>, Outcome> {
    let resolved = lookup_host((endpoint.host(), endpoint.port())).await;
    let resolved: Vec<SocketAddr> = resolved.map_err(|_| Outcome::retry("name_not_resolved"))?.collect();
    if resolved.is_empty() {
        return Err(Outcome::retry("name_not_resolved"));
    }
    let is_permitted = |address: &SocketAddr| reach.permits(address.ip(), endpoint.is_encrypted());
    let permitted: Vec<SocketAddr> = resolved.into_iter().filter(is_permitted).take(ADDRESSES_MAX).collect();
    if permitted.is_empty() { Err(Outcome::permanent("address_refused")) } else { Ok(permitted) }
}

/// Tries one address after the other. Each may take its share of the time that is left, so that a silent one does not use
/// up the time of those behind it.
async fn connect(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, Outcome> {
    let mut failure = "connect_timeout";
    for (index, address) in addresses.iter().enumerate() {
        let untried = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        let share = deadline.saturating_duration_since(Instant::now()) / untried;
        match tokio::time::timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = word_of(&error),
            Err(_elapsed) => failure = "connect_timeout",
        }
    }
    Err(Outcome::retry(failure))
}

/// The word for an error of a connection. Errors of TLS travel inside errors of input and output.
pub(super) fn word_of(error: &io::Error) -> &'static str {
    if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return word_of_tls(tls);
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "refused",
        io::ErrorKind::TimedOut => "connect_timeout",
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => "closed",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "unreachable",
        _ => "connection",
    }
}

fn word_of_tls(error: &rustls::Error) -> &'static str {
    let rustls::Error::InvalidCertificate(certificate) = error else { return "tls" };
    match certificate {
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => "certificate_expired",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => "certificate_wrong_host",
        CertificateError::UnknownIssuer => "certificate_unknown_issuer",
        _ => "certificate_invalid",
    }
}
