//! Certificate authorities and the TLS client.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A TLS client that checks chain, dates and host name against the authorities in the PEM file `authority`, or against
/// the built-in ones where there is none.
///
/// # Errors
/// Says in words what is wrong with the file.
pub(crate) fn verifying(authority: Option<&Path>) -> Result<MakeRustlsConnect, &'static str> {
    let roots = match authority {
        Some(file) => roots_from(file)?,
        None => built_in_roots(),
    };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| "the TLS library offers no protocol version")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// The authorities trusted without `sslrootcert`: Mozilla's. The bundle of a managed database belongs here as well.
fn built_in_roots() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

fn roots_from(file: &Path) -> Result<RootCertStore, &'static str> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).map_err(|_| "the file of sslrootcert cannot be read")?;
    for certificate in certificates {
        let certificate = certificate.map_err(|_| "the file of sslrootcert is not PEM")?;
        roots.add(certificate).map_err(|_| "the file of sslrootcert holds a certificate that cannot be used")?;
    }
    if roots.is_empty() {
        return Err("the file of sslrootcert holds no certificate");
    }
    Ok(roots)
}
