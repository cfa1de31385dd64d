//! Why a connect failed, as a word an operator can search for.

use std::error::Error as StdError;
use std::io;

use rustls::CertificateError;
use tidemark_queue::Error;
use tokio_postgres::error::SqlState;

/// Sorts what `connect` said by what the caller does next. What the server itself said keeps its SQLSTATE; anything
/// else is [`Error::Unavailable`] with a short stable reason.
pub(crate) fn classify(error: tokio_postgres::Error) -> Error {
    if error.as_db_error().is_some() {
        return Error::of_connect(error);
    }
    let reason = reason(&error);
    Error::Unavailable { reason: reason.to_owned() }
}

/// Whether the server refused who we are, so that other credentials may help.
pub(crate) fn is_authentication(error: &Error) -> bool {
    error.code() == SqlState::INVALID_PASSWORD.code()
        || error.code() == SqlState::INVALID_AUTHORIZATION_SPECIFICATION.code()
}

fn reason(error: &tokio_postgres::Error) -> &'static str {
    if error.is_closed() {
        return "closed";
    }
    if let Some(cause) = error.source() {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            return of_io(error);
        }
        if let Some(error) = cause.downcast_ref::<rustls::Error>() {
            return of_tls(error);
        }
    }
    // The kind of a tokio-postgres error shows only in its text, which is a constant for each kind.
    match error.to_string().as_str() {
        text if text.starts_with("error performing TLS handshake") => "tls_unsupported",
        text if text.starts_with("authentication error") => "authentication",
        _ => "connection",
    }
}

fn of_io(error: &io::Error) -> &'static str {
    if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return of_tls(tls);
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => "refused",
        io::ErrorKind::TimedOut => "timeout",
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => "closed",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "unreachable",
        // The operating system's own refusal has a code; the one without is tokio-postgres meeting a standby.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => "read_only",
        _ => "connection",
    }
}

fn of_tls(error: &rustls::Error) -> &'static str {
    let rustls::Error::InvalidCertificate(certificate) = error else {
        return "tls";
    };
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
