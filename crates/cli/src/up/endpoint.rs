//! Probes the Kubernetes API at its endpoint, with its own CA.

use std::time::Duration;

use ichor_client::http::{Client, ClientOptions, Method, Payload, Request, RequestError, ServerTrust};
use ichor_core::bringup::Blocker;
use ichor_core::plan::Plan;
use ichor_talos::secrets::Pem;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use tokio::time::{self, Instant};

use super::talos_steps::StepError;

/// Port of the Kubernetes API on control plane nodes.
pub(crate) const PORT: u16 = 6443;

/// Time limit for one attempt.
const ATTEMPT: Duration = Duration::from_secs(10);

/// A failed probe of the Kubernetes API.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndpointError {
    #[error("no response in time")]
    NoAnswer,
    #[error("HTTP status {0}")]
    Status(u16),
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// Address and CA of the Kubernetes API.
#[derive(Clone)]
pub(crate) struct KubernetesEndpoint {
    /// URL for messages.
    pub url: String,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    client: Client,
}

impl KubernetesEndpoint {
    /// The planned endpoint with the CA `authority`; none if its address is unknown.
    pub(crate) fn planned(plan: &Plan, authority: &Pem) -> Result<Option<Self>, rustls::Error> {
        let Some(planned) = plan.cluster.endpoint.as_ref().map(|planned| &planned.value) else {
            return Ok(None);
        };
        let address = match (planned.overlay_node(), planned.host()) {
            (Some(node), _) => plan
                .node(node)
                .and_then(|node| node.stages.overlay())
                .map(|address| (address.to_string(), PORT)),
            (None, host) => host.map(|host| (host.to_owned(), planned.port())),
        };
        address.map(|(host, port)| Self::new(planned.as_str(), &host, port, authority)).transpose()
    }

    /// Creates an endpoint with the CA `authority`.
    fn new(url: &str, host: &str, port: u16, authority: &Pem) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        let der = authority.block().map(|(_, der)| der).unwrap_or_default();
        roots.add(CertificateDer::from(der))?;
        let client = Client::new(ClientOptions {
            trust: ServerTrust::Authority(roots),
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

    /// Sends one probe. A 401 or 403 counts as ready: Talos requires client certificates.
    pub(crate) async fn probe(&self) -> Result<(), EndpointError> {
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

/// Waits until the Kubernetes API is ready.
pub(super) async fn wait_until_ready(
    endpoint: Option<KubernetesEndpoint>,
    timeout: Duration,
    say: impl Fn(String),
) -> Result<String, StepError> {
    let Some(endpoint) = endpoint else {
        return Ok("its address is known once a control plane joins the overlay".to_owned());
    };
    let start = Instant::now();
    let mut last = String::new();
    loop {
        let Err(error) = endpoint.probe().await else { return Ok(endpoint.url) };
        let reason = error.to_string();
        if reason != last {
            say(format!("waiting for {}: {reason}", endpoint.url));
            last.clone_from(&reason);
        }
        if start.elapsed() >= timeout {
            let message = format!("{} was not ready within {} s: {reason}", endpoint.url, timeout.as_secs());
            let remedy =
                "run `ichor verify` to find the cause: a VIP needs etcd, an anycast address needs its routes";
            return Err(StepError::Refused(Blocker::new(None, message, remedy)));
        }
        time::sleep((start.elapsed() / 10).clamp(Duration::from_millis(20), Duration::from_secs(2))).await;
    }
}
