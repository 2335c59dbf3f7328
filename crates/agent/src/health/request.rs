//! GET of a URL, without verification of the certificate.

use std::io;
use std::sync::{Arc, OnceLock};

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST, USER_AGENT};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use ichor_tls::{CertificateRule, CertificateVerifier, client_config};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::ProbeError;

/// The longest response head.
const HEAD: usize = 16 * 1024;

pub(super) async fn get_url(url: &str) -> Result<(), ProbeError> {
    let not_url = || ProbeError::Url(url.to_owned());
    let uri: Uri = url.parse().map_err(|_| not_url())?;
    let authority =
        uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(not_url)?;
    let tls = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(not_url()),
    };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
    let name = ServerName::try_from(host.to_owned()).map_err(|_| not_url())?;
    let connect = |source| ProbeError::Connect { to: authority.to_string(), source };
    let stream = TcpStream::connect((host, port)).await.map_err(connect)?;
    if !tls {
        return get(&uri, stream).await;
    }
    let connector = TlsConnector::from(configuration());
    let refused = |source: io::Error| ProbeError::Tls { with: authority.to_string(), source };
    let stream = connector.connect(name, stream).await.map_err(refused)?;
    get(&uri, stream).await
}

/// Only the head of the response is read.
async fn get(
    uri: &Uri,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<(), ProbeError> {
    let http = |source| ProbeError::Http { of: uri.to_string(), source };
    let mut builder = http1::Builder::new();
    let (mut sender, connection) =
        builder.max_buf_size(HEAD).handshake(TokioIo::new(stream)).await.map_err(http)?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let request = Request::get(path)
        .header(HOST, host)
        .header(USER_AGENT, "ichor-agent")
        .header(CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|_| ProbeError::Url(uri.to_string()))?;
    let response = sender.send_request(request);
    tokio::pin!(response);
    tokio::pin!(connection);
    // The connection ends with this function: nothing continues in the background.
    let response = tokio::select! {
        biased;
        response = &mut response => response,
        ended = &mut connection => match ended {
            Ok(()) => response.await,
            Err(source) => Err(source),
        },
    };
    let status = response.map_err(http)?.status();
    if status.is_success() {
        Ok(())
    } else {
        Err(ProbeError::Status { of: uri.to_string(), status: status.as_u16() })
    }
}

fn configuration() -> Arc<ClientConfig> {
    static MADE: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    // The target is the node's own API, and only its health matters: its certificate does not.
    let make = || {
        let verifier = CertificateVerifier::new(CertificateRule::Unproven, None);
        Arc::new(client_config(&verifier, &[&TLS13, &TLS12], &[b"http/1.1"]))
    };
    Arc::clone(MADE.get_or_init(make))
}
