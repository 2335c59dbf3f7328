//! A minimal client of the Talos API, so that the simulator is not tested with ichor's own client.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use ichor_talos::api::PORT;
use ichor_talos::secrets::{Pair, Pem};
use ichor_tls::{CertificateRule, CertificateVerifier};
use prost::Message;
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::client::Grpc;
use tonic::codegen::http::Uri;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

/// Credentials for a connection.
#[derive(Clone)]
pub enum Key {
    /// No credentials; every server is trusted.
    None,
    /// A client certificate; the server must have a certificate of the CA.
    Certificate(Arc<(Pem, Pair)>),
}

/// A connection.
pub struct Client(Grpc<Channel>);

impl Client {
    /// Connects to a node.
    pub async fn connect(address: IpAddr, key: &Key) -> Result<Self, String> {
        let config = Arc::new(config(key));
        let connector = Connector { address: SocketAddr::new(address, PORT), config };
        let endpoint = Endpoint::from_static("http://node").connect_timeout(Duration::from_secs(5));
        let channel = endpoint.connect_with_connector(connector).await;
        channel.map(|channel| Self(Grpc::new(channel))).map_err(|error| format!("{error:?}"))
    }

    /// A unary call.
    pub async fn call<Q, A>(&mut self, path: &'static str, request: Q) -> Result<A, Status>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        self.0.ready().await.map_err(|error| Status::unavailable(format!("{error:?}")))?;
        let path = PathAndQuery::from_static(path);
        let answer = self.0.unary(Request::new(request), path, ProstCodec::<Q, A>::default()).await;
        answer.map(tonic::Response::into_inner)
    }

    /// A server-streaming call.
    pub async fn stream<Q, A>(&mut self, path: &'static str, request: Q) -> Result<Streaming<A>, Status>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        self.0.ready().await.map_err(|error| Status::unavailable(format!("{error:?}")))?;
        let path = PathAndQuery::from_static(path);
        let answer =
            self.0.server_streaming(Request::new(request), path, ProstCodec::<Q, A>::default()).await;
        answer.map(tonic::Response::into_inner)
    }

    /// All messages of a stream.
    pub async fn all<Q, A>(&mut self, path: &'static str, request: Q) -> Result<Vec<A>, Status>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        let mut stream = self.stream(path, request).await?;
        let mut all = Vec::new();
        while let Some(piece) = stream.message().await? {
            all.push(piece);
        }
        Ok(all)
    }
}

#[derive(Clone)]
struct Connector {
    address: SocketAddr,
    config: Arc<ClientConfig>,
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<tokio_rustls::client::TlsStream<TcpStream>>;
    type Error = std::io::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let (address, config) = (self.address, Arc::clone(&self.config));
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            let name = ServerName::from(address.ip());
            Ok(TokioIo::new(TlsConnector::from(config).connect(name, stream).await?))
        })
    }
}

fn config(key: &Key) -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous();
    let mut config = match key {
        Key::None => builder
            .with_custom_certificate_verifier(CertificateVerifier::new(CertificateRule::Unproven, None))
            .with_no_client_auth(),
        Key::Certificate(known) => {
            let (authority, pair) = known.as_ref();
            let mut roots = RootCertStore::empty();
            roots.add(der(authority)).unwrap();
            let judge =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            let key = pair.key.block().unwrap();
            assert_eq!(key.0, "ED25519 PRIVATE KEY");
            builder
                .with_custom_certificate_verifier(judge)
                .with_client_auth_cert(vec![der(&pair.crt)], PrivateKeyDer::Pkcs8(key.1.into()))
                .unwrap()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

fn der(pem: &Pem) -> CertificateDer<'static> {
    CertificateDer::from(pem.block().unwrap().1)
}
