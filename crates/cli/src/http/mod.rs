//! Asking servers over HTTP. Proxies come from the environment, trusted certificates from the system; a server of one's own
//! may have a [`Trust`] of its own.

mod pin;

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use ureq::config::ConfigBuilder;
use ureq::http::{Method, Request, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector as _, TcpConnector};
use ureq::{Agent, AsSendBody, Body, SendBody};

pub(crate) use pin::Pin;
use pin::PinnedConnector;

/// How long a server may take to be reached and to start its answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long an answer, or what is sent, may stand still.
const STALL: Duration = Duration::from_mins(1);

/// The longest text that is read from a server.
const LONGEST_TEXT: u64 = 4 << 20;

/// A server that could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach {url}")]
pub(crate) struct HttpError {
    url: String,
    source: Box<ureq::Error>,
}

impl HttpError {
    /// Whether it was reached, and is not whom it should be: asking again does not help.
    pub(crate) fn is_distrust(&self) -> bool {
        match &*self.source {
            ureq::Error::Rustls(_) => true,
            ureq::Error::Io(error) => error.kind() == std::io::ErrorKind::InvalidData,
            _ => false,
        }
    }
}

/// What is sent with a request.
pub(crate) enum Load<'l> {
    /// Nothing, not even that it is empty.
    None,
    /// Bytes, of which there may be none.
    Bytes(&'l [u8]),
    /// What a reader gives, and how many bytes that are.
    Stream(&'l mut dyn Read, u64),
}

/// Which certificate a server must have.
#[derive(Clone, Debug)]
pub(crate) enum Trust {
    /// One that the system trusts.
    System,
    /// One of this authority, in the form of PEM; there may be more than one.
    Authority(Vec<u8>),
    /// This one.
    Pinned(Pin),
}

/// Somebody who asks.
#[derive(Debug)]
pub(crate) struct Client {
    agent: Agent,
}

impl Client {
    pub(crate) fn new() -> Client {
        // A factory that never made this image makes it while we wait.
        let config = config(system_roots()).timeout_recv_response(Some(PATIENCE * 10)).build();
        Client { agent: config.new_agent() }
    }

    /// Asks one server, which sends nobody elsewhere.
    pub(crate) fn of_one(trust: &Trust) -> Client {
        let roots = match trust {
            Trust::System => system_roots(),
            Trust::Authority(pem) => authority(pem),
            Trust::Pinned(_) => RootCerts::new_with_certs(&[]),
        };
        let config = config(roots).timeout_recv_response(Some(PATIENCE * 2)).max_redirects(0).build();
        let Trust::Pinned(pin) = trust else { return Client { agent: config.new_agent() } };
        let connector =
            ().chain(TcpConnector::default())
                .chain(ConnectProxyConnector::default())
                .chain(PinnedConnector::new(*pin, provider()));
        Client { agent: Agent::with_parts(config, connector, DefaultResolver::default()) }
    }

    pub(crate) fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Response<Body>, HttpError> {
        let mut request = self.agent.get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.call().map_err(|source| failed(url, source))
    }

    /// Any other request.
    pub(crate) fn send(
        &self,
        method: &Method,
        url: &str,
        headers: &[(&str, &str)],
        load: Load<'_>,
    ) -> Result<Response<Body>, HttpError> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        match load {
            Load::None => self.run(url, request.body(())),
            Load::Bytes(bytes) => self.run(url, request.body(bytes)),
            Load::Stream(reader, length) => {
                let request = request.header("content-length", length);
                self.run(url, request.body(SendBody::from_reader(reader)))
            }
        }
    }

    fn run<B: AsSendBody>(
        &self,
        url: &str,
        request: ureq::http::Result<Request<B>>,
    ) -> Result<Response<Body>, HttpError> {
        let ran = request.map_err(ureq::Error::from).and_then(|request| self.agent.run(request));
        ran.map_err(|source| failed(url, source))
    }

    pub(crate) fn post(&self, url: &str, kind: &str, text: &str) -> Result<Response<Body>, HttpError> {
        self.agent.post(url).content_type(kind).send(text).map_err(|source| failed(url, source))
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// What all have in common who ask.
fn config(roots: RootCerts) -> ConfigBuilder<AgentScope> {
    let tls = TlsConfig::builder().root_certs(roots).unversioned_rustls_crypto_provider(provider()).build();
    Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .user_agent(concat!("ichor/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(PATIENCE))
        .timeout_per_read(Some(STALL))
        .timeout_per_write(Some(STALL))
}

/// The certificates of a file.
fn authority(pem: &[u8]) -> RootCerts {
    let certificates: Vec<_> = ureq::tls::parse_pem(pem)
        .filter_map(|item| match item {
            Ok(ureq::tls::PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    RootCerts::new_with_certs(&certificates)
}

/// The certificates the system trusts: a factory inside a company has one of the company's.
fn system_roots() -> RootCerts {
    let found = rustls_native_certs::load_native_certs().certs;
    let certificates: Vec<_> = found.iter().map(|found| Certificate::from_der(found).to_owned()).collect();
    RootCerts::new_with_certs(&certificates)
}

fn failed(url: &str, source: ureq::Error) -> HttpError {
    HttpError { url: shown(url), source: Box::new(source) }
}

/// The text of an answer.
pub(crate) fn text(url: &str, response: &mut Response<Body>) -> Result<String, HttpError> {
    let body = response.body_mut().with_config().limit(LONGEST_TEXT).lossy_utf8(true);
    body.read_to_string().map_err(|source| failed(url, source))
}

/// The bytes of an answer, and at most one more than `most`.
pub(crate) fn bytes(url: &str, response: &mut Response<Body>, most: u64) -> Result<Vec<u8>, HttpError> {
    let mut bytes = Vec::new();
    let body = response.body_mut().with_config().limit(u64::MAX).reader();
    let read = body.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| failed(url, ureq::Error::from(error)))?;
    Ok(bytes)
}

/// An answer as it comes, however long it is.
pub(crate) fn reader(response: Response<Body>) -> impl Read + 'static {
    response.into_body().into_with_config().limit(u64::MAX).reader()
}

/// The first line of an error's text, if it is one for people to read in a terminal.
pub(crate) fn complaint(url: &str, response: &mut Response<Body>) -> String {
    let status = response.status();
    let text = text(url, response).unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.is_empty() || line.starts_with('<') {
        return status.to_string();
    }
    format!("{status}: {}", line.chars().filter(|c| !c.is_control()).take(300).collect::<String>())
}

/// A URL without the password it may hold.
pub(crate) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{}", &rest[end..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(shown("https://me:hunter2@factory.sol/a@b"), "https://***@factory.sol/a@b");
        assert_eq!(shown("https://factory.sol/a@b"), "https://factory.sol/a@b");
    }
}
