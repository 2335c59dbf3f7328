//! The certificates by which a simulated node is known, and whose it takes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::fleet::{AuthMode, Fleet};
use ichor_talos::secrets::{IssueError, Pair, Pem, Server, server_certificate};
use ichor_tls::provider;
use ichor_values::Moment;
use rand_core::OsRng;
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// The name in the certificate of a machine that waits for its configuration.
const MAINTENANCE: &str = "maintenance-service.talos.dev";
/// The lifetime of certificates, as in Talos.
const LIFE: Duration = Duration::from_hours(24);

/// Why a node has no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    #[error("cannot issue its certificate")]
    Issue(#[from] IssueError),
    #[error("cannot use its certificate")]
    Use(#[from] rustls::Error),
    #[error("the authority in its configuration is not a CA certificate")]
    Judge(#[from] rustls::server::VerifierBuilderError),
    #[error("a certificate or key in its configuration is not PEM")]
    NotPem,
    #[error("no control plane can sign its certificate")]
    NoSigner,
}

/// The inputs of a certificate, read from the nodes under their lock.
pub struct CertificateRequest {
    authority: Option<Pair>,
    name: String,
    names: Vec<String>,
    addresses: Vec<IpAddr>,
    trusted: Vec<Pem>,
    skew: Duration,
    door: ServerApi,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ServerApi {
    Maintenance,
    Talos,
    Kubernetes,
}

impl CertificateRequest {
    /// For Talos' API on a machine.
    pub fn talos(fleet: &Fleet, nth: usize, lock: AuthMode) -> Result<Self, CertificateError> {
        let machine = &fleet.machines[nth];
        let skew = machine.faults.skew().unwrap_or_default();
        let addresses = fleet.certificate_addresses(nth);
        let (AuthMode::Mutual, Some(intent)) = (lock, &machine.intent) else {
            return Ok(Self {
                authority: None,
                name: MAINTENANCE.to_owned(),
                names: vec![machine.hostname()],
                addresses,
                trusted: Vec::new(),
                skew,
                door: ServerApi::Maintenance,
            });
        };
        let signer = fleet.signer(nth).ok_or(CertificateError::NoSigner)?;
        let (names, addresses) = certificate_names(machine.hostname(), addresses, &intent.sans);
        let trusted = std::iter::once(&intent.ca).chain(&intent.accepted).cloned().collect();
        let authority = Some(signer.os.clone());
        Ok(Self {
            authority,
            name: machine.hostname(),
            names,
            addresses,
            trusted,
            skew,
            door: ServerApi::Talos,
        })
    }

    /// For Kubernetes' API on a machine.
    pub fn kubernetes(fleet: &Fleet, nth: usize) -> Result<Self, CertificateError> {
        let machine = &fleet.machines[nth];
        let intent = machine.intent.as_ref().ok_or(CertificateError::NoSigner)?;
        let authority = &intent.authorities.as_ref().ok_or(CertificateError::NoSigner)?.k8s;
        let mut sans = intent.kubernetes_sans.clone();
        let host = intent.endpoint.split_once("://").map_or("", |(_, rest)| rest);
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        sans.push(host.trim_matches(['[', ']']).to_owned());
        sans.extend(["kubernetes", "kubernetes.default", "localhost", "127.0.0.1"].map(str::to_owned));
        let (names, addresses) =
            certificate_names(machine.hostname(), fleet.certificate_addresses(nth), &sans);
        Ok(Self {
            authority: Some(authority.clone()),
            name: "kube-apiserver".to_owned(),
            names,
            addresses,
            trusted: vec![authority.crt.clone()],
            skew: machine.faults.skew().unwrap_or_default(),
            door: ServerApi::Kubernetes,
        })
    }

    /// Makes it.
    pub(crate) fn make(&self) -> Result<Arc<ServerConfig>, CertificateError> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let server = Server { name: &self.name, names: &names, addresses: &self.addresses };
        let pair = server_certificate(self.authority.as_ref(), server, &mut OsRng, self.from(), LIFE)?;
        let (_, certificate) = pair.crt.block().ok_or(CertificateError::NotPem)?;
        let chain = vec![CertificateDer::from(certificate)];
        let provider = provider();
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?;
        let builder = if self.door == ServerApi::Maintenance {
            builder.with_no_client_auth()
        } else {
            let judge = WebPkiClientVerifier::builder_with_provider(self.roots()?, provider);
            let judge =
                if self.door == ServerApi::Kubernetes { judge.allow_unauthenticated() } else { judge };
            builder.with_client_cert_verifier(judge.build()?)
        };
        let key = pair.key.block().and_then(|(label, der)| ichor_tls::private_key(&label, der));
        let mut config = builder.with_single_cert(chain, key.ok_or(CertificateError::NotPem)?)?;
        let protocol: &[u8] = if self.door == ServerApi::Kubernetes { b"http/1.1" } else { b"h2" };
        config.alpn_protocols = vec![protocol.to_vec()];
        Ok(Arc::new(config))
    }

    /// From when on it is valid: a node whose clock is ahead makes certificates of tomorrow.
    fn from(&self) -> Moment {
        let now = ichor_system::now();
        if self.skew.is_zero() {
            // As Talos does, for clocks that differ by a little.
            return Moment::from_unix(now.unix().saturating_sub(10)).unwrap_or(now);
        }
        now.after(self.skew).unwrap_or(now)
    }

    fn roots(&self) -> Result<Arc<RootCertStore>, CertificateError> {
        let mut roots = RootCertStore::empty();
        for pem in &self.trusted {
            let (_, der) = pem.block().ok_or(CertificateError::NotPem)?;
            roots.add(CertificateDer::from(der))?;
        }
        Ok(Arc::new(roots))
    }
}

/// The names of a node's certificate: its own name and addresses, and those of its configuration.
fn certificate_names(
    hostname: String,
    mut addresses: Vec<IpAddr>,
    sans: &[String],
) -> (Vec<String>, Vec<IpAddr>) {
    let mut names = vec![hostname];
    for san in sans.iter().filter(|san| !san.is_empty()) {
        match san.parse() {
            Ok(address) => addresses.push(address),
            Err(_) => names.push(san.clone()),
        }
    }
    (names, addresses)
}
