//! From an origin to a connection: name lookup, TCP, a proxy, TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::http1;
use hyper::header::{HOST, PROXY_AUTHORIZATION, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use ichor_tls::{CertificateRule, CertificateVerifier, client_config};
use rustls::SupportedProtocolVersion;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{self, Instant};
use tokio_rustls::TlsConnector;

use super::pool::{HttpConnection, Origin};
use super::proxy::Proxy;
use super::trust::{CertificatePin, ClientIdentity, ServerTrust};
use super::{Payload, RequestError};

/// The `User-Agent` header.
pub(super) const AGENT: &str = concat!("ichor/", env!("CARGO_PKG_VERSION"));

/// A connection of any kind.
trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

type BoxStream = Box<dyn ByteStream>;

/// Makes connections.
#[derive(Debug)]
pub(super) struct Connector {
    rule: CertificateRule,
    pin: Option<CertificatePin>,
    identity: Option<ClientIdentity>,
    proxy: Option<Proxy>,
    patience: Duration,
}

impl Connector {
    pub(super) fn new(
        trust: &ServerTrust,
        identity: Option<ClientIdentity>,
        proxy: Option<Proxy>,
        patience: Duration,
    ) -> Self {
        let pin = if let ServerTrust::Pinned(pin) = trust { Some(*pin) } else { None };
        Self { rule: trust.rule(), pin, identity, proxy, patience }
    }

    /// Connects, all in all within the client's patience.
    pub(super) async fn connect(&self, origin: &Origin) -> Result<HttpConnection, RequestError> {
        let stream = time::timeout(self.patience, self.open(origin)).await;
        let stream = stream.map_err(|_| RequestError::NoAnswer(self.patience))??;
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(RequestError::broken)?;
        // It ends when its sender and the last answer are dropped; its errors are those of the request.
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn open(&self, origin: &Origin) -> Result<BoxStream, RequestError> {
        let stream = match self.proxy.as_ref().filter(|proxy| proxy.is_for(&origin.host)) {
            Some(proxy) => self.tunnel(proxy, origin).await?,
            None => Box::new(self.dial(&origin.host, origin.port).await?),
        };
        if origin.is_https { self.greet(&origin.host, stream).await } else { Ok(stream) }
    }

    /// Tries the addresses of a host in turn. All but the last get half of the time that is left.
    async fn dial(&self, host: &str, port: u16) -> Result<TcpStream, RequestError> {
        let end = Instant::now() + self.patience;
        let addresses: Vec<SocketAddr> =
            lookup_host((host, port)).await.map_err(RequestError::Connect)?.collect();
        let mut last = RequestError::NoAddress;
        for (nth, address) in addresses.iter().enumerate() {
            let left = end - Instant::now();
            let share = if nth + 1 == addresses.len() { left } else { left / 2 };
            last = match time::timeout(share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Requests are short and answered at once.
                    stream.set_nodelay(true).map_err(RequestError::Connect)?;
                    return Ok(stream);
                }
                Ok(Err(error)) => RequestError::Connect(error),
                Err(_) => RequestError::NoAnswer(self.patience),
            };
        }
        Err(last)
    }

    /// Has a proxy connect to an origin.
    async fn tunnel(&self, proxy: &Proxy, origin: &Origin) -> Result<BoxStream, RequestError> {
        let shown = proxy.uri.to_string().trim_end_matches('/').to_owned();
        let place = Origin::from_uri(&proxy.uri).ok_or_else(|| RequestError::ProxyScheme(shown.clone()))?;
        let stream: BoxStream = Box::new(self.dial(&place.host, place.port).await?);
        let stream = if place.is_https { self.greet(&place.host, stream).await? } else { stream };
        let (mut sender, connection) =
            http1::handshake::<_, Payload>(TokioIo::new(stream)).await.map_err(RequestError::broken)?;
        tokio::spawn(connection.with_upgrades());
        let authority = origin.authority();
        let mut request = Request::builder()
            .method(Method::CONNECT)
            .uri(&authority)
            .header(HOST, &authority)
            .header(USER_AGENT, AGENT);
        if let Some(authorization) = &proxy.authorization {
            request = request.header(PROXY_AUTHORIZATION, authorization);
        }
        let request = request.body(Payload::none())?;
        let response = sender.send_request(request).await.map_err(RequestError::broken)?;
        if response.status() != StatusCode::OK {
            return Err(RequestError::Proxy { proxy: shown, status: response.status().as_u16() });
        }
        let upgraded = hyper::upgrade::on(response).await.map_err(RequestError::broken)?;
        Ok(Box::new(TokioIo::new(upgraded)))
    }

    /// Performs the TLS handshake with the server.
    async fn greet(&self, host: &str, stream: BoxStream) -> Result<BoxStream, RequestError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| RequestError::Url(host.to_owned()))?;
        let client = self.identity.as_ref().map(|identity| Arc::clone(&identity.0));
        let versions: &[&SupportedProtocolVersion] =
            if client.is_some() { &[&TLS13] } else { &[&TLS13, &TLS12] };
        // A verifier per handshake: it stores the server's certificate.
        let verifier = CertificateVerifier::new(self.rule.clone(), client);
        let config = client_config(&verifier, versions, &[]);
        match TlsConnector::from(Arc::new(config)).connect(name, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(self.refusal(error, &verifier)),
        }
    }

    fn refusal(&self, error: io::Error, verifier: &CertificateVerifier) -> RequestError {
        if let (Some(expected), Some(certificate)) = (self.pin, verifier.certificate()) {
            let shown = CertificatePin::from_der(certificate);
            if shown != expected {
                return RequestError::OtherCertificate { shown, expected };
            }
        }
        RequestError::connect(error)
    }
}
