//! The Talos configuration of a node, from the plan.
//!
//! A [`Renderer`] makes what all nodes of a role share once (`cluster`, on top of what Talos' own generator writes), and adds
//! to it for each node: [`network`], `install`, `node`, `overlay` and `routing`. The patches of the file come last
//! (`patches`), and everything that comes out is judged as the node's release would.
//!
//! Not here: text ([`talos::emit`](crate::talos::emit)) and files.

mod base;
mod cluster;
mod duty;
mod firewall;
mod install;
pub mod network;
mod node;
mod overlay;
mod patches;
mod routing;

use serde_json::{Map, Value, json};

use crate::cluster::section::{Platform, Role};
use crate::cluster::value::{Secret, TalosVersion};
use crate::model::Cluster;
use crate::plan::{NodePlan, Plan, Stage};
use crate::render::routing::Service;
use crate::routing::Protected;
use crate::rules::attachment::Attachments;
use crate::talos::config::Config;
use crate::talos::generate::Contract;
use crate::talos::generate::contract::Trait;
use crate::talos::patch::Patch;
use crate::talos::secrets::Bundle;
use crate::talos::validate::{self, Flaw, Mode, Setting, Weight};
use crate::talos::{encode, load, release};

pub use duty::{Script, rehearsed};
pub use install::installer;
pub use patches::{PatchTexts, sealed_patches};

/// What configurations are made from.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// What was decided.
    pub plan: &'a Plan,
    /// The secrets of Talos and Kubernetes.
    pub bundle: &'a Bundle,
    /// The files the cluster names.
    pub attachments: &'a Attachments,
    /// Cilium as helm rendered it, or why there is none; nobody looks where the cluster has no [`Order`](super::chart::Order).
    pub cilium: Result<&'a str, &'a str>,
    /// The texts of patches that are encrypted, opened.
    pub patches: &'a PatchTexts,
    /// Fetches a secret that the file refers to.
    pub secret: &'a (dyn Fn(&Secret) -> Result<String, String> + Sync),
}

/// Why a configuration cannot be made. It names no secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{at}: {reason}")]
pub struct RenderError {
    /// The key or node it is about.
    pub at: String,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl RenderError {
    /// Something else of a node that cannot be made.
    pub fn of(node: &NodePlan, error: &dyn std::error::Error) -> Self {
        Self::new(node.path(""), error.to_string())
    }

    fn new(at: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { at: at.into(), reason: reason.into() }
    }
}

/// A configuration, and what Talos would say of it that is no error.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// Its documents, as Talos writes them.
    pub documents: Vec<Value>,
    /// Warnings.
    pub flaws: Vec<Flaw>,
}

/// Makes configurations.
pub struct Renderer<'a> {
    ground: Ground<'a>,
    contract: Contract,
    control_plane: Config,
    worker: Config,
    patches: patches::Patches,
    protected: Protected,
}

impl<'a> Renderer<'a> {
    /// Makes what the nodes share. All that is wrong with it is told at once.
    pub fn new(ground: Ground<'a>) -> Result<Self, Vec<RenderError>> {
        let talos = &ground.plan.cluster.contract.value;
        if !release::is_known(talos) {
            let (oldest, newest) = release::known();
            let reason = format!("ichor writes for Talos 1.{oldest} to 1.{newest}, not for {talos}");
            return Err(vec![RenderError::new("cluster.talos", reason)]);
        }
        let contract = Contract::of(talos);
        let mut errors = Vec::new();
        let patches = patches::Patches::read(ground, &mut errors);
        let mut role = |role| match Self::shared(ground, contract, role) {
            Ok(config) => Some(config),
            Err(mut found) => {
                errors.append(&mut found);
                None
            }
        };
        let (control_plane, worker) = (role(Role::Controlplane), role(Role::Worker));
        errors.sort();
        errors.dedup();
        match (control_plane, worker) {
            (Some(control_plane), Some(worker)) if errors.is_empty() => {
                let protected = Protected::of(ground.plan);
                Ok(Self { ground, contract, control_plane, worker, patches, protected })
            }
            _ => Err(errors),
        }
    }

    fn shared(ground: Ground<'_>, contract: Contract, role: Role) -> Result<Config, Vec<RenderError>> {
        let mut draft = Draft::new(contract, role);
        let input = base::input(ground, contract).map_err(|error| vec![error])?;
        let generated = base::generate(&input, ground.bundle, role);
        let talos = &ground.plan.cluster.contract.value;
        let mut config = loaded(talos, "cluster", &generated).map_err(|error| vec![error])?;
        let mut errors = Vec::new();
        cluster::add(&mut draft, ground, &mut errors);
        firewall::add(&mut draft, ground);
        if !errors.is_empty() {
            return Err(errors);
        }
        draft.merge_into(&mut config, ground, "cluster", talos).map_err(|error| vec![error])?;
        Ok(config)
    }

    /// The whole configuration of a node.
    pub fn machine(&self, node: &NodePlan) -> Result<Rendered, Vec<RenderError>> {
        let mut errors = Vec::new();
        let mut config = self.unpatched(node, &mut errors);
        for patch in self.patches.of(node) {
            if let Err(error) = patch.apply(&mut config, &self.ground.plan.cluster.contract.value) {
                errors.push(RenderError::new(node.path(""), error.to_string()));
            }
        }
        if errors.is_empty() && !refused(&config, node).is_empty() {
            errors = self.blame(node);
        }
        self.judged(node, &config, errors)
    }

    /// What a node has before the patches of the file.
    fn unpatched(&self, node: &NodePlan, errors: &mut Vec<RenderError>) -> Config {
        let ground = self.ground;
        let mut draft = Draft::new(self.contract, node.role);
        self.add_network(&mut draft, node, Stage::Final);
        install::add(&mut draft, node, errors);
        node::add(&mut draft, ground, node);
        overlay::add(&mut draft, ground, node, errors);
        routing::add(&mut draft, ground, &self.protected, node, Stage::Final, errors);
        let mut config = match node.role {
            Role::Controlplane => self.control_plane.clone(),
            Role::Worker => self.worker.clone(),
        };
        if let Err(error) = draft.merge_into(&mut config, ground, &node.path(""), &node.talos.value) {
            errors.push(error);
        }
        config
    }

    /// Why the node's release refuses its configuration, each reason with the patch that brought it.
    fn blame(&self, node: &NodePlan) -> Vec<RenderError> {
        let at = node.path("");
        let mut errors = Vec::new();
        let mut config = self.unpatched(node, &mut errors);
        let mut known = refused(&config, node);
        errors.extend(known.iter().map(|reason| RenderError::new(&at, reason)));
        for patch in self.patches.of(node) {
            if let Err(error) = patch.apply(&mut config, &self.ground.plan.cluster.contract.value) {
                errors.push(RenderError::new(&at, error.to_string()));
            }
            for reason in refused(&config, node) {
                if !known.contains(&reason) {
                    errors.push(RenderError::new(&at, format!("{}: with this patch {reason}", patch.name)));
                    known.push(reason);
                }
            }
        }
        errors
    }

    /// The service that runs a node's routing daemon; none where there is none.
    pub fn service(&self, node: &NodePlan) -> Result<Option<Service>, Vec<RenderError>> {
        routing::service(self.ground, &self.protected, node)
    }

    /// The configuration of a node before Talos is installed: documents alone, none of which holds a secret of the cluster.
    /// Passwords of its BGP sessions are in it: without them it would have no network.
    pub fn boot(&self, node: &NodePlan) -> Result<Rendered, Vec<RenderError>> {
        let mut draft = Draft::new(self.contract, node.role);
        if self.contract.has(Trait::NetworkDocuments) {
            self.add_network(&mut draft, node, Stage::Boot);
        }
        let mut errors = Vec::new();
        routing::add(&mut draft, self.ground, &self.protected, node, Stage::Boot, &mut errors);
        let mut config = Config::default();
        if let Err(error) = draft.merge_into(&mut config, self.ground, &node.path(""), &node.talos.value) {
            errors.push(error);
        }
        if errors.is_empty() { self.judged(node, &config, errors) } else { Err(errors) }
    }

    fn add_network(&self, draft: &mut Draft, node: &NodePlan, stage: Stage) {
        if self.contract.has(Trait::NetworkDocuments) {
            draft.documents.extend(network::documents(node, stage));
        } else if let Value::Object(machine) = network::machine(node) {
            draft.legacy(machine);
        }
    }

    /// What the node's own release says of it.
    fn judged(
        &self,
        node: &NodePlan,
        config: &Config,
        mut errors: Vec<RenderError>,
    ) -> Result<Rendered, Vec<RenderError>> {
        let talos = &node.talos.value;
        let documents = encode::encode(config, &self.ground.plan.cluster.contract.value);
        if let Err(error) = load::load_values(&documents, talos) {
            errors.push(RenderError::new(node.path(""), format!("Talos {talos} does not read it: {error}")));
        }
        let (refused, flaws): (Vec<_>, Vec<_>) =
            judge(config, node).into_iter().partition(|flaw| flaw.weight == Weight::Error);
        if errors.is_empty() {
            errors.extend(refused.iter().map(|flaw| RenderError::new(node.path(""), told(flaw, node))));
        }
        if errors.is_empty() { Ok(Rendered { documents, flaws }) } else { Err(errors) }
    }
}

/// What the node's release says of a configuration.
fn judge(config: &Config, node: &NodePlan) -> Vec<Flaw> {
    let mode = if node.platform.value == Platform::Metal { Mode::Metal } else { Mode::Cloud };
    validate::validate(config, Setting { talos: &node.talos.value, mode })
}

/// Why the node's release refuses a configuration.
fn refused(config: &Config, node: &NodePlan) -> Vec<String> {
    let errors = judge(config, node).into_iter().filter(|flaw| flaw.weight == Weight::Error);
    errors.map(|flaw| told(&flaw, node)).collect()
}

fn told(flaw: &Flaw, node: &NodePlan) -> String {
    format!("Talos {} refuses the configuration: {}: {}", node.talos.value, flaw.path, flaw.message)
}

fn loaded(talos: &TalosVersion, at: &str, documents: &[Value]) -> Result<Config, RenderError> {
    load::load_values(documents, talos).map_err(|error| RenderError::new(at, error.to_string()))
}

/// What is added to a configuration: documents, and parts of the one with `machine` and `cluster`.
struct Draft {
    contract: Contract,
    role: Role,
    legacy: Map<String, Value>,
    documents: Vec<Value>,
}

impl Draft {
    fn new(contract: Contract, role: Role) -> Self {
        Self { contract, role, legacy: Map::new(), documents: Vec::new() }
    }

    fn has(&self, wanted: Trait) -> bool {
        self.contract.has(wanted)
    }

    fn is_control_plane(&self) -> bool {
        self.role == Role::Controlplane
    }

    /// Adds to the document with `machine` and `cluster`.
    fn legacy(&mut self, part: Map<String, Value>) {
        extend(&mut self.legacy, part);
    }

    /// Sets a value of the document with `machine` and `cluster`, at a path such as `machine.kubelet.nodeIP`.
    fn set(&mut self, path: &str, value: Value) {
        let part = path.rsplit('.').fold(value, |value, key| {
            let mut map = Map::new();
            map.insert(key.to_owned(), value);
            Value::Object(map)
        });
        if let Value::Object(part) = part {
            self.legacy(part);
        }
    }

    /// Adds a document.
    fn document(&mut self, kind: &str, body: Value) {
        let mut document = json!({"apiVersion": "v1alpha1", "kind": kind});
        if let (Value::Object(document), Value::Object(body)) = (&mut document, body) {
            document.extend(body);
        }
        self.documents.push(document);
    }

    /// Lays it over a configuration. `talos` is the release that reads it: a node may be newer than the contract, and have
    /// documents that the contract does not know.
    fn merge_into(
        mut self,
        config: &mut Config,
        ground: Ground<'_>,
        at: &str,
        talos: &TalosVersion,
    ) -> Result<(), RenderError> {
        let mut documents = Vec::new();
        if !self.legacy.is_empty() {
            documents.push(Value::Object(std::mem::take(&mut self.legacy)));
        }
        documents.append(&mut self.documents);
        let added = loaded(talos, at, &documents)?;
        let patch = Patch::merging("what ichor adds", added);
        patch
            .apply(config, &ground.plan.cluster.contract.value)
            .map_err(|error| RenderError::new(at, error.to_string()))
    }
}

/// Lays maps over maps; lists are joined.
fn extend(left: &mut Map<String, Value>, right: Map<String, Value>) {
    for (key, value) in right {
        match (left.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => extend(old, new),
            (Some(Value::Array(old)), Value::Array(new)) => old.extend(new),
            (_, value) => {
                left.insert(key, value);
            }
        }
    }
}
