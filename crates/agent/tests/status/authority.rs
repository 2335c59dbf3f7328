//! Authorities with certificates, generated as for a cluster.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ichor_talos::secrets::{Bundle, Pair, agent_certificate, client_certificate};
use ichor_values::Moment;
use ichor_values::TalosVersion;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

/// The OS authority of a cluster, and certificates that it signed: of a client, and of an agent on this machine.
pub struct Authority {
    pub os: Pair,
    pub signed: Pair,
    pub agent: Pair,
}

impl Authority {
    pub fn new(seed: u64) -> Self {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let now = Moment::from_unix(seconds - 60).unwrap();
        let os = Bundle::new(&TalosVersion::parse("v1.6").unwrap(), rng, now).unwrap().os;
        let signed = client_certificate(&os, &["os:reader"], rng, now, Duration::from_hours(1)).unwrap();
        let agent = agent_certificate(&os, "node1", &[Ipv4Addr::LOCALHOST.into()]).unwrap();
        Self { os, signed, agent }
    }

    /// The roots of a peer that trusts only this authority.
    pub fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.os.crt.text().as_bytes()).unwrap()).unwrap();
        roots
    }

    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_slice(self.signed.crt.text().as_bytes()).unwrap()]
    }

    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.signed.key.block().unwrap().1.into())
    }

    /// A server without client authentication.
    pub fn server(&self, versions: &[&'static SupportedProtocolVersion]) -> Arc<ServerConfig> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(versions).unwrap().with_no_client_auth();
        Arc::new(builder.with_single_cert(self.chain(), self.key()).unwrap())
    }
}
