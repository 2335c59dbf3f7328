//! Which certificates of a server are accepted.

use std::fmt;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;

/// Whether a certificate, in DER, has the expected fingerprint.
pub type FingerprintCheck = dyn Fn(&[u8]) -> bool + Send + Sync;

/// Which certificates of a server are accepted.
#[derive(Clone)]
pub enum CertificateRule {
    /// Any certificate, without proof that the server has its key: for probes that only ask whether a server answers.
    Unproven,
    /// Any certificate: the client identifies the server itself.
    Any,
    /// A certificate with the expected fingerprint.
    Pinned(Arc<FingerprintCheck>),
    /// A certificate of an authority, for the name that was dialled.
    Signed(Arc<WebPkiServerVerifier>),
    /// As `Signed`, but other certificates are accepted if the server requests no certificate: the error is recorded, and the
    /// handshake fails before the server is shown the client's certificate.
    SignedOrAnonymous(Arc<WebPkiServerVerifier>),
    /// None: no authority is configured.
    Nothing,
}

impl CertificateRule {
    /// Accepts certificates of these authorities.
    pub fn signed_by(roots: RootCertStore) -> Self {
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), crate::provider());
        // It fails only if there are no roots: no revocation lists are given.
        builder.build().map_or(Self::Nothing, Self::Signed)
    }
}

impl fmt::Debug for CertificateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unproven => "Unproven",
            Self::Any => "Any",
            Self::Pinned(_) => "Pinned",
            Self::Signed(_) => "Signed",
            Self::SignedOrAnonymous(_) => "SignedOrAnonymous",
            Self::Nothing => "Nothing",
        })
    }
}
