//! Pages over mutual TLS, for clients with a certificate of the right authority.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use ichor_bgp::agent::config;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::time;
use tokio_rustls::TlsAcceptor;

use super::connection_limit::ConnectionLimit;
use super::{PAUSE, StatusSource, page};
use crate::log;

/// Why the status cannot be served over mutual TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate is missing or invalid.
    #[error("`status_listener.{0}` has no valid certificate; want PEM")]
    Certificate(&'static str),
    /// The key is invalid.
    #[error("`status_listener.private_key` has no valid key; want PEM of PKCS #8, SEC 1 or PKCS #1")]
    Key,
    /// The authority cannot verify certificates.
    #[error("`status_listener.client_ca` cannot verify certificates")]
    Authority(#[source] VerifierBuilderError),
    /// The key does not match the certificate.
    #[error("`status_listener.certificate` and `status_listener.private_key` do not belong together")]
    Pair(#[source] rustls::Error),
    /// The address cannot be bound.
    #[error("cannot serve the status on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
}

/// A listening port, and the authority of its clients.
pub struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

/// The address to listen on, the authority of clients, and the agent's certificate.
pub struct TlsConfig {
    address: SocketAddr,
    configuration: ServerConfig,
}

impl TlsConfig {
    /// Reads certificates, and changes nothing.
    pub fn read(status: &config::StatusListener) -> Result<Self, TlsError> {
        let address = SocketAddr::new(status.listen, status.port);
        Ok(Self { address, configuration: configuration(status)? })
    }
}

impl TlsListener {
    /// Listens. The address may be assigned later, by the routing.
    pub fn open(config: TlsConfig) -> Result<Self, TlsError> {
        let TlsConfig { address, configuration } = config;
        let listener = listen(address).map_err(|source| TlsError::Bind { address, source })?;
        Ok(Self { listener, acceptor: TlsAcceptor::from(Arc::new(configuration)) })
    }

    /// The bound address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves pages until it is dropped.
    pub async fn serve(self, source: StatusSource) {
        let mut connections = ConnectionLimit::default();
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    let (acceptor, source) = (self.acceptor.clone(), source.clone());
                    connections.serve(async move {
                        match acceptor.accept(stream).await {
                            Ok(stream) => page::serve(stream, source).await,
                            Err(error) => log::debug(format_args!("rejected {from}: {error}")),
                        }
                    });
                }
                Err(error) => {
                    log::warn(format_args!("cannot accept a connection to the status: {error}"));
                    time::sleep(PAUSE).await;
                }
            }
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    match address {
        SocketAddr::V4(_) => socket.set_freebind_v4(true)?,
        SocketAddr::V6(_) => {
            socket.set_only_v6(true)?;
            socket.set_freebind_v6(true)?;
        }
    }
    socket.bind(&address.into())?;
    socket.listen(128)?;
    TcpListener::from_std(socket.into())
}

fn configuration(status: &config::StatusListener) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    for root in certificates("client_ca", &status.ca)? {
        roots.add(root).map_err(|_| TlsError::Certificate("client_ca"))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let mut configuration = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .expect("ring has suites for both")
        .with_client_cert_verifier(verifier.build().map_err(TlsError::Authority)?)
        .with_single_cert(certificates("certificate", &status.certificate)?, key(&status.key)?)
        .map_err(TlsError::Pair)?;
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(configuration)
}

fn certificates(name: &'static str, text: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or(TlsError::Certificate(name))
}

/// Talos writes `ED25519 PRIVATE KEY` for ordinary PKCS #8.
fn key(key: &config::SecretText) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = key.0.replace("ED25519 PRIVATE KEY", "PRIVATE KEY");
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| TlsError::Key)
}
