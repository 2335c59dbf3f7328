//! Calls of Talos' API as bytes, without the message types of ichor.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use ichor_talos::api::method;
use ichor_talos::secrets::Pair;
use ichor_tls::{CertificateRule, CertificateVerifier, client_config, private_key, provider};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use tokio::net::TcpStream;
use tokio::time;
use tokio_rustls::TlsConnector;

/// The error of a call that has no answer within the limit.
pub const NO_ANSWER: &str = "no answer";

/// Time limit for the first message of an answer.
const LIMIT: Duration = Duration::from_secs(20);

/// How long a health check may be silent.
const HEALTH: Duration = Duration::from_secs(5);

/// The identity that a client shows.
#[derive(Clone)]
pub enum Identity {
    /// No TLS.
    Plain,
    /// TLS without a client certificate.
    Anonymous,
    /// TLS with a client certificate.
    Certificate(Arc<CertifiedKey>),
}

impl Identity {
    /// The certificate and key of a pair.
    pub fn of_pair(pair: &Pair) -> Self {
        let ((_, certificate), (label, key)) = (pair.crt.block().unwrap(), pair.key.block().unwrap());
        let key = private_key(&label, key).unwrap();
        let own = CertifiedKey::from_der(vec![CertificateDer::from(certificate)], key, &provider());
        Self::Certificate(Arc::new(own.unwrap()))
    }
}

/// An answer to a call.
pub struct RawAnswer {
    /// The messages, encoded.
    pub messages: Vec<Vec<u8>>,
    /// Code and message of the status; none if the stream stays open.
    pub status: Option<(i32, String)>,
}

/// A connection.
pub struct RawClient {
    sender: SendRequest<Full<Bytes>>,
    /// How long a stream may be silent before its answer is complete.
    silence: Duration,
}

impl RawClient {
    /// Connects; the error is that of TLS or HTTP/2.
    pub async fn connect(
        address: SocketAddr,
        identity: &Identity,
        silence: Duration,
    ) -> Result<Self, String> {
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        let client = match identity {
            Identity::Plain => {
                return Self::greet(
                    http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await,
                    silence,
                );
            }
            Identity::Anonymous => None,
            Identity::Certificate(own) => Some(Arc::clone(own)),
        };
        let verifier = CertificateVerifier::new(CertificateRule::Any, client);
        let connector = TlsConnector::from(Arc::new(client_config(&verifier, &[&TLS13, &TLS12], &[b"h2"])));
        let stream = connector.connect(ServerName::from(address.ip()), stream).await;
        let stream = stream.map_err(|error| error.to_string())?;
        Self::greet(http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await, silence)
    }

    fn greet<C>(made: hyper::Result<(SendRequest<Full<Bytes>>, C)>, silence: Duration) -> Result<Self, String>
    where
        C: Future<Output = hyper::Result<()>> + Send + 'static,
    {
        let (sender, connection) = made.map_err(|error| error.to_string())?;
        tokio::spawn(connection);
        Ok(Self { sender, silence })
    }

    /// Makes a call; the error is that of the connection.
    pub async fn call(&mut self, path: &str, request: &[u8]) -> Result<RawAnswer, String> {
        let length = u32::try_from(request.len()).unwrap().to_be_bytes();
        let body = [&[0][..], &length, request].concat();
        let request = Request::post(format!("https://node{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        self.sender.ready().await.map_err(|error| error.to_string())?;
        let response = time::timeout(LIMIT, self.sender.send_request(request)).await;
        let response = response.map_err(|_| NO_ANSWER.to_owned())?.map_err(|error| error.to_string())?;
        // A health check is silent between its attempts.
        let silence = if path == method::HEALTH_CHECK { self.silence.max(HEALTH) } else { self.silence };
        Self::read(response, silence).await
    }

    async fn read(response: Response<Incoming>, silence: Duration) -> Result<RawAnswer, String> {
        let mut status = status(response.headers());
        let mut body = response.into_body();
        let (mut bytes, mut messages) = (Vec::new(), Vec::new());
        while status.is_none() {
            let Ok(frame) = time::timeout(silence, body.frame()).await else { break };
            let Some(frame) = frame else { break };
            match frame.map_err(|error| error.to_string())?.into_data() {
                Ok(data) => bytes.extend(data),
                Err(frame) => status = frame.trailers_ref().and_then(self::status),
            }
            while let Some((message, rest)) = message(&bytes) {
                messages.push(message);
                bytes = rest;
            }
        }
        Ok(RawAnswer { messages, status })
    }
}

/// The first complete message, and the bytes after it.
fn message(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let length = u32::from_be_bytes(bytes.get(1..5)?.try_into().ok()?) as usize;
    Some((bytes.get(5..5 + length)?.to_vec(), bytes[5 + length..].to_vec()))
}

fn status(headers: &HeaderMap) -> Option<(i32, String)> {
    let code = headers.get("grpc-status")?.to_str().ok()?.parse().ok()?;
    let text = headers.get("grpc-message").map_or("", |text| text.to_str().unwrap_or_default());
    Some((code, percent_decoded(text)))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
