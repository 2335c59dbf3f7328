//! Which certificate a server must have.

use std::fmt;
use std::sync::Arc;

use ichor_tls::CertificateRule;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::sign::CertifiedKey;
use sha2::{Digest as _, Sha256};

/// The fingerprint of a certificate: its SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificatePin([u8; 32]);

impl CertificatePin {
    /// Reads octets with colons between them, as the cluster file has them.
    pub fn parse(text: &str) -> Option<Self> {
        let octets: Option<Vec<u8>> =
            text.split(':').map(|octet| u8::from_str_radix(octet, 16).ok()).collect();
        octets?.try_into().ok().map(Self)
    }

    /// The fingerprint of a certificate in DER.
    pub fn from_der(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

impl fmt::Display for CertificatePin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, octet) in self.0.iter().enumerate() {
            let colon = if nth == 0 { "" } else { ":" };
            write!(f, "{colon}{octet:02X}")?;
        }
        Ok(())
    }
}

/// Which certificate a server must have.
#[derive(Clone, Debug)]
pub enum ServerTrust {
    /// A certificate that the system trusts: a factory inside a company has one of the company's.
    System,
    /// A certificate of one of these authorities.
    Authority(RootCertStore),
    /// The certificate with this fingerprint, with any issuer.
    Pinned(CertificatePin),
}

impl ServerTrust {
    /// The authorities of a file in PEM; other contents are skipped.
    pub fn pem(text: &[u8]) -> Self {
        Self::Authority(roots(CertificateDer::pem_slice_iter(text).filter_map(Result::ok)))
    }

    /// The rule for server certificates.
    pub(super) fn rule(&self) -> CertificateRule {
        match self {
            Self::System => CertificateRule::signed_by(roots(rustls_native_certs::load_native_certs().certs)),
            Self::Authority(roots) => CertificateRule::signed_by(roots.clone()),
            Self::Pinned(pin) => {
                let pin = *pin;
                CertificateRule::Pinned(Arc::new(move |certificate| {
                    CertificatePin::from_der(certificate) == pin
                }))
            }
        }
    }
}

/// The authorities of these certificates.
fn roots(certificates: impl IntoIterator<Item = CertificateDer<'static>>) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    roots
}

/// A client's certificate and key.
#[derive(Clone)]
pub struct ClientIdentity(pub Arc<CertifiedKey>);

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_round_trips_through_text() {
        let pin = CertificatePin::from_der(b"certificate");

        assert_eq!(CertificatePin::parse(&pin.to_string()), Some(pin));
        assert_eq!(CertificatePin::parse(&pin.to_string().to_lowercase()), Some(pin));
        assert_eq!(CertificatePin::parse("AB:CD"), None);
    }
}
