//! What answers at a node's addresses.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ichor_core::bringup::configured::compare;
use ichor_core::bringup::identity::Verdict;
use ichor_core::bringup::{ConfigSeen, Contact, Etcd, Facts, Identity, Look, Ours, prefer};
use ichor_core::cluster::value::{Mac, TalosVersion};
use ichor_core::talos::api::machine::Stage as MachineStage;
use ichor_core::talos::resource::{HostnameStatus, LinkStatus, MachineStatus, SystemInformation};
use tokio::task::JoinSet;
use tokio::time::{self, Instant};

use crate::node::{Credentials, Kind, Node, NodeError, Seen, Trust, probe};

/// The port of Talos' API.
pub(super) const PORT: u16 = 50000;

/// How long others may take to answer, once the machine was found.
const GRACE: Duration = Duration::from_millis(200);

/// The node that is looked at.
#[derive(Debug)]
pub(super) struct Subject {
    pub name: String,
    pub identity: Identity,
    pub control_plane: bool,
    pub talos: TalosVersion,
    /// The whole configuration; a secret.
    pub config: String,
    pub credentials: Arc<Credentials>,
    contacts: Mutex<Vec<Contact>>,
}

impl Subject {
    pub(super) fn new(
        name: &str,
        identity: Identity,
        control_plane: bool,
        talos: TalosVersion,
        config: String,
        credentials: Arc<Credentials>,
        contacts: Vec<Contact>,
    ) -> Self {
        let contacts = Mutex::new(contacts);
        Self { name: name.to_owned(), identity, control_plane, talos, config, credentials, contacts }
    }

    /// Where it may be found.
    pub(super) fn contacts(&self) -> Vec<Contact> {
        self.contacts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds an address that was found; false where it is known.
    pub(super) fn found(&self, contact: Contact) -> bool {
        let mut contacts = self.contacts.lock().unwrap_or_else(PoisonError::into_inner);
        let new = !contacts.iter().any(|known| known.address == contact.address);
        if new {
            contacts.push(contact);
            contacts.sort_by_key(|contact| contact.stage);
        }
        new
    }

    /// Connects to a machine that has its configuration.
    pub(super) async fn connect(&self, at: Contact) -> Result<Node, NodeError> {
        let trust = Trust::Mutual(Arc::clone(&self.credentials));
        Node::connect(&self.name, socket(at), &trust).await
    }
}

/// Looks at one node again and again.
pub(super) struct Eye {
    pub subject: Arc<Subject>,
    line: Option<Line>,
    /// What answered last at each address.
    last: HashMap<Contact, Look>,
    /// Who is still being asked: some networks let whoever knocks wait for seconds.
    asked: JoinSet<(Contact, Look, Option<Line>)>,
    pending: HashSet<Contact>,
}

/// A connection to a machine of the cluster, and what does not change as long as it lasts.
struct Line {
    at: Contact,
    node: Node,
    facts: Facts,
    same: bool,
}

impl Eye {
    pub(super) fn new(subject: Arc<Subject>) -> Self {
        Self { subject, line: None, last: HashMap::new(), asked: JoinSet::new(), pending: HashSet::new() }
    }

    /// Looks once: over the connection there is, else at every address. Whoever takes longer than `patience` to answer is heard
    /// by a later look, and until then is as before.
    pub(super) async fn look(&mut self, patience: Duration) -> (Option<Contact>, Look) {
        if let Some(line) = &mut self.line {
            match ours(&self.subject, line).await {
                Ok(ours) => return (Some(line.at), Look::Ours(ours)),
                Err(_) => self.forget(),
            }
        }
        let contacts = self.subject.contacts();
        for at in contacts.iter().copied().filter(|at| self.pending.insert(*at)) {
            let subject = Arc::clone(&self.subject);
            self.asked.spawn(async move { look_at(&subject, at).await });
        }
        let mut end = Instant::now() + patience;
        while let Ok(Some(Ok((at, look, line)))) = time::timeout_at(end, self.asked.join_next()).await {
            self.pending.remove(&at);
            self.line = self.line.take().or(line);
            if matches!(&look, Look::Maintenance(facts) if self.subject.identity.judge(facts) == Verdict::Same)
            {
                end = end.min(Instant::now() + GRACE);
            }
            self.last.insert(at, look);
            if self.line.is_some() {
                break;
            }
        }
        let silent = || Look::Silent;
        let looks = contacts.iter().map(|at| (*at, self.last.get(at).cloned().unwrap_or_else(silent)));
        let looks: Vec<_> = looks.collect();
        let Some((at, look)) = prefer(&self.subject.name, &self.subject.identity, &looks) else {
            return (None, Look::Silent);
        };
        self.line = self.line.take().filter(|line| line.at == at);
        (Some(at), look)
    }

    /// Forgets what was seen.
    pub(super) fn forget(&mut self) {
        self.line = None;
        self.last.clear();
        self.pending.clear();
        self.asked = JoinSet::new();
    }
}

/// Where Talos' API is.
pub(super) fn socket(at: Contact) -> SocketAddr {
    SocketAddr::new(at.address, PORT)
}

async fn look_at(subject: &Subject, at: Contact) -> (Contact, Look, Option<Line>) {
    let seen = probe(&subject.name, socket(at), Some(&subject.credentials)).await;
    let look = match seen {
        Seen::Silent => Ok(Look::Silent),
        Seen::Other { reason, may_pass: true, .. } => Ok(Look::Unclear(reason)),
        Seen::Other { reason, .. } => Ok(Look::Foreign(reason)),
        Seen::Maintenance { peer } => {
            let trust = Trust::Maintenance { pin: Some(peer.pin) };
            match Node::connect(&subject.name, socket(at), &trust).await {
                Ok(node) => facts(&node).await.map(Look::Maintenance),
                Err(error) => Err(error),
            }
        }
        Seen::Configured { .. } => match open(subject, at).await {
            Ok((ours, line)) => return (at, Look::Ours(ours), Some(line)),
            Err(error) => Err(error),
        },
    };
    (at, look.unwrap_or_else(|error| failed(&error)), None)
}

/// What a call that failed says of a machine: one that goes away in between is as silent as one that never answered.
fn failed(error: &NodeError) -> Look {
    match error.kind() {
        Kind::Unreachable | Kind::Lost | Kind::NotMaintenance | Kind::WrongCertificate => Look::Silent,
        _ => Look::Unclear(format!("{}: {}", error.call(), error.answer())),
    }
}

async fn open(subject: &Subject, at: Contact) -> Result<(Ours, Line), NodeError> {
    let node = subject.connect(at).await?;
    let mut facts = facts(&node).await?;
    // Whoever has a certificate of the cluster is known by that.
    facts.fingerprint = None;
    let mut line = Line { at, node, facts, same: false };
    Ok((ours(subject, &mut line).await?, line))
}

/// What a machine tells of itself.
pub(super) async fn facts(node: &Node) -> Result<Facts, NodeError> {
    let (links, system, name) = tokio::join!(
        node.list::<LinkStatus>(),
        node.get::<SystemInformation>(SystemInformation::ID),
        node.get::<HostnameStatus>(HostnameStatus::ID)
    );
    let mut macs: Vec<Mac> = links?
        .iter()
        .filter(|(_, link)| link.is_port())
        .filter_map(|(_, link)| Mac::parse(link.mac()?).ok())
        .collect();
    macs.sort_unstable();
    let uuid = system?.map(|system| system.uuid).filter(|uuid| !uuid.is_empty());
    let hostname = name?.map(|name| name.hostname).filter(|name| !name.is_empty());
    Ok(Facts { macs, uuid, fingerprint: Some(node.peer().pin.to_string()), hostname })
}

async fn ours(subject: &Subject, line: &mut Line) -> Result<Ours, NodeError> {
    let status = node_status(&line.node).await?;
    // A machine without a name has not read its configuration yet.
    if line.facts.hostname.is_none() {
        line.facts = Facts { fingerprint: None, ..facts(&line.node).await? };
    }
    let config = if line.same {
        ConfigSeen::Same
    } else {
        match line.node.machine_config().await? {
            Some(active) => compare(&active, &subject.config, &subject.talos),
            None => ConfigSeen::Unknown,
        }
    };
    line.same = config == ConfigSeen::Same;
    let etcd = if subject.control_plane { etcd(&line.node).await? } else { Etcd::Unknown };
    let unmet = status.status.unmet_conditions.iter().map(ToString::to_string).collect();
    Ok(Ours { facts: line.facts.clone(), stage: stage(&status.stage), unmet, config, etcd })
}

async fn node_status(node: &Node) -> Result<MachineStatus, NodeError> {
    Ok(node.get::<MachineStatus>(MachineStatus::ID).await?.unwrap_or_default())
}

/// Where etcd is, by its service.
pub(super) async fn etcd(node: &Node) -> Result<Etcd, NodeError> {
    let services = node.services().await?;
    let etcd = services.iter().find(|service| service.id == "etcd");
    Ok(match etcd.map(|service| service.state.as_str()) {
        Some("Running") => Etcd::Runs,
        Some("Initialized" | "Preparing" | "Waiting" | "Starting") => Etcd::Waiting,
        _ => Etcd::Unknown,
    })
}

/// A stage by the word a resource has for it.
fn stage(word: &str) -> MachineStage {
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
