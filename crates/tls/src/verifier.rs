//! Verifies a server's certificate, and records it and the server's request for a client certificate.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use crate::CertificateRule;

/// Verifies the certificate of a server by a rule, and records it and the server's request for one.
///
/// Under every rule but [`CertificateRule::Unproven`] the server must prove that it has the key of its certificate.
#[derive(Debug)]
pub struct CertificateVerifier {
    rule: CertificateRule,
    algorithms: WebPkiSupportedAlgorithms,
    shown: OnceLock<CertificateDer<'static>>,
    wrong: OnceLock<Error>,
    client: Option<Arc<CertifiedKey>>,
    asked: AtomicBool,
}

impl CertificateVerifier {
    /// Judges by `rule`; `client` is the certificate for servers that ask for one.
    pub fn new(rule: CertificateRule, client: Option<Arc<CertifiedKey>>) -> Arc<Self> {
        let algorithms = crate::provider().signature_verification_algorithms;
        let (shown, wrong) = (OnceLock::new(), OnceLock::new());
        Arc::new(Self { rule, algorithms, shown, wrong, client, asked: AtomicBool::new(false) })
    }

    /// The certificate that the first handshake showed, if it came that far.
    pub fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.shown.get()
    }

    /// The error of a certificate that [`CertificateRule::SignedOrAnonymous`] accepted.
    pub fn certificate_error(&self) -> Option<&Error> {
        self.wrong.get()
    }

    /// Whether the server requested a certificate.
    pub fn is_client_certificate_requested(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    fn is_unproven(&self) -> bool {
        matches!(self.rule, CertificateRule::Unproven)
    }
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.shown.get_or_init(|| end_entity.clone().into_owned());
        match &self.rule {
            CertificateRule::Unproven | CertificateRule::Any => Ok(ServerCertVerified::assertion()),
            CertificateRule::Pinned(matches) if matches(end_entity) => Ok(ServerCertVerified::assertion()),
            CertificateRule::Pinned(_) => {
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            CertificateRule::Signed(authority) => {
                authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
            CertificateRule::SignedOrAnonymous(authority) => {
                let judged =
                    authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
                judged.or_else(|error| {
                    self.wrong.get_or_init(|| error.clone());
                    // In TLS 1.2 and 1.3, rustls selects the client certificate on the server's request, before this one is verified.
                    if self.is_client_certificate_requested() {
                        Err(error)
                    } else {
                        Ok(ServerCertVerified::assertion())
                    }
                })
            }
            CertificateRule::Nothing => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.is_unproven() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.is_unproven() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ResolvesClientCert for CertificateVerifier {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Release);
        // If the server's certificate was already found invalid, the verifier has ended the handshake.
        self.client.clone().filter(|_| self.wrong.get().is_none())
    }

    fn has_certs(&self) -> bool {
        self.client.is_some()
    }
}
