//! What the other end showed and wanted while a TLS connection was made.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use ichor_talos::peer::{Peer, Pin};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Which certificates are good enough.
#[derive(Debug)]
pub(super) enum Rule {
    /// Any: who it is is found out.
    Anyone,
    /// The one with this key.
    Pinned(Pin),
    /// Those of an authority, for the address that was dialled.
    Signed(Arc<WebPkiServerVerifier>),
    /// Any; but what is wrong with those that are not of the authority is remembered, and where they ask for a certificate the
    /// greeting ends before they are shown one.
    Met(Arc<WebPkiServerVerifier>),
}

/// Judges by a rule, and remembers what was shown and asked for.
///
/// That whoever shows a certificate also has its key is seen to whatever the rule.
#[derive(Debug)]
pub(super) struct Witness {
    rule: Rule,
    provider: Arc<CryptoProvider>,
    shown: OnceLock<Peer>,
    wrong: OnceLock<Error>,
    client: Option<Arc<CertifiedKey>>,
    asked: AtomicBool,
}

impl Witness {
    pub(super) fn new(
        rule: Rule,
        client: Option<Arc<CertifiedKey>>,
        provider: Arc<CryptoProvider>,
    ) -> Arc<Self> {
        let (shown, wrong) = (OnceLock::new(), OnceLock::new());
        Arc::new(Self { rule, provider, shown, wrong, client, asked: AtomicBool::new(false) })
    }

    /// Whose certificate was shown, if it came that far.
    pub(super) fn shown(&self) -> Option<&Peer> {
        self.shown.get()
    }

    /// What is wrong with the certificate that was shown and taken all the same.
    pub(super) fn wrong(&self) -> Option<&Error> {
        self.wrong.get()
    }

    /// Whether a certificate was asked for.
    pub(super) fn asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(peer) = Peer::read(end_entity) else {
            return Err(Error::InvalidCertificate(CertificateError::BadEncoding));
        };
        let pin = self.shown.get_or_init(|| peer).pin;
        match &self.rule {
            Rule::Anyone => Ok(ServerCertVerified::assertion()),
            Rule::Pinned(wanted) if *wanted == pin => Ok(ServerCertVerified::assertion()),
            Rule::Pinned(_) => {
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            Rule::Signed(authority) => {
                authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
            Rule::Met(authority) => {
                let judged =
                    authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
                judged.or_else(|error| {
                    self.wrong.get_or_init(|| error.clone());
                    // rustls settles what to show when it is asked, in TLS 1.2 and 1.3 alike before it has this judged.
                    if self.asked() { Err(error) } else { Ok(ServerCertVerified::assertion()) }
                })
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl ResolvesClientCert for Witness {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Release);
        // Where the certificate of the other end was judged before; where not, its judge ends the greeting.
        self.client.clone().filter(|_| self.wrong.get().is_none())
    }

    fn has_certs(&self) -> bool {
        self.client.is_some()
    }
}
