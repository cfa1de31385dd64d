//! Certificates of an authority of our own, good and bad.

use std::sync::Arc;

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// What a sink shows to prove who it is. Good for `localhost` unless something is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SinkCertificate {
    /// Signed by the sink's authority, for its host, now.
    Good,
    /// For another host.
    OtherHost,
    /// It was good once.
    Expired,
    /// Signed by itself.
    SelfSigned,
}

/// The authorities that a client has to trust, and the TLS of a server with this certificate.
pub(crate) fn authorities_and_tls(certificate: SinkCertificate) -> (RootCertStore, TlsAcceptor) {
    let authority_key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let mut authorities = RootCertStore::empty();
    let root = authority.self_signed(&authority_key).expect("a certificate of the authority");
    authorities.add(root.der().clone()).expect("an authority that can be used");
    let issuer = Issuer::new(authority, authority_key);

    let key = KeyPair::generate().expect("a key");
    let shown: Certificate = match certificate {
        SinkCertificate::SelfSigned => params("localhost").self_signed(&key),
        SinkCertificate::Good => params("localhost").signed_by(&key, &issuer),
        SinkCertificate::OtherHost => params("other.example.test").signed_by(&key, &issuer),
        SinkCertificate::Expired => {
            let mut params = params("localhost");
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
            params.signed_by(&key, &issuer)
        }
    }
    .expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("protocol versions")
        .with_no_client_auth()
        .with_single_cert(vec![shown.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .expect("a certificate that fits its key");
    (authorities, TlsAcceptor::from(Arc::new(config)))
}

/// With a name of its own, so that a client cannot take it for the authority.
fn params(host: &str) -> CertificateParams {
    let mut params = CertificateParams::new(vec![host.to_owned()]).expect("a host name");
    params.distinguished_name.push(DnType::CommonName, host);
    params
}
