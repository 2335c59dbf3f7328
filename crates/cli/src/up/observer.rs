//! Observes nodes: which machine answers at a node's addresses, and its state.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ichor_core::bringup::configured::compare_configs;
use ichor_core::bringup::identity::IdentityMatch;
use ichor_core::bringup::{
    ClusterMember, ConfigState, EtcdPhase, MachineFacts, MachineIdentity, NodeAddress, NodeProbe,
    select_probe,
};
use ichor_talos::api::machine::Stage as MachineStage;
use ichor_talos::resource::{MachineStatus, ResourceKind as _};
use ichor_values::TalosVersion;
use tokio::task::JoinSet;
use tokio::time::{self, Instant};

use crate::connect::GRACE;
use crate::facts::read_facts;
use ichor_client::talos::{
    Credentials, NodeClient, NodeError, NodeErrorKind, NodeTrust, ProbeResult, ResourceEvent, ResourceWatch,
};

/// Port of the Talos API.
pub(super) const PORT: u16 = 50000;

/// A node to be observed and configured.
#[derive(Debug)]
pub(super) struct NodeTarget {
    pub name: String,
    pub identity: MachineIdentity,
    pub control_plane: bool,
    pub talos: TalosVersion,
    /// Complete machine configuration; a secret.
    pub config: String,
    pub credentials: Arc<Credentials>,
    contacts: Mutex<Vec<NodeAddress>>,
}

impl NodeTarget {
    pub(super) fn new(
        name: &str,
        identity: MachineIdentity,
        control_plane: bool,
        talos: TalosVersion,
        config: String,
        credentials: Arc<Credentials>,
        contacts: Vec<NodeAddress>,
    ) -> Self {
        let contacts = Mutex::new(contacts);
        Self { name: name.to_owned(), identity, control_plane, talos, config, credentials, contacts }
    }

    /// Known addresses of the node.
    pub(super) fn contacts(&self) -> Vec<NodeAddress> {
        self.contacts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a discovered address; false if it was known.
    pub(super) fn add_contact(&self, contact: NodeAddress) -> bool {
        let mut contacts = self.contacts.lock().unwrap_or_else(PoisonError::into_inner);
        let new = !contacts.iter().any(|known| known.address == contact.address);
        if new {
            contacts.push(contact);
            contacts.sort_by_key(|contact| contact.stage);
        }
        new
    }

    /// Connects to a configured machine.
    pub(super) async fn connect(&self, at: NodeAddress) -> Result<NodeClient, NodeError> {
        let trust = NodeTrust::Mutual(Arc::clone(&self.credentials));
        NodeClient::connect(&self.name, api_socket(at), &trust).await
    }
}

/// Observes one node repeatedly.
pub(super) struct NodeObserver {
    pub target: Arc<NodeTarget>,
    connection: Option<TalosConnection>,
    /// Last observation at each address.
    last: HashMap<NodeAddress, NodeProbe>,
    /// Probes in progress: unused addresses may take seconds to time out.
    probe_tasks: JoinSet<(NodeAddress, NodeProbe, Option<TalosConnection>)>,
    pending: HashSet<NodeAddress>,
}

/// A connection to a configured machine, with its cached facts and a watch of its status.
struct TalosConnection {
    at: NodeAddress,
    node: NodeClient,
    facts: MachineFacts,
    same: bool,
    /// Machine status, kept current by `watch`.
    status: MachineStatus,
    watch: ResourceWatch,
}

impl NodeObserver {
    pub(super) fn new(target: Arc<NodeTarget>) -> Self {
        Self {
            target,
            connection: None,
            last: HashMap::new(),
            probe_tasks: JoinSet::new(),
            pending: HashSet::new(),
        }
    }

    /// Observes the node once: over the open connection, else at all addresses in parallel. A probe that takes longer than `timeout`
    /// continues in the background and keeps its previous result until then, so an unused address delays only one observation.
    pub(super) async fn observe(&mut self, timeout: Duration) -> (Option<NodeAddress>, NodeProbe) {
        if let Some(connection) = &mut self.connection {
            match observe_member(&self.target, connection).await {
                Ok(member) => return (Some(connection.at), NodeProbe::Ours(member)),
                Err(_) => self.reset(),
            }
        }
        let contacts = self.target.contacts();
        let mut new: HashSet<_> = contacts.iter().copied().filter(|at| self.pending.insert(*at)).collect();
        for at in new.iter().copied() {
            let target = Arc::clone(&self.target);
            self.probe_tasks.spawn(async move { probe_address(&target, at).await });
        }
        let mut end = Instant::now() + timeout;
        while let Some((at, probe, connection)) = self.next_answer(end, new.is_empty()).await {
            self.pending.remove(&at);
            new.remove(&at);
            self.connection = self.connection.take().or(connection);
            if matches!(&probe, NodeProbe::Maintenance(facts) if self.target.identity.match_unconfigured(facts) == IdentityMatch::Same)
            {
                end = end.min(Instant::now() + GRACE);
            }
            self.last.insert(at, probe);
            if self.connection.is_some() {
                break;
            }
        }
        let silent = || NodeProbe::Silent;
        let probes = contacts.iter().map(|at| (*at, self.last.get(at).cloned().unwrap_or_else(silent)));
        let probes: Vec<_> = probes.collect();
        let Some((at, probe)) = select_probe(&self.target.name, &self.target.identity, &probes) else {
            return (None, NodeProbe::Silent);
        };
        self.connection = self.connection.take().filter(|connection| connection.at == at);
        (Some(at), probe)
    }

    /// Waits for a status change, or for `pause` if the machine would not report it.
    ///
    /// A node with the desired configuration reports all changes. On control plane nodes etcd must be polled.
    pub(super) async fn wait_for_change(&mut self, pause: Duration) {
        let Some(connection) = &mut self.connection else { return time::sleep(pause).await };
        let must_poll = self.target.control_plane || !connection.same || connection.facts.hostname.is_none();
        let result = if must_poll {
            time::timeout(pause, connection.next_status()).await
        } else {
            Ok(connection.next_status().await)
        };
        if matches!(result, Ok(Err(_))) {
            self.reset();
        }
    }

    /// The next finished probe, waiting until `end` unless `ready_only`.
    async fn next_answer(
        &mut self,
        end: Instant,
        ready_only: bool,
    ) -> Option<(NodeAddress, NodeProbe, Option<TalosConnection>)> {
        let result = if ready_only {
            self.probe_tasks.try_join_next()
        } else {
            time::timeout_at(end, self.probe_tasks.join_next()).await.ok().flatten()
        };
        result?.ok()
    }

    /// Discards the connection and all observations.
    pub(super) fn reset(&mut self) {
        self.connection = None;
        self.last.clear();
        self.pending.clear();
        self.probe_tasks = JoinSet::new();
    }
}

/// Socket address of the Talos API.
pub(super) fn api_socket(at: NodeAddress) -> SocketAddr {
    SocketAddr::new(at.address, PORT)
}

async fn probe_address(
    target: &NodeTarget,
    at: NodeAddress,
) -> (NodeAddress, NodeProbe, Option<TalosConnection>) {
    let result = NodeClient::meet(&target.name, api_socket(at), Some(&target.credentials)).await;
    let probe = match result {
        Err(error) => Err(error),
        Ok(ProbeResult::Other { reason, may_pass: true, .. }) => Ok(NodeProbe::Unclear(reason)),
        Ok(ProbeResult::Other { reason, .. }) => Ok(NodeProbe::Foreign(reason)),
        Ok(ProbeResult::Maintenance(node)) => read_facts(&node).await.map(NodeProbe::Maintenance),
        Ok(ProbeResult::Configured(node)) => match open_connection(target, at, node).await {
            Ok((member, connection)) => return (at, NodeProbe::Ours(member), Some(connection)),
            Err(error) => Err(error),
        },
    };
    (at, probe.unwrap_or_else(|error| classify_error(&error)), None)
}

/// The observation after a failed call. A machine that disappears is silent, like one that never answered.
fn classify_error(error: &NodeError) -> NodeProbe {
    match error.kind() {
        NodeErrorKind::Unreachable
        | NodeErrorKind::Lost
        | NodeErrorKind::NotMaintenance
        | NodeErrorKind::WrongCertificate => NodeProbe::Silent,
        _ => NodeProbe::Unclear(format!("{}: {}", error.call(), error.answer())),
    }
}

async fn open_connection(
    target: &NodeTarget,
    at: NodeAddress,
    node: NodeClient,
) -> Result<(ClusterMember, TalosConnection), NodeError> {
    let mut facts = read_facts(&node).await?;
    // A configured machine is identified by its cluster certificate.
    facts.fingerprint = None;
    let watch = node.watch(MachineStatus::NAMESPACE, MachineStatus::TYPE);
    let mut connection =
        TalosConnection { at, node, facts, same: false, status: MachineStatus::default(), watch };
    connection.next_status().await?;
    Ok((observe_member(target, &mut connection).await?, connection))
}

async fn observe_member(
    target: &NodeTarget,
    connection: &mut TalosConnection,
) -> Result<ClusterMember, NodeError> {
    // A machine without a hostname has not loaded its configuration yet.
    if connection.facts.hostname.is_none() {
        connection.facts = MachineFacts { fingerprint: None, ..read_facts(&connection.node).await? };
    }
    let config = if connection.same {
        ConfigState::Same
    } else {
        match connection.node.machine_config().await? {
            Some(active) => compare_configs(&active, &target.config, &target.talos),
            None => ConfigState::Unknown,
        }
    };
    connection.same = config == ConfigState::Same;
    let etcd = if target.control_plane { etcd_state(&connection.node).await? } else { EtcdPhase::Unknown };
    let unmet = connection.status.status.unmet_conditions.iter().map(ToString::to_string).collect();
    Ok(ClusterMember {
        facts: connection.facts.clone(),
        stage: parse_stage(&connection.status.stage),
        unmet,
        config,
        etcd,
    })
}

impl TalosConnection {
    /// Waits for the next status event. Cancel safe.
    async fn next_status(&mut self) -> Result<(), NodeError> {
        match self.watch.next().await? {
            Some(ResourceEvent::Is(status)) => self.status = self.node.understand(&status)?,
            Some(ResourceEvent::Gone(_)) => self.status = MachineStatus::default(),
            Some(ResourceEvent::Caught) => {}
            None => return Err(self.watch.over()),
        }
        Ok(())
    }
}

/// State of etcd, from its service.
pub(super) async fn etcd_state(node: &NodeClient) -> Result<EtcdPhase, NodeError> {
    let services = node.services().await?;
    let etcd = services.iter().find(|service| service.id == "etcd");
    Ok(match etcd.map(|service| service.state.as_str()) {
        Some("Running") => EtcdPhase::Runs,
        Some("Initialized" | "Preparing" | "Waiting" | "Starting") => EtcdPhase::Waiting,
        _ => EtcdPhase::Unknown,
    })
}

/// Parses the stage of a machine status.
fn parse_stage(word: &str) -> MachineStage {
    match word {
        "booting" => MachineStage::Booting,
        "installing" => MachineStage::Installing,
        "maintenance" => MachineStage::Maintenance,
        "running" => MachineStage::Running,
        "rebooting" => MachineStage::Rebooting,
        "shutting down" => MachineStage::ShuttingDown,
        "resetting" => MachineStage::Resetting,
        "upgrading" => MachineStage::Upgrading,
        _ => MachineStage::Unknown,
    }
}
