//! Authorities with certificates, made as for a cluster.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ichor_core::cluster::value::TalosVersion;
use ichor_core::moment::Moment;
use ichor_core::talos::secrets::{Bundle, Pair, client_certificate};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::pki_types::{ServerName, UnixTime};
use rustls::{DigitallySignedStruct, ServerConfig, SignatureScheme, SupportedProtocolVersion};

/// The OS authority of a cluster, and a certificate it signed.
pub struct Authority {
    pub os: Pair,
    pub signed: Pair,
}

impl Authority {
    pub fn new(seed: u64) -> Self {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let now = Moment::from_unix(seconds - 60).unwrap();
        let os = Bundle::new(&TalosVersion::parse("v1.6").unwrap(), rng, now).unwrap().os;
        let signed = client_certificate(&os, &["os:reader"], rng, now, Duration::from_hours(1)).unwrap();
        Self { os, signed }
    }

    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_slice(self.signed.crt.text().as_bytes()).unwrap()]
    }

    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.signed.key.block().unwrap().1.into())
    }

    /// A server that anyone may ask.
    pub fn server(&self, versions: &[&'static SupportedProtocolVersion]) -> Arc<ServerConfig> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(versions).unwrap().with_no_client_auth();
        Arc::new(builder.with_single_cert(self.chain(), self.key()).unwrap())
    }
}

/// A guest that is not interested in who answers: the agent's certificate is not what is tried.
#[derive(Debug)]
pub struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
