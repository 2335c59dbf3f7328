//! Verification of TLS servers.
//!
//! A [`CertificateRule`] defines which certificates are accepted. A [`CertificateVerifier`] applies it during one handshake, and afterwards
//! returns the server's certificate and whether the server requested one. [`client_config`] is the configuration of a client that uses it.
//!
//! Not here: sockets, and the content of certificates (`ichor_talos::peer`).

mod rule;
mod verifier;

pub use rule::{CertificateRule, FingerprintCheck};
pub use verifier::CertificateVerifier;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, SupportedProtocolVersion};

/// The cryptography of all TLS connections.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The private key in a PEM block with this label; none if the label is not one of a private key.
///
/// Talos writes `ED25519 PRIVATE KEY` over a key in PKCS #8.
pub fn private_key(label: &str, der: Vec<u8>) -> Option<PrivateKeyDer<'static>> {
    match label {
        "PRIVATE KEY" | "ED25519 PRIVATE KEY" => Some(PrivateKeyDer::Pkcs8(der.into())),
        "EC PRIVATE KEY" => Some(PrivateKeyDer::Sec1(der.into())),
        "RSA PRIVATE KEY" => Some(PrivateKeyDer::Pkcs1(der.into())),
        _ => None,
    }
}

/// The configuration of a client whose server `verifier` judges, and which offers these application protocols.
pub fn client_config(
    verifier: &Arc<CertificateVerifier>,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&[u8]],
) -> ClientConfig {
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(versions)
        .expect("ring has suites for TLS 1.2 and 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(verifier) as _)
        .with_client_cert_resolver(Arc::clone(verifier) as _);
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    config
}
