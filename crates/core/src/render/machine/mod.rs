//! The Talos configuration of a node, from the plan.
//!
//! A [`Renderer`] makes what all nodes of a role share once (`cluster`, on top of what Talos' own generator writes), and adds
//! to it for each node: [`network`], `install`, `node`, `overlay` and `routing`. The patches of the file come last
//! (`patches`), and everything that comes out is judged as the node's release would.
//!
//! Not here: text ([`talos::emit`](ichor_values::go_yaml::emit)) and files.

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
mod warning;

use serde_json::{Map, Value, json};

use crate::cluster::section::{Platform, Role};
use crate::plan::{ConfigStage, NodePlan};
use crate::render::node_issue;
use ichor_bgp::model::ProtectedPrefixes;
use ichor_talos::config::Config;
use ichor_talos::generate::Contract;
use ichor_talos::generate::contract::Trait;
use ichor_talos::patch::Patch;
use ichor_talos::validate;
use ichor_talos::validate::{DocumentIssue, Mode, Setting};
use ichor_talos::{encode, load, release};
use ichor_values::{Issue, Severity, TalosVersion};

pub use duty::{AgentConfigInputs, rehearsed};
pub use install::installer;
pub use patches::{PatchTexts, sealed_patches};
pub use routing::NodeRouting;
pub use warning::NodeWarning;

pub use super::tree::RenderInputs;
pub(crate) use super::tree::RenderInputs as Ground;

/// The BGP of a node, or why it cannot be known.
type RoutingResult = Result<NodeRouting, Vec<Issue>>;

/// A configuration that the node's release accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedConfig {
    /// Its documents, as Talos writes them.
    pub documents: Vec<Value>,
    /// What the release says of it beside that.
    pub warnings: Vec<NodeWarning>,
}

/// Makes configurations.
pub struct Renderer<'a> {
    ground: Ground<'a>,
    contract: Contract,
    control_plane: Config,
    worker: Config,
    patches: patches::PatchSet,
    protected: ProtectedPrefixes,
}

impl<'a> Renderer<'a> {
    /// Makes what the nodes share. All that is wrong with it is told at once.
    pub fn new(ground: Ground<'a>) -> Result<Self, Vec<Issue>> {
        let talos = &ground.plan.cluster.contract.value;
        if !release::is_known(talos) {
            let (oldest, newest) = release::known_releases();
            let reason = format!("ichor writes for Talos 1.{oldest} to 1.{newest}, not for {talos}");
            return Err(vec![Issue::error("cluster.talos", reason)]);
        }
        let contract = Contract::of(talos);
        let mut errors = Vec::new();
        let patches = patches::PatchSet::read(ground, &mut errors);
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
                let protected = crate::routing::protected(ground.plan);
                Ok(Self { ground, contract, control_plane, worker, patches, protected })
            }
            _ => Err(errors),
        }
    }

    fn shared(ground: Ground<'_>, contract: Contract, role: Role) -> Result<Config, Vec<Issue>> {
        let mut draft = ConfigDraft::new(contract, role);
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
    pub fn machine(&self, node: &NodePlan) -> Result<RenderedConfig, Vec<Issue>> {
        self.machine_with(node, &self.routing(node))
    }

    /// The BGP of a node, which both of its configurations have.
    pub(super) fn routing(&self, node: &NodePlan) -> Result<NodeRouting, Vec<Issue>> {
        routing::of(self.ground, &self.protected, node)
    }

    /// The whole configuration of a node with this BGP.
    pub(super) fn machine_with(
        &self,
        node: &NodePlan,
        routing: &RoutingResult,
    ) -> Result<RenderedConfig, Vec<Issue>> {
        let mut errors = Vec::new();
        let mut config = self.unpatched(node, routing, &mut errors);
        for patch in self.patches.of(node) {
            if let Err(error) = patch.apply(&mut config, &self.ground.plan.cluster.contract.value) {
                errors.push(node_issue(node, &error));
            }
        }
        if errors.is_empty() && !refused(&config, node).is_empty() {
            errors = self.blame(node, routing);
        }
        let mut rendered = self.judged(node, &config, errors)?;
        if !rendered.warnings.is_empty() {
            self.name_patches(node, routing, &mut rendered.warnings);
        }
        Ok(rendered)
    }

    /// What a node has before the patches of the file.
    fn unpatched(&self, node: &NodePlan, routing: &RoutingResult, errors: &mut Vec<Issue>) -> Config {
        let ground = self.ground;
        let mut draft = ConfigDraft::new(self.contract, node.role);
        self.add_network(&mut draft, node, ConfigStage::Final);
        install::add(&mut draft, node, errors);
        node::add(&mut draft, ground, node);
        overlay::add(&mut draft, ground, node, errors);
        self.add_routing(&mut draft, node, routing, ConfigStage::Final, errors);
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
    fn blame(&self, node: &NodePlan, routing: &RoutingResult) -> Vec<Issue> {
        let at = node.path("");
        let mut errors = Vec::new();
        let mut config = self.unpatched(node, routing, &mut errors);
        let mut known = refused(&config, node);
        errors.extend(known.iter().map(|reason| Issue::error(&at, reason)));
        for patch in self.patches.of(node) {
            if let Err(error) = patch.apply(&mut config, &self.ground.plan.cluster.contract.value) {
                errors.push(Issue::error(&at, error.to_string()));
            }
            for reason in refused(&config, node) {
                if !known.contains(&reason) {
                    errors.push(Issue::error(&at, format!("{}: with this patch {reason}", patch.name)));
                    known.push(reason);
                }
            }
        }
        errors
    }

    /// Names in each warning the patch that brought it.
    fn name_patches(&self, node: &NodePlan, routing: &RoutingResult, warnings: &mut [NodeWarning]) {
        let mut config = self.unpatched(node, routing, &mut Vec::new());
        let mut known = warnings_about(&config, node);
        for patch in self.patches.of(node) {
            if patch.apply(&mut config, &self.ground.plan.cluster.contract.value).is_err() {
                return;
            }
            let now = warnings_about(&config, node);
            for warning in warnings.iter_mut().filter(|it| now.contains(it) && !known.contains(it)) {
                warning.patch = Some(patch.name.clone());
            }
            known = now;
        }
    }

    /// The configuration of a node before Talos is installed: documents alone, none of which holds a secret of the cluster.
    /// Passwords of its BGP sessions are in it: without them it would have no network.
    pub fn boot(&self, node: &NodePlan) -> Result<RenderedConfig, Vec<Issue>> {
        self.boot_with(node, &self.routing(node))
    }

    /// The same with this BGP.
    pub(super) fn boot_with(
        &self,
        node: &NodePlan,
        routing: &RoutingResult,
    ) -> Result<RenderedConfig, Vec<Issue>> {
        let mut draft = ConfigDraft::new(self.contract, node.role);
        if self.contract.has(Trait::NetworkDocuments) {
            self.add_network(&mut draft, node, ConfigStage::Boot);
        }
        let mut errors = Vec::new();
        self.add_routing(&mut draft, node, routing, ConfigStage::Boot, &mut errors);
        let mut config = Config::default();
        if let Err(error) = draft.merge_into(&mut config, self.ground, &node.path(""), &node.talos.value) {
            errors.push(error);
        }
        if errors.is_empty() { self.judged(node, &config, errors) } else { Err(errors) }
    }

    fn add_network(&self, draft: &mut ConfigDraft, node: &NodePlan, stage: ConfigStage) {
        if self.contract.has(Trait::NetworkDocuments) {
            draft.documents.extend(network::documents(node, stage));
        } else if let Value::Object(machine) = network::machine(node) {
            draft.legacy(machine);
        }
    }

    fn add_routing(
        &self,
        draft: &mut ConfigDraft,
        node: &NodePlan,
        routing: &RoutingResult,
        stage: ConfigStage,
        errors: &mut Vec<Issue>,
    ) {
        match routing {
            Ok(made) => routing::add(draft, self.ground, made, node, stage, errors),
            Err(found) => errors.extend_from_slice(found),
        }
    }

    /// What the node's own release says of it.
    fn judged(
        &self,
        node: &NodePlan,
        config: &Config,
        mut errors: Vec<Issue>,
    ) -> Result<RenderedConfig, Vec<Issue>> {
        let talos = &node.talos.value;
        let documents = encode::encode(config, &self.ground.plan.cluster.contract.value);
        if let Err(error) = load::load_values(&documents, talos) {
            errors.push(Issue::error(node.path(""), format!("Talos {talos} does not read it: {error}")));
        }
        if errors.is_empty() {
            let refused = refused(config, node);
            errors.extend(refused.into_iter().map(|reason| Issue::error(node.path(""), reason)));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(RenderedConfig { documents, warnings: warnings_about(config, node) })
    }
}

/// What the node's release says of a configuration.
fn judge(config: &Config, node: &NodePlan) -> Vec<DocumentIssue> {
    let mode = if node.platform.value == Platform::Metal { Mode::Metal } else { Mode::Cloud };
    validate::validate(config, Setting { talos: &node.talos.value, mode })
}

/// Why the node's release refuses a configuration.
fn refused(config: &Config, node: &NodePlan) -> Vec<String> {
    let errors = judge(config, node).into_iter().filter(|found| found.issue.severity == Severity::Error);
    errors.map(|found| told(&found.issue, node)).collect()
}

/// What the node's release says of a configuration that it accepts.
fn warnings_about(config: &Config, node: &NodePlan) -> Vec<NodeWarning> {
    let accepted = judge(config, node).into_iter().filter(|found| found.issue.severity != Severity::Error);
    accepted.map(|found| NodeWarning::of(config, found, node)).collect()
}

fn told(Issue { subject, message, .. }: &Issue, node: &NodePlan) -> String {
    format!("Talos {} refuses the configuration: {subject}: {message}", node.talos.value)
}

fn loaded(talos: &TalosVersion, at: &str, documents: &[Value]) -> Result<Config, Issue> {
    load::load_values(documents, talos).map_err(|error| Issue::error(at, error.to_string()))
}

/// What is added to a configuration: documents, and parts of the one with `machine` and `cluster`.
struct ConfigDraft {
    contract: Contract,
    role: Role,
    legacy: Map<String, Value>,
    documents: Vec<Value>,
}

impl ConfigDraft {
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
    ) -> Result<(), Issue> {
        let mut documents = Vec::new();
        if !self.legacy.is_empty() {
            documents.push(Value::Object(std::mem::take(&mut self.legacy)));
        }
        documents.append(&mut self.documents);
        let added = loaded(talos, at, &documents)?;
        let patch = Patch::merging("what ichor adds", added);
        patch
            .apply(config, &ground.plan.cluster.contract.value)
            .map_err(|error| Issue::error(at, error.to_string()))
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
