//! GET of a URL, with a certificate nobody judges.

use std::io;
use std::sync::{Arc, OnceLock};

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST, USER_AGENT};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Bad;

/// The longest head of an answer.
const HEAD: usize = 16 * 1024;

pub(super) async fn ask(url: &str) -> Result<(), Bad> {
    let not_url = || Bad::Url(url.to_owned());
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
    let connect = |source| Bad::Connect { to: authority.to_string(), source };
    let stream = TcpStream::connect((host, port)).await.map_err(connect)?;
    if !tls {
        return get(&uri, stream).await;
    }
    let connector = TlsConnector::from(configuration());
    let refused = |source: io::Error| Bad::Tls { with: authority.to_string(), source };
    let stream = connector.connect(name, stream).await.map_err(refused)?;
    get(&uri, stream).await
}

/// The head of the answer is all that is read.
async fn get(uri: &Uri, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Result<(), Bad> {
    let http = |source| Bad::Http { of: uri.to_string(), source };
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
        .map_err(|_| Bad::Url(uri.to_string()))?;
    let answer = sender.send_request(request);
    tokio::pin!(answer);
    tokio::pin!(connection);
    // The connection ends with this function: nothing of it goes on in the background.
    let answer = tokio::select! {
        biased;
        answer = &mut answer => answer,
        ended = &mut connection => match ended {
            Ok(()) => answer.await,
            Err(source) => Err(source),
        },
    };
    let status = answer.map_err(http)?.status();
    if status.is_success() {
        Ok(())
    } else {
        Err(Bad::Status { of: uri.to_string(), status: status.as_u16() })
    }
}

fn configuration() -> Arc<ClientConfig> {
    static MADE: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let make = || {
        let provider = Arc::new(ring::default_provider());
        let mut configuration = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .expect("ring has suites for both")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
            .with_no_client_auth();
        configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
        Arc::new(configuration)
    };
    Arc::clone(MADE.get_or_init(make))
}

/// Takes any certificate: it is the node's own API that is asked, and only whether it is well.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

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
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
