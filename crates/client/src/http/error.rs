//! Why a request has no response.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use super::CertificatePin;

/// A request without a complete answer.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// Not an address of a server.
    #[error("{0:?} is not a URL such as https://HOST/PATH")]
    Url(String),
    /// A header that HTTP does not allow.
    #[error("the request is malformed: {0}")]
    Malformed(#[from] hyper::http::Error),
    /// No connection to the server or the proxy.
    #[error(transparent)]
    Connect(io::Error),
    /// The name has no address.
    #[error("host not found")]
    NoAddress,
    /// The proxy did not connect.
    #[error("the proxy {proxy} returned status {status}")]
    Proxy {
        /// The address of the proxy, without a password.
        proxy: String,
        /// Its answer.
        status: u16,
    },
    /// A proxy of another kind.
    #[error("the proxy {0} is not an HTTP proxy")]
    ProxyScheme(String),
    /// TLS failed: most often, the certificate is not trusted.
    #[error(transparent)]
    Tls(rustls::Error),
    /// The server has another certificate than the expected one.
    #[error("the certificate has the fingerprint {shown}, expected {expected}")]
    OtherCertificate {
        /// The fingerprint of its certificate.
        shown: CertificatePin,
        /// The expected fingerprint.
        expected: CertificatePin,
    },
    /// The server did not answer in time.
    #[error("no response within {} s", .0.as_secs())]
    NoAnswer(Duration),
    /// The server stopped sending or receiving.
    #[error("no data for {} s", .0.as_secs())]
    Stalled(Duration),
    /// The server does not speak HTTP.
    #[error("the server does not speak HTTP")]
    NotHttp(#[source] hyper::Error),
    /// The connection ended early.
    #[error("connection lost")]
    Broken(#[source] hyper::Error),
    /// The answer ended early.
    #[error("the response is truncated")]
    BrokenBody(#[source] hyper::Error),
    /// The payload cannot be read.
    #[error("cannot read the request body")]
    Payload(#[source] io::Error),
    /// The answer is longer than the caller reads.
    #[error("the response is larger than {0} bytes")]
    TooLong(u64),
    /// Servers redirect to each other.
    #[error("too many redirects")]
    TooManyRedirects,
    /// A redirect that cannot be followed.
    #[error("cannot follow the redirect to {0:?}")]
    Redirect(String),
}

impl RequestError {
    /// An error of a connection that is being made: TLS hides its own in those of the stream.
    pub(super) fn connect(error: io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(tls) => Self::Tls(tls.clone()),
            None => Self::Connect(error),
        }
    }

    /// An error of a connection that was made.
    pub(super) fn broken(error: hyper::Error) -> Self {
        if error.is_parse() { Self::NotHttp(error) } else { Self::Broken(error) }
    }

    /// Whether the server was reached and is not the one that is trusted: repeating the request does not help.
    pub fn is_distrust(&self) -> bool {
        match self {
            Self::Tls(_) | Self::OtherCertificate { .. } => true,
            Self::Broken(error) | Self::BrokenBody(error) => is_tls(error),
            _ => false,
        }
    }
}

/// Whether TLS ended a connection, for example because the server rejects the client's certificate.
fn is_tls(error: &hyper::Error) -> bool {
    let io = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    io.is_some_and(|io| io.kind() == io::ErrorKind::InvalidData)
}
