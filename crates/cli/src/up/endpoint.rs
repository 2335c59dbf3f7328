//! Whether the Kubernetes API answers where the file says, by its own certificate.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ichor_core::bringup::Refusal;
use ichor_core::plan::Plan;
use ichor_talos::secrets::Pem;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{self, Instant};
use tokio_rustls::TlsConnector;

use super::act::Ended;

/// Where control planes have it.
pub(crate) const PORT: u16 = 6443;

/// Why the API does not answer as it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndpointError {
    #[error("it answers with status {0}")]
    Status(u16),
    #[error(transparent)]
    Unreached(io::Error),
    #[error("no answer in time")]
    Late,
}

/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(10);

/// Where the Kubernetes API is, and by whose certificate.
#[derive(Clone)]
pub(crate) struct Endpoint {
    /// For people.
    pub url: String,
    /// The host.
    pub host: String,
    /// The port there.
    pub port: u16,
    config: Arc<ClientConfig>,
}

impl Endpoint {
    /// Where a plan says that the API is, with a certificate of `authority`; none where it does not say.
    pub(crate) fn planned(plan: &Plan, authority: &Pem) -> Result<Option<Self>, rustls::Error> {
        let Some(planned) = plan.cluster.endpoint.as_ref().map(|planned| &planned.value) else {
            return Ok(None);
        };
        let place = match (planned.overlay_node(), planned.host()) {
            (Some(node), _) => plan
                .node(node)
                .and_then(|node| node.stages.overlay())
                .map(|address| (address.to_string(), PORT)),
            (None, host) => host.map(|host| (host.to_owned(), planned.port())),
        };
        place.map(|(host, port)| Self::new(planned.as_str(), &host, port, authority)).transpose()
    }

    /// The API at a host, with a certificate of `authority`.
    fn new(url: &str, host: &str, port: u16, authority: &Pem) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        let der = authority.block().map(|(_, der)| der).unwrap_or_default();
        roots.add(CertificateDer::from(der))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { url: url.to_owned(), host: host.to_owned(), port, config: Arc::new(config) })
    }

    /// Asks once; what is wrong otherwise.
    pub(crate) async fn answers(&self) -> Result<(), EndpointError> {
        match time::timeout(ATTEMPT, self.ask()).await {
            Ok(Ok(200 | 401 | 403)) => Ok(()),
            Ok(Ok(status)) => Err(EndpointError::Status(status)),
            Ok(Err(error)) => Err(EndpointError::Unreached(error)),
            Err(_) => Err(EndpointError::Late),
        }
    }

    /// The status of `/readyz`. Talos lets nobody in who has no certificate: being told so is an answer, too.
    async fn ask(&self) -> io::Result<u16> {
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        let mut stream = TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await?;
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let request =
            format!("GET /readyz HTTP/1.1\r\nHost: {host}:{}\r\nConnection: close\r\n\r\n", self.port);
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await?;
        let mut head = Vec::new();
        while !head.contains(&b'\n') && head.len() < 1024 {
            if stream.read_buf(&mut head).await? == 0 {
                break;
            }
        }
        status(&head).ok_or_else(|| io::Error::other("it does not speak HTTP"))
    }
}

/// Waits until the Kubernetes API answers.
pub(super) async fn reach(
    endpoint: Option<Endpoint>,
    patience: Duration,
    say: impl Fn(String),
) -> Result<String, Ended> {
    let Some(endpoint) = endpoint else {
        return Ok("its address is known once it joined the overlay".to_owned());
    };
    let start = Instant::now();
    let mut last = String::new();
    loop {
        let Err(error) = endpoint.answers().await else { return Ok(endpoint.url) };
        let reason = error.to_string();
        if reason != last {
            say(format!("{} does not answer yet: {reason}", endpoint.url));
            last.clone_from(&reason);
        }
        if start.elapsed() >= patience {
            let told = format!("{} did not answer within {} s: {reason}", endpoint.url, patience.as_secs());
            let remedy =
                "`ichor verify` looks for the cause: a VIP needs etcd, an anycast address its routes";
            return Err(Ended::Refused(Refusal::new(None, told, remedy)));
        }
        time::sleep((start.elapsed() / 10).clamp(Duration::from_millis(20), Duration::from_secs(2))).await;
    }
}

/// The status of an answer.
fn status(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_in_the_first_line() {
        assert_eq!(status(b"HTTP/1.1 401 Unauthorized\r\nContent-Type: x\r\n"), Some(401));
        assert_eq!(status(b"SSH-2.0-OpenSSH_9\r\n"), None);
        assert_eq!(status(b""), None);
    }
}
