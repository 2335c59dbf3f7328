//! All files of a build, from a cluster, its plan and attachments.
//!
//! [`tree`] renders all of them without side effects. A multi-threaded caller does the same in three steps: [`Renderer::new`]
//! renders the parts that nodes share, [`Renderer::node`] the files of one node, and [`BuildTree::new`] adds the files of the
//! cluster.
//!
//! Not here: reading inputs and writing files.

use std::fmt;

use super::artifact::Artifact;
use super::fabric::containerlab;
use super::{base_image, boot_media, fabric, hypervisor, manifests, talosconfig, topology};
use crate::model::Cluster;
use crate::plan::attachment::Attachments;
use crate::plan::{NodePlan, Plan};
use crate::prove::summarize_names;
use crate::render::node_issue;
use crate::routing::BgpTopology;
use ichor_bgp::model::BgpModel;
use ichor_bgp::render::{SecretFetcher, Service};
use ichor_talos::secrets::{Bundle, Pair};
use ichor_values::go_yaml::emit::emit_all;
use ichor_values::{Issue, NodeName};

pub use super::machine::{NodeWarning, PatchTexts, Renderer};

/// The inputs of a build.
#[derive(Clone, Copy)]
pub struct RenderInputs<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The plan.
    pub plan: &'a Plan,
    /// The secrets of Talos and Kubernetes.
    pub bundle: &'a Bundle,
    /// The files that the cluster file refers to.
    pub attachments: &'a Attachments,
    /// The Cilium manifest rendered by helm, or the error; unused without a [`ChartRequest`](super::chart::ChartRequest).
    pub cilium: Result<&'a str, &'a str>,
    /// The decrypted texts of encrypted patches.
    pub patches: &'a PatchTexts,
    /// Fetches a secret that the cluster file refers to.
    pub secret: &'a SecretFetcher<'a>,
}

/// The purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilePurpose {
    /// The configuration of a node.
    Configuration,
    /// The configuration of a node before Talos is installed.
    FirstConfiguration,
    /// Configuration of the node's routing daemon.
    Routing,
    /// Boot media and the schematic.
    Boot,
    /// Images to build.
    Images,
    /// Configuration of the routers.
    Fabric,
    /// Kubernetes manifests.
    Manifests,
    /// VM definitions.
    Machines,
    /// Access to Talos' API.
    Access,
    /// The diagram of the cluster.
    Picture,
}

impl fmt::Display for FilePurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Configuration => "configuration",
            Self::FirstConfiguration => "first configuration",
            Self::Routing => "routing daemon",
            Self::Boot => "boot",
            Self::Images => "images",
            Self::Fabric => "fabric",
            Self::Manifests => "manifests",
            Self::Machines => "machines",
            Self::Access => "access",
            Self::Picture => "picture",
        })
    }
}

/// A file of a build with its node and purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// The file.
    pub artifact: Artifact,
    /// Its node; none for a file of the cluster.
    pub node: Option<NodeName>,
    /// Its purpose.
    pub purpose: FilePurpose,
}

/// The files of one node.
#[derive(Debug)]
pub struct NodeTree {
    /// The files, in the order of use.
    pub files: Vec<TreeFile>,
    /// Talos' warnings about its configurations.
    pub warnings: Vec<NodeWarning>,
    /// The extension service of its routing daemon; none without one.
    pub service: Option<Service>,
    /// Its BGP model; none without routing.
    pub model: Option<BgpModel>,
}

/// The files of a build.
#[derive(Debug, Default)]
pub struct BuildTree {
    /// The files: those of the nodes in the order of the cluster file, then those of the cluster.
    pub files: Vec<TreeFile>,
    /// Talos' warnings about the nodes' configurations.
    pub warnings: Vec<NodeWarning>,
    /// Notes for the operator.
    pub notes: Vec<String>,
}

/// Renders all files of a build, or returns all errors. `admin` is the certificate in the talosconfig.
pub fn tree(inputs: RenderInputs<'_>, admin: &Pair) -> Result<BuildTree, Vec<Issue>> {
    let nodes = match Renderer::new(inputs) {
        Ok(renderer) => inputs.plan.nodes.iter().map(|node| renderer.node(node)).collect(),
        Err(errors) => vec![Err(errors)],
    };
    BuildTree::new(inputs, admin, nodes)
}

impl Renderer<'_> {
    /// Renders the files of one node, or returns all errors.
    pub fn node(&self, node: &NodePlan) -> Result<NodeTree, Vec<Issue>> {
        let routing = self.routing(node);
        let machine = self.machine_with(node, &routing)?;
        let boot = self.boot_with(node, &routing)?;
        let mut warnings = machine.warnings;
        warnings.extend(boot.warnings);
        let (machine, boot) = (emit_all(&machine.documents), emit_all(&boot.documents));
        boot_media::check_size(node, &machine).map_err(|error| vec![error])?;
        let routing = routing?;
        let service = routing.service?;
        let at = |name: &str| format!("nodes/{}/{name}", node.name);
        let mut files =
            vec![node_file(node, FilePurpose::Configuration, Artifact::private(at("machine.yaml"), machine))];
        if !boot.is_empty() {
            let first = Artifact::private(at("boot.yaml"), boot.clone());
            files.push(node_file(node, FilePurpose::FirstConfiguration, first));
        }
        for file in service.iter().flat_map(|service| &service.files) {
            let artifact = if file.private { Artifact::private } else { Artifact::public };
            files.push(node_file(node, FilePurpose::Routing, artifact(at(file.name), file.text.clone())));
        }
        files.extend(boot_media_files(node, &boot)?);
        Ok(NodeTree { files, warnings, service, model: routing.model })
    }

    /// Renders the boot media of a node.
    pub fn boot_media(&self, node: &NodePlan) -> Result<Vec<TreeFile>, Vec<Issue>> {
        boot_media_files(node, &emit_all(&self.boot(node)?.documents))
    }
}

fn boot_media_files(node: &NodePlan, boot: &str) -> Result<Vec<TreeFile>, Vec<Issue>> {
    let files = boot_media::render(node, boot).map_err(|error| vec![error])?;
    Ok(files.into_iter().map(|file| node_file(node, FilePurpose::Boot, file)).collect())
}

fn node_file(node: &NodePlan, purpose: FilePurpose, artifact: Artifact) -> TreeFile {
    TreeFile { artifact, node: Some(node.name.clone()), purpose }
}

impl BuildTree {
    /// Combines the files of some nodes, or returns all errors.
    pub fn from_nodes(nodes: Vec<Result<NodeTree, Vec<Issue>>>) -> Result<Self, Vec<Issue>> {
        combine_nodes(nodes).map(|(tree, _)| tree)
    }

    /// Combines the files of all nodes with those of the cluster, or returns all errors.
    pub fn new(
        inputs: RenderInputs<'_>,
        admin: &Pair,
        nodes: Vec<Result<NodeTree, Vec<Issue>>>,
    ) -> Result<Self, Vec<Issue>> {
        let (mut tree, mut errors, network) = match combine_nodes(nodes) {
            Ok((tree, models)) => {
                (tree, Vec::new(), Ok(BgpTopology::from_models(inputs.cluster, inputs.plan, models)))
            }
            Err(errors) => (Self::default(), errors, BgpTopology::from_plan(inputs.cluster, inputs.plan)),
        };
        tree.add_images(inputs.plan).unwrap_or_else(|error| errors.push(error));
        match network {
            Ok(network) => tree.add_cluster_files(inputs, &network, &mut errors),
            Err(found) => errors.extend(found),
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let client = talosconfig(inputs.plan, inputs.bundle, admin);
        tree.add(FilePurpose::Access, [Artifact::private("talosconfig", client)]);
        let picture = topology::render(inputs.cluster, inputs.plan);
        tree.add(FilePurpose::Picture, [Artifact::public("topology.svg", picture)]);
        Ok(tree)
    }

    fn add(&mut self, purpose: FilePurpose, files: impl IntoIterator<Item = Artifact>) {
        let file = |artifact| TreeFile { artifact, node: None, purpose };
        self.files.extend(files.into_iter().map(file));
    }

    /// Adds the list of images to build, if there are any.
    fn add_images(&mut self, plan: &Plan) -> Result<(), Issue> {
        let wanted = base_image::required_images(plan).map_err(|(node, error)| node_issue(node, &error))?;
        self.notes.push(match wanted.as_slice() {
            [] => return Ok(()),
            [one] => format!("the nodes boot {}; build it with `ichor image build`", one.base.stem()),
            all => format!(
                "the nodes boot {} base images, listed in {}; build them with `ichor image build`",
                all.len(),
                base_image::LIST
            ),
        });
        self.add(FilePurpose::Images, [Artifact::public(base_image::LIST, base_image::images_json(&wanted))]);
        Ok(())
    }

    /// Adds router configurations, Kubernetes manifests and VM definitions.
    fn add_cluster_files(
        &mut self,
        inputs: RenderInputs<'_>,
        network: &BgpTopology,
        errors: &mut Vec<Issue>,
    ) {
        let RenderInputs { plan, secret, .. } = inputs;
        self.notes.extend(containerlab_note(plan, network));
        for (purpose, rendered) in [
            (FilePurpose::Fabric, fabric::render(plan, network, secret)),
            (FilePurpose::Manifests, manifests::render(plan, network)),
            (FilePurpose::Machines, hypervisor::render(plan)),
        ] {
            match rendered {
                Ok(files) => self.add(purpose, files),
                Err(mut found) => errors.append(&mut found),
            }
        }
    }
}

/// Combines the files of nodes, and returns the BGP models of those with routing.
fn combine_nodes(nodes: Vec<Result<NodeTree, Vec<Issue>>>) -> Result<(BuildTree, Vec<BgpModel>), Vec<Issue>> {
    let (mut tree, mut models, mut errors) = (BuildTree::default(), Vec::new(), Vec::new());
    for node in nodes {
        match node {
            Ok(node) => {
                tree.files.extend(node.files);
                tree.warnings.extend(node.warnings);
                models.extend(node.model);
            }
            Err(mut found) => errors.append(&mut found),
        }
    }
    if errors.is_empty() { Ok((tree, models)) } else { Err(errors) }
}

/// A note about routers and nodes without FRR, which are not in the containerlab topology.
fn containerlab_note(plan: &Plan, network: &BgpTopology) -> Option<String> {
    let omitted = containerlab::omitted(plan, network);
    if fabric::is_empty(network) || omitted.is_empty() {
        None
    } else if omitted.len() == network.nodes.len() + network.routers.len() {
        Some("fabric/containerlab.clab.yml is empty: no node or router runs FRR".to_owned())
    } else {
        let names = summarize_names(omitted.iter().copied());
        Some(format!("omitted from fabric/containerlab.clab.yml, because they do not run FRR: {names}"))
    }
}
