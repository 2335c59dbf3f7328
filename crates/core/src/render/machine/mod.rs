//! The Talos configuration of a node, from the plan.
//!
//! A [`Renderer`] renders the settings that all nodes of a role share once (`cluster`, on top of the configuration `generated`
//! by Talos), and adds those of each node: [`network`], `install`, `node`, `overlay` and `routing`. The patches of the file are
//! applied last (`patches`), and the result is validated with the rules of the node's release.
//!
//! Not here: text ([`talos::emit`](ichor_values::go_yaml::emit)) and files.

mod agent_config;
mod cluster;
mod firewall;
mod generated;
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

pub use agent_config::{AgentConfigInputs, agent_config_without_status};
pub use install::installer;
pub use patches::{PatchTexts, encrypted_patches};
pub use routing::NodeRouting;
pub use warning::NodeWarning;

pub use super::tree::RenderInputs;

/// The BGP of a node, or the errors.
type RoutingResult = Result<NodeRouting, Vec<Issue>>;

/// A configuration that the node's release accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedConfig {
    /// Its documents, as Talos encodes them.
    pub documents: Vec<Value>,
    /// Warnings of the release.
    pub warnings: Vec<NodeWarning>,
}

/// Why a release rejects a configuration.
pub(crate) struct ConfigRejection {
    /// The patch of the cluster file that causes it, if any.
    pub(crate) patch: Option<String>,
    /// The reason.
    pub(crate) reason: String,
}

/// Renders configurations.
pub struct Renderer<'a> {
    inputs: RenderInputs<'a>,
    contract: Contract,
    control_plane: Config,
    worker: Config,
    patches: patches::PatchSet,
    protected: ProtectedPrefixes,
}

impl<'a> Renderer<'a> {
    /// Renders the shared settings, or returns all errors in them.
    pub fn new(inputs: RenderInputs<'a>) -> Result<Self, Vec<Issue>> {
        let talos = &inputs.plan.cluster.contract.value;
        if !release::is_known(talos) {
            let (oldest, newest) = release::known_releases();
            let reason = format!("ichor supports Talos 1.{oldest} to 1.{newest}, not {talos}");
            return Err(vec![Issue::error("cluster.talos", reason)]);
        }
        let contract = Contract::for_release(talos);
        let mut errors = Vec::new();
        let patches = patches::PatchSet::read(inputs, &mut errors);
        let mut role = |role| match Self::render_shared(inputs, contract, role) {
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
                let protected = crate::routing::protected(inputs.plan);
                Ok(Self { inputs, contract, control_plane, worker, patches, protected })
            }
            _ => Err(errors),
        }
    }

    fn render_shared(inputs: RenderInputs<'_>, contract: Contract, role: Role) -> Result<Config, Vec<Issue>> {
        let mut draft = ConfigDraft::new(contract, role);
        let input = generated::input(inputs, contract).map_err(|error| vec![error])?;
        let documents = generated::generate(&input, inputs.bundle, role);
        let talos = &inputs.plan.cluster.contract.value;
        let mut config = load_documents(talos, "cluster", &documents).map_err(|error| vec![error])?;
        let mut errors = Vec::new();
        cluster::add(&mut draft, inputs, &mut errors);
        firewall::add(&mut draft, inputs);
        if !errors.is_empty() {
            return Err(errors);
        }
        draft.merge_into(&mut config, inputs, "cluster", talos).map_err(|error| vec![error])?;
        Ok(config)
    }

    /// Renders the configuration of a node.
    pub fn machine(&self, node: &NodePlan) -> Result<RenderedConfig, Vec<Issue>> {
        self.machine_with(node, &self.routing(node))
    }

    /// Renders the BGP of a node, which both of its configurations contain.
    pub(super) fn routing(&self, node: &NodePlan) -> Result<NodeRouting, Vec<Issue>> {
        routing::render_routing(self.inputs, &self.protected, node)
    }

    /// Renders the configuration of a node with this BGP.
    pub(super) fn machine_with(
        &self,
        node: &NodePlan,
        routing: &RoutingResult,
    ) -> Result<RenderedConfig, Vec<Issue>> {
        let mut errors = Vec::new();
        let mut config = self.unpatched(node, routing, &mut errors);
        for patch in self.patches.node_patches(node) {
            if let Err(error) = patch.apply(&mut config, &self.inputs.plan.cluster.contract.value) {
                errors.push(node_issue(node, &error));
            }
        }
        if errors.is_empty() && !config_errors(&config, node).is_empty() {
            errors = self.attribute_errors(node, routing);
        }
        let mut rendered = self.finish(node, &config, errors)?;
        if !rendered.warnings.is_empty() {
            self.attribute_warnings(node, routing, &mut rendered.warnings);
        }
        Ok(rendered)
    }

    /// The configuration of a node without the patches of the file.
    fn unpatched(&self, node: &NodePlan, routing: &RoutingResult, errors: &mut Vec<Issue>) -> Config {
        let inputs = self.inputs;
        let mut draft = ConfigDraft::new(self.contract, node.role);
        self.add_network(&mut draft, node, ConfigStage::Final);
        install::add(&mut draft, node, errors);
        node::add(&mut draft, inputs, node);
        overlay::add(&mut draft, inputs, node, errors);
        self.add_routing(&mut draft, node, routing, ConfigStage::Final, errors);
        let mut config = match node.role {
            Role::Controlplane => self.control_plane.clone(),
            Role::Worker => self.worker.clone(),
        };
        if let Err(error) = draft.merge_into(&mut config, inputs, &node.path(""), &node.talos.value) {
            errors.push(error);
        }
        config
    }

    /// Why the node's release rejects its configuration, each error with the patch that causes it.
    fn attribute_errors(&self, node: &NodePlan, routing: &RoutingResult) -> Vec<Issue> {
        let mut errors = Vec::new();
        let rejections = self.rejections(node, routing, &mut errors);
        errors.extend(rejections.into_iter().map(|rejection| {
            let reason = match rejection.patch {
                Some(patch) => format!("{patch}: with this patch {}", rejection.reason),
                None => rejection.reason,
            };
            Issue::error(node.path(""), reason)
        }));
        errors
    }

    /// The patches of a node for which its release rejects the configuration.
    pub(crate) fn patch_rejections(&self, node: &NodePlan) -> Vec<ConfigRejection> {
        // The errors are those of rendering, without a patch.
        let mut rejections = self.rejections(node, &self.routing(node), &mut Vec::new());
        rejections.retain(|rejection| rejection.patch.is_some());
        rejections
    }

    fn rejections(
        &self,
        node: &NodePlan,
        routing: &RoutingResult,
        errors: &mut Vec<Issue>,
    ) -> Vec<ConfigRejection> {
        let mut config = self.unpatched(node, routing, errors);
        let found = config_errors(&config, node);
        let mut rejections: Vec<_> =
            found.into_iter().map(|reason| ConfigRejection { patch: None, reason }).collect();
        for patch in self.patches.node_patches(node) {
            if let Err(error) = patch.apply(&mut config, &self.inputs.plan.cluster.contract.value) {
                errors.push(node_issue(node, &error));
            }
            for reason in config_errors(&config, node) {
                if !rejections.iter().any(|known| known.reason == reason) {
                    rejections.push(ConfigRejection { patch: Some(patch.name.clone()), reason });
                }
            }
        }
        rejections
    }

    /// Adds to each warning the patch that causes it.
    fn attribute_warnings(&self, node: &NodePlan, routing: &RoutingResult, warnings: &mut [NodeWarning]) {
        let mut config = self.unpatched(node, routing, &mut Vec::new());
        let mut known = config_warnings(&config, node);
        for patch in self.patches.node_patches(node) {
            if patch.apply(&mut config, &self.inputs.plan.cluster.contract.value).is_err() {
                return;
            }
            let current = config_warnings(&config, node);
            for warning in warnings.iter_mut().filter(|it| current.contains(it) && !known.contains(it)) {
                warning.patch = Some(patch.name.clone());
            }
            known = current;
        }
    }

    /// Renders the first configuration of a node, before Talos is installed: only documents without the cluster's secrets. It
    /// has the passwords of its BGP sessions, without which it would have no network.
    pub fn boot(&self, node: &NodePlan) -> Result<RenderedConfig, Vec<Issue>> {
        self.boot_with(node, &self.routing(node))
    }

    /// Renders the first configuration of a node with this BGP.
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
        if let Err(error) = draft.merge_into(&mut config, self.inputs, &node.path(""), &node.talos.value) {
            errors.push(error);
        }
        if errors.is_empty() { self.finish(node, &config, errors) } else { Err(errors) }
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
            Ok(rendered) => routing::add(draft, self.inputs, rendered, node, stage, errors),
            Err(found) => errors.extend_from_slice(found),
        }
    }

    /// Encodes a configuration, and validates it with the rules of the node's release.
    fn finish(
        &self,
        node: &NodePlan,
        config: &Config,
        mut errors: Vec<Issue>,
    ) -> Result<RenderedConfig, Vec<Issue>> {
        let talos = &node.talos.value;
        let documents = encode::encode(config, &self.inputs.plan.cluster.contract.value);
        if let Err(error) = load::load_values(&documents, talos) {
            errors.push(Issue::error(
                node.path(""),
                format!("Talos {talos} cannot read the configuration: {error}"),
            ));
        }
        if errors.is_empty() {
            let rejected = config_errors(config, node);
            errors.extend(rejected.into_iter().map(|reason| Issue::error(node.path(""), reason)));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(RenderedConfig { documents, warnings: config_warnings(config, node) })
    }
}

/// All issues of a configuration in the node's release.
fn config_issues(config: &Config, node: &NodePlan) -> Vec<DocumentIssue> {
    let mode = if node.platform.value == Platform::Metal { Mode::Metal } else { Mode::Cloud };
    validate::validate(config, Setting { talos: &node.talos.value, mode })
}

/// Errors of a configuration in the node's release.
fn config_errors(config: &Config, node: &NodePlan) -> Vec<String> {
    let errors =
        config_issues(config, node).into_iter().filter(|found| found.issue.severity == Severity::Error);
    errors.map(|found| rejection_text(&found.issue, node)).collect()
}

/// Warnings about a configuration in the node's release.
fn config_warnings(config: &Config, node: &NodePlan) -> Vec<NodeWarning> {
    let accepted =
        config_issues(config, node).into_iter().filter(|found| found.issue.severity != Severity::Error);
    accepted.map(|found| NodeWarning::new(config, found, node)).collect()
}

fn rejection_text(Issue { subject, message, .. }: &Issue, node: &NodePlan) -> String {
    format!("Talos {} rejects the configuration: {subject}: {message}", node.talos.value)
}

fn load_documents(talos: &TalosVersion, at: &str, documents: &[Value]) -> Result<Config, Issue> {
    load::load_values(documents, talos).map_err(|error| Issue::error(at, error.to_string()))
}

/// Additions to a configuration: documents, and keys of the one with `machine` and `cluster`.
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
        merge_maps(&mut self.legacy, part);
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

    /// Merges the draft into a configuration. `talos` is the release that reads it: a node may be newer than the contract, and
    /// have documents that the contract does not support.
    fn merge_into(
        mut self,
        config: &mut Config,
        inputs: RenderInputs<'_>,
        at: &str,
        talos: &TalosVersion,
    ) -> Result<(), Issue> {
        let mut documents = Vec::new();
        if !self.legacy.is_empty() {
            documents.push(Value::Object(std::mem::take(&mut self.legacy)));
        }
        documents.append(&mut self.documents);
        let added = load_documents(talos, at, &documents)?;
        let patch = Patch::merging("ichor's additions", added);
        patch
            .apply(config, &inputs.plan.cluster.contract.value)
            .map_err(|error| Issue::error(at, error.to_string()))
    }
}

/// Merges maps recursively; lists are concatenated.
fn merge_maps(left: &mut Map<String, Value>, right: Map<String, Value>) {
    for (key, value) in right {
        match (left.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge_maps(old, new),
            (Some(Value::Array(old)), Value::Array(new)) => old.extend(new),
            (_, value) => {
                left.insert(key, value);
            }
        }
    }
}
