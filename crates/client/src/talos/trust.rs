//! How a node is identified, and the certificate it is sent.

use std::fmt;
use std::sync::Arc;

use ichor_talos::peer::Pin;
use ichor_talos::secrets::{Pair, Pem};
use ichor_tls::provider;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// Which peers to trust.
#[derive(Clone, Debug)]
pub enum NodeTrust {
    /// A machine in maintenance mode: its certificate is self-signed, and it requests none.
    Maintenance {
        /// The only key to accept; any key if absent.
        pin: Option<Pin>,
    },
    /// A machine of the cluster: both sides show certificates of its authority.
    Mutual(Arc<Credentials>),
}

/// Credentials for the API of a cluster's machines.
pub struct Credentials {
    pub(super) authority: Arc<WebPkiServerVerifier>,
    pub(super) client: Arc<CertifiedKey>,
}

/// Why secrets open nothing.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The authority is not a CA.
    #[error("the authority certs.os of the bundle is not a CA certificate")]
    Authority(#[source] rustls::Error),
    /// The authority is empty.
    #[error("the authority certs.os of the bundle has no certificate")]
    NoAuthority,
    /// Certificate and key do not belong together, or are of a kind that is not known.
    #[error("the administrator's certificate and its key cannot be used")]
    Pair(#[source] rustls::Error),
    /// They are in another format.
    #[error("the administrator's certificate or its key is not PEM")]
    NotPem,
}

impl Credentials {
    /// Of a cluster whose authority is `os`, for an administrator.
    pub fn new(os: &Pem, administrator: &Pair) -> Result<Self, CredentialsError> {
        let provider = provider();
        let (_, root) = os.block().ok_or(CredentialsError::NoAuthority)?;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(root)).map_err(CredentialsError::Authority)?;
        let authority = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let authority = authority.build().expect("there is a root, and no list of revoked certificates");
        let (_, certificate) = administrator.crt.block().ok_or(CredentialsError::NotPem)?;
        let key = key(&administrator.key).ok_or(CredentialsError::NotPem)?;
        let client = CertifiedKey::from_der(vec![CertificateDer::from(certificate)], key, &provider);
        Ok(Self { authority, client: Arc::new(client.map_err(CredentialsError::Pair)?) })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The private key in a PEM block.
pub(crate) fn key(pem: &Pem) -> Option<PrivateKeyDer<'static>> {
    pem.block().and_then(|(label, der)| ichor_tls::private_key(&label, der))
}
