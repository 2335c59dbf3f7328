//! What answers at a node's addresses.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ichor_core::bringup::configured::compare;
use ichor_core::bringup::identity::Verdict;
use ichor_core::bringup::{ConfigSeen, Contact, Etcd, Facts, Identity, Look, Ours, prefer};
use ichor_talos::api::machine::Stage as MachineStage;
use ichor_talos::resource::{Kind as _, MachineStatus};
use ichor_values::TalosVersion;
use tokio::task::JoinSet;
use tokio::time::{self, Instant};

use crate::facts::facts;
use crate::reach::GRACE;
use ichor_client::talos::{Change, Credentials, Kind, Met, Node, NodeError, Trust, Watch};

/// The port of Talos' API.
pub(super) const PORT: u16 = 50000;

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

/// A connection to a machine of the cluster, what does not change as long as it lasts, and what it tells by itself.
struct Line {
    at: Contact,
    node: Node,
    facts: Facts,
    same: bool,
    /// Its status, and what tells when that is another.
    status: MachineStatus,
    watch: Watch,
}

impl Eye {
    pub(super) fn new(subject: Arc<Subject>) -> Self {
        Self { subject, line: None, last: HashMap::new(), asked: JoinSet::new(), pending: HashSet::new() }
    }

    /// Looks once: over the connection there is, else at every address at once. Whoever takes longer than `patience` to answer is
    /// heard by a later look, and until then is as before: an address that nobody has is waited for once.
    pub(super) async fn look(&mut self, patience: Duration) -> (Option<Contact>, Look) {
        if let Some(line) = &mut self.line {
            match ours(&self.subject, line).await {
                Ok(ours) => return (Some(line.at), Look::Ours(ours)),
                Err(_) => self.forget(),
            }
        }
        let contacts = self.subject.contacts();
        let mut new: HashSet<_> = contacts.iter().copied().filter(|at| self.pending.insert(*at)).collect();
        for at in new.iter().copied() {
            let subject = Arc::clone(&self.subject);
            self.asked.spawn(async move { look_at(&subject, at).await });
        }
        let mut end = Instant::now() + patience;
        while let Some((at, look, line)) = self.hear(end, new.is_empty()).await {
            self.pending.remove(&at);
            new.remove(&at);
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

    /// Rests until there may be something new to see: until the machine tells, or for `pause` where it would not.
    ///
    /// A node that runs what is wanted tells everything by itself; of control planes etcd is looked at, too.
    pub(super) async fn rest(&mut self, pause: Duration) {
        let Some(line) = &mut self.line else { return time::sleep(pause).await };
        let asks = self.subject.control_plane || !line.same || line.facts.hostname.is_none();
        let heard = if asks { time::timeout(pause, line.hear()).await } else { Ok(line.hear().await) };
        if matches!(heard, Ok(Err(_))) {
            self.forget();
        }
    }

    /// The next answer: until `end`, or one that is there already.
    async fn hear(&mut self, end: Instant, at_once: bool) -> Option<(Contact, Look, Option<Line>)> {
        let heard = if at_once {
            self.asked.try_join_next()
        } else {
            time::timeout_at(end, self.asked.join_next()).await.ok().flatten()
        };
        heard?.ok()
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
    let met = Node::meet(&subject.name, socket(at), Some(&subject.credentials)).await;
    let look = match met {
        Err(error) => Err(error),
        Ok(Met::Other { reason, may_pass: true, .. }) => Ok(Look::Unclear(reason)),
        Ok(Met::Other { reason, .. }) => Ok(Look::Foreign(reason)),
        Ok(Met::Maintenance(node)) => facts(&node).await.map(Look::Maintenance),
        Ok(Met::Configured(node)) => match open(subject, at, node).await {
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

async fn open(subject: &Subject, at: Contact, node: Node) -> Result<(Ours, Line), NodeError> {
    let mut facts = facts(&node).await?;
    // Whoever has a certificate of the cluster is known by that.
    facts.fingerprint = None;
    let watch = node.watch(MachineStatus::NAMESPACE, MachineStatus::TYPE);
    let mut line = Line { at, node, facts, same: false, status: MachineStatus::default(), watch };
    line.hear().await?;
    Ok((ours(subject, &mut line).await?, line))
}

async fn ours(subject: &Subject, line: &mut Line) -> Result<Ours, NodeError> {
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
    let unmet = line.status.status.unmet_conditions.iter().map(ToString::to_string).collect();
    Ok(Ours { facts: line.facts.clone(), stage: stage(&line.status.stage), unmet, config, etcd })
}

impl Line {
    /// Waits until the machine tells its status, or that it has none yet. May be dropped and called again.
    async fn hear(&mut self) -> Result<(), NodeError> {
        match self.watch.next().await? {
            Some(Change::Is(status)) => self.status = self.node.understand(&status)?,
            Some(Change::Gone(_)) => self.status = MachineStatus::default(),
            Some(Change::Caught) => {}
            None => return Err(self.watch.over()),
        }
        Ok(())
    }
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
