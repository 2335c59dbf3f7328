//! The same session with a real node and with a simulated one.

use std::net::SocketAddr;
use std::time::Duration;

use ichor_talos::api::cosi::{GetRequest, GetResponse};
use ichor_talos::api::machine::{ServiceInfo, ServiceListResponse};
use ichor_talos::api::method;
use ichor_talos::resource::{MachineStatus, Resource, ResourceKind as _};
use ichor_talos::secrets::{Bundle, Pair, client_certificate, self_signed};
use prost::Message as _;
use rand_core::OsRng;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::answers::{Recorder, Release};
use super::calls::{self, Call};
use super::wire::{Identity, NO_ANSWER, RawAnswer, RawClient};

/// How often a call is repeated whose connection ends.
const RETRIES: usize = 5;
const HOUR: Duration = Duration::from_hours(1);

/// The services in a list.
fn services(answer: &[u8]) -> Vec<ServiceInfo> {
    let list = ServiceListResponse::decode(answer).unwrap();
    list.messages.into_iter().flat_map(|list| list.services).collect()
}

/// A session with a node that waits for the configuration `valid`.
pub struct Session<'s> {
    pub release: &'s Release,
    /// The secrets of its cluster.
    pub bundle: Bundle,
    pub valid: &'s str,
    /// How long a stream is silent once all is said.
    pub silence: Duration,
}

impl Session<'_> {
    /// An identity with a role in the cluster.
    fn with_role(&self, role: &str) -> Identity {
        let pair = client_certificate(&self.bundle.os, &[role], &mut OsRng, ichor_system::now(), HOUR);
        Identity::of_pair(&pair.unwrap())
    }

    fn stranger() -> Identity {
        let pair: Pair = self_signed("stranger", &mut OsRng, ichor_system::now()).unwrap();
        Identity::of_pair(&pair)
    }

    /// Makes calls on one connection.
    async fn ask(&self, address: SocketAddr, identity: &Identity, calls: &[Call]) -> Value {
        let mut recorder = Recorder::new(self.release.schema());
        let mut client = RawClient::connect(address, identity, self.silence).await.unwrap();
        for call in calls {
            let mut answer = client.call(&call.path, &call.request).await;
            // Talos closes connections when it renews its certificate.
            for _ in 0..RETRIES {
                match &answer {
                    Ok(_) => break,
                    Err(error) => {
                        sleep(self.silence).await;
                        client = RawClient::connect(address, identity, self.silence).await.unwrap();
                        if error == NO_ANSWER {
                            break;
                        }
                    }
                }
                answer = client.call(&call.path, &call.request).await;
            }
            recorder.add(call, answer);
        }
        recorder.finish()
    }

    /// How a connection ends that asks for the version.
    async fn connect(&self, address: SocketAddr, identity: &Identity) -> &'static str {
        let made = RawClient::connect(address, identity, self.silence).await;
        let Ok(mut client) = made else { return "no connection" };
        match client.call(method::VERSION, &[]).await {
            Ok(RawAnswer { status: Some((0, _)), .. }) => "answered",
            Ok(_) => "refused",
            Err(_) => "closed",
        }
    }

    /// What a node in maintenance mode answers.
    pub async fn in_maintenance(&self, address: SocketAddr) -> Value {
        let mut record = self
            .ask(address, &Identity::Anonymous, &calls::in_maintenance(self.valid, &address.ip().to_string()))
            .await;
        record["connections"] = json!({
            "without TLS": self.connect(address, &Identity::Plain).await,
            "with a certificate of the cluster": self.connect(address, &self.with_role("os:admin")).await,
            "with another certificate": self.connect(address, &Self::stranger()).await,
        });
        record
    }

    /// Waits until maintenance mode is ready.
    pub async fn wait_for_maintenance(&self, address: SocketAddr, limit: Duration) {
        let get = GetRequest {
            namespace: MachineStatus::NAMESPACE.to_owned(),
            r#type: MachineStatus::TYPE.to_owned(),
            id: MachineStatus::ID.to_owned(),
        };
        let is_ready = |answer: &[u8]| {
            let message = GetResponse::decode(answer).unwrap().resource.unwrap();
            let status: MachineStatus = Resource::from_message(message).unwrap().read().unwrap();
            status.stage == "maintenance" && status.status.ready
        };
        let call = (method::STATE_GET, get.encode_to_vec());
        self.wait(address, &Identity::Anonymous, call, limit, is_ready).await;
        let is_healthy = |answer: &[u8]| {
            services(answer)
                .iter()
                .any(|it| it.id == "apid" && it.health.as_ref().is_some_and(|it| it.healthy))
        };
        let call = (method::SERVICE_LIST, Vec::new());
        self.wait(address, &Identity::Anonymous, call, limit, is_healthy).await;
    }

    /// Applies the configuration, and waits until services run that need no network: the answer.
    pub async fn configure(&self, address: SocketAddr, configured: SocketAddr, limit: Duration) -> Value {
        let record = self.ask(address, &Identity::Anonymous, &[calls::configure(self.valid)]).await;
        let has_cri = |answer: &[u8]| {
            let services = services(answer);
            let is_healthy = |id: &str| {
                services.iter().any(|it| it.id == id && it.health.as_ref().is_some_and(|it| it.healthy))
            };
            let is_preparing = |id: &str| services.iter().any(|it| it.id == id && it.state == "Preparing");
            ["apid", "cri", "trustd"].into_iter().all(is_healthy)
                && ["etcd", "kubelet"].into_iter().all(is_preparing)
        };
        let call = (method::SERVICE_LIST, Vec::new());
        self.wait(configured, &self.with_role("os:admin"), call, limit, has_cri).await;
        record
    }

    /// Repeats a call until its answer `holds`.
    async fn wait(
        &self,
        address: SocketAddr,
        identity: &Identity,
        (path, request): (&str, Vec<u8>),
        limit: Duration,
        holds: impl Fn(&[u8]) -> bool,
    ) {
        let begin = Instant::now();
        let mut last = String::new();
        while begin.elapsed() < limit {
            sleep(Duration::from_millis(200)).await;
            let client = RawClient::connect(address, identity, self.silence).await;
            let answer = match client {
                Ok(mut client) => client.call(path, &request).await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(answer) if answer.messages.iter().any(|message| holds(message)) => return,
                Ok(answer) => {
                    last = format!(
                        "{:?} {:?}",
                        answer.status,
                        answer.messages.iter().map(|it| String::from_utf8_lossy(it)).collect::<Vec<_>>()
                    );
                }
                Err(error) => last = error,
            }
        }
        panic!("{path} at {address}: {last}");
    }

    /// What a configured control plane without etcd answers.
    pub async fn when_configured(&self, address: SocketAddr) -> Value {
        let admin = self.with_role("os:admin");
        let mut record =
            self.ask(address, &admin, &calls::when_configured(self.valid, &address.ip().to_string())).await;
        let by_reader = self.ask(address, &self.with_role("os:reader"), &calls::as_reader()).await;
        record["answers to a reader"] = by_reader["answers"].clone();
        record["connections"] = json!({
            "without TLS": self.connect(address, &Identity::Plain).await,
            "without a certificate": self.connect(address, &Identity::Anonymous).await,
            "with another certificate": self.connect(address, &Self::stranger()).await,
        });
        record
    }
}
