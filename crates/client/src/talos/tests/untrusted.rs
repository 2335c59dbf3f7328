//! Servers that ask for a certificate without being of the cluster, and are never shown one.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use ichor_talos::secrets::{Pair, agent_certificate, self_signed};
use ichor_tls::provider;
use rand_core::OsRng;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme, SupportedProtocolVersion,
};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::super::trust::key;
use super::server::{bundle, trust};
use super::*;

/// A server that requests a certificate, accepts any or none, and records the one it received.
struct UntrustedServer {
    address: SocketAddr,
    shown: Arc<Mutex<Vec<Vec<u8>>>>,
    task: tokio::task::JoinHandle<bool>,
}

impl UntrustedServer {
    /// Shows `certificate`, and signs with the key of another pair, if need be.
    async fn start(version: &'static SupportedProtocolVersion, certificate: &Pair, keeper: &Pair) -> Self {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let certificate = CertificateDer::from(certificate.crt.block().unwrap().1);
        let key = provider().key_provider.load_private_key(key(&keeper.key).unwrap()).unwrap();
        let mut tls = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[version])
            .unwrap()
            .with_client_cert_verifier(Arc::new(CertificateRecorder(Arc::clone(&shown))))
            .with_cert_resolver(Arc::new(FixedCertificate(Arc::new(CertifiedKey::new(
                vec![certificate],
                key,
            )))));
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            TlsAcceptor::from(Arc::new(tls)).accept(stream).await.is_ok()
        });
        Self { address, shown, task }
    }

    /// Whether the greeting came to its end, and everything that was shown in it.
    async fn end(self) -> (bool, Vec<Vec<u8>>) {
        let greeted = self.task.await.unwrap();
        let shown = self.shown.lock().unwrap().clone();
        (greeted, shown)
    }
}

#[derive(Debug)]
struct CertificateRecorder(Arc<Mutex<Vec<Vec<u8>>>>);

impl ClientCertVerifier for CertificateRecorder {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.0.lock().unwrap().push(end_entity.to_vec());
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &provider().signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &provider().signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Shows a certificate whether or not it has its key, which rustls' own would see to.
#[derive(Debug)]
struct FixedCertificate(Arc<CertifiedKey>);

impl ResolvesServerCert for FixedCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

const VERSIONS: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS12, &rustls::version::TLS13];

#[tokio::test]
async fn a_server_of_another_cluster_never_receives_the_client_certificate() {
    let (ours, theirs) = (bundle(), bundle());
    let NodeTrust::Mutual(credentials) = trust(&ours) else { unreachable!() };
    let here = ["127.0.0.1".parse().unwrap()];
    let foreign = agent_certificate(&theirs.os, "cp1", &here).unwrap();
    let elsewhere = agent_certificate(&ours.os, "cp1", &["10.0.0.11".parse().unwrap()]).unwrap();
    let unsigned = self_signed("maintenance", &mut OsRng, ichor_system::now()).unwrap();
    let cases = [
        (&foreign, false, "not of this cluster"),
        (&unsigned, false, "not of this cluster"),
        (&elsewhere, true, "of this cluster, but not valid for this address"),
    ];

    for version in VERSIONS {
        for (pair, passing, words) in cases {
            let server = UntrustedServer::start(version, pair, pair).await;

            let met = NodeClient::meet("cp1", server.address, Some(&credentials)).await.unwrap();

            let ProbeResult::Other { reason, may_pass, .. } = met else {
                panic!("{version:?}: the peer was accepted")
            };
            assert!(reason.contains(words), "{version:?}: {reason}");
            assert_eq!(may_pass, passing, "{version:?}: {reason}");
            assert_eq!(server.end().await, (false, vec![]), "{version:?}: {reason}");

            let server = UntrustedServer::start(version, pair, pair).await;
            assert!(NodeClient::connect("cp1", server.address, &trust(&ours)).await.is_err());
            assert_eq!(server.end().await, (false, vec![]), "{version:?}: {reason}");
        }
    }
}

#[tokio::test]
async fn a_server_without_the_key_of_its_certificate_receives_no_client_certificate() {
    let ours = bundle();
    let NodeTrust::Mutual(credentials) = trust(&ours) else { unreachable!() };
    let copied = agent_certificate(&ours.os, "cp1", &["127.0.0.1".parse().unwrap()]).unwrap();
    let thief = agent_certificate(&bundle().os, "cp1", &["127.0.0.1".parse().unwrap()]).unwrap();

    for version in VERSIONS {
        let server = UntrustedServer::start(version, &copied, &thief).await;

        let met = NodeClient::meet("cp1", server.address, Some(&credentials)).await;

        assert!(met.is_err(), "{version:?}");
        assert_eq!(server.end().await, (false, vec![]), "{version:?}");
    }
}

#[tokio::test]
async fn a_server_of_the_cluster_receives_the_client_certificate() {
    let ours = bundle();
    let NodeTrust::Mutual(credentials) = trust(&ours) else { unreachable!() };
    let pair = agent_certificate(&ours.os, "cp1", &["127.0.0.1".parse().unwrap()]).unwrap();

    for version in VERSIONS {
        let server = UntrustedServer::start(version, &pair, &pair).await;

        // It ends after the greeting, so the connection may be of no use by then.
        let _ = NodeClient::meet("cp1", server.address, Some(&credentials)).await;

        let shown = vec![credentials.client.cert[0].to_vec()];
        assert_eq!(server.end().await, (true, shown), "{version:?}");
    }
}

#[tokio::test]
async fn a_client_without_secrets_sends_no_certificate() {
    let pair = self_signed("maintenance", &mut OsRng, ichor_system::now()).unwrap();

    for version in VERSIONS {
        let server = UntrustedServer::start(version, &pair, &pair).await;

        let met = NodeClient::meet("cp1", server.address, None).await.unwrap();

        assert!(
            matches!(met, ProbeResult::Other { reason, .. } if reason == "the node requires a client certificate")
        );
        assert_eq!(server.end().await.1, Vec::<Vec<u8>>::new(), "{version:?}");
    }
}
