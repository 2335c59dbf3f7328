//! Whether the Kubernetes API answers where the file says, by its own certificate.

use std::time::Duration;

use ichor_client::http::{Client, ClientOptions, Method, Payload, Request, RequestError, Trust};
use ichor_core::bringup::Blocker;
use ichor_core::plan::Plan;
use ichor_talos::secrets::Pem;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use tokio::time::{self, Instant};

use super::act::Ended;

/// Where control planes have it.
pub(crate) const PORT: u16 = 6443;

/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(10);

/// The Kubernetes API is not ready.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndpointError {
    #[error("no answer in time")]
    NoAnswer,
    #[error("it answers with status {0}")]
    Status(u16),
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// Where the Kubernetes API is, and by whose certificate.
#[derive(Clone)]
pub(crate) struct Endpoint {
    /// For people.
    pub url: String,
    /// The host.
    pub host: String,
    /// The port there.
    pub port: u16,
    client: Client,
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
        let client = Client::new(ClientOptions {
            trust: Trust::Authority(roots),
            identity: None,
            proxy: None,
            connect_within: ATTEMPT,
            answer_within: ATTEMPT,
            stall: ATTEMPT,
            redirects: 0,
            keeps_connections: false,
        });
        Ok(Self { url: url.to_owned(), host: host.to_owned(), port, client })
    }

    /// Asks once; what is wrong otherwise. Talos lets nobody in who has no certificate: a refusal is an answer.
    pub(crate) async fn answers(&self) -> Result<(), EndpointError> {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let request = Request {
            method: Method::GET,
            url: format!("https://{host}:{}/readyz", self.port),
            headers: Vec::new(),
            payload: Payload::none(),
        };
        match time::timeout(ATTEMPT, self.client.send(request)).await {
            Err(_) | Ok(Err(RequestError::NoAnswer(_))) => Err(EndpointError::NoAnswer),
            Ok(Err(error)) => Err(error.into()),
            Ok(Ok(response)) => match response.status().as_u16() {
                200 | 401 | 403 => Ok(()),
                status => Err(EndpointError::Status(status)),
            },
        }
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
            return Err(Ended::Refused(Blocker::new(None, told, remedy)));
        }
        time::sleep((start.elapsed() / 10).clamp(Duration::from_millis(20), Duration::from_secs(2))).await;
    }
}
