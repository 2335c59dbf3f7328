//! Every file that a build writes, from a cluster, its plan and what goes into the files beside them.
//!
//! [`tree`] makes all of them and touches nothing. A caller that has threads does the same in three steps: [`Renderer::new`]
//! makes what the nodes share, [`Renderer::node`] the files of one node, and [`BuildTree::whole`] adds those around the nodes.
//!
//! Not here: reading what goes in, and writing what comes out.

use std::fmt;

use super::artifact::Artifact;
use super::fabric::containerlab;
use super::{base, carrier, fabric, hypervisor, manifests, talosconfig, topology};
use crate::model::Cluster;
use crate::plan::attachment::Attachments;
use crate::plan::{NodePlan, Plan};
use crate::prove::crowd;
use crate::render::node_issue;
use crate::routing::BgpTopology;
use ichor_bgp::model::BgpModel;
use ichor_bgp::render::{SecretFetcher, Service};
use ichor_talos::secrets::{Bundle, Pair};
use ichor_values::go_yaml::emit::emit_all;
use ichor_values::{Issue, NodeName};

pub use super::machine::{NodeWarning, PatchTexts, Renderer};

/// What the files of a build are made from.
#[derive(Clone, Copy)]
pub struct RenderInputs<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// What was decided.
    pub plan: &'a Plan,
    /// The secrets of Talos and Kubernetes.
    pub bundle: &'a Bundle,
    /// The files that the cluster file names.
    pub attachments: &'a Attachments,
    /// Cilium as helm rendered it, or why it could not; not used where the cluster has no [`Order`](super::chart::Order).
    pub cilium: Result<&'a str, &'a str>,
    /// The texts of encrypted patches, opened.
    pub patches: &'a PatchTexts,
    /// Fetches a secret that the cluster file refers to.
    pub secret: &'a SecretFetcher<'a>,
}

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilePurpose {
    /// The whole configuration of a node.
    Configuration,
    /// The configuration that a node has before Talos is installed.
    FirstConfiguration,
    /// What the node's routing daemon reads.
    Routing,
    /// What brings a machine its first configuration, and what its image is made from.
    Boot,
    /// The images that have to be built.
    Images,
    /// The other end of the nodes' BGP sessions.
    Fabric,
    /// Objects for Kubernetes.
    Manifests,
    /// VM definitions.
    Machines,
    /// Access to Talos' API.
    Access,
    /// The picture of the cluster.
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

/// A file of a build, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// The file.
    pub artifact: Artifact,
    /// The node it is for; none where it is for all of them.
    pub node: Option<NodeName>,
    /// What it is for.
    pub purpose: FilePurpose,
}

/// The files of one node.
#[derive(Debug)]
pub struct NodeTree {
    /// The files, in the order in which they are used.
    pub files: Vec<TreeFile>,
    /// What Talos says of its configurations beside that it accepts them.
    pub warnings: Vec<NodeWarning>,
    /// The service of its routing daemon; none where no daemon runs.
    pub service: Option<Service>,
    /// Its BGP; none where it does not route.
    pub model: Option<BgpModel>,
}

/// The files of a build.
#[derive(Debug, Default)]
pub struct BuildTree {
    /// The files: those of the nodes in the order of the cluster file, then those around them.
    pub files: Vec<TreeFile>,
    /// What Talos says of the nodes' configurations beside that it accepts them.
    pub warnings: Vec<NodeWarning>,
    /// What the files leave to their reader.
    pub notes: Vec<String>,
}

/// Every file of a build, or everything that is wrong. `admin` is the certificate in the talosconfig.
pub fn tree(inputs: RenderInputs<'_>, admin: &Pair) -> Result<BuildTree, Vec<Issue>> {
    let nodes = match Renderer::new(inputs) {
        Ok(renderer) => inputs.plan.nodes.iter().map(|node| renderer.node(node)).collect(),
        Err(errors) => vec![Err(errors)],
    };
    BuildTree::whole(inputs, admin, nodes)
}

impl Renderer<'_> {
    /// The files of one node, or everything that is wrong with them.
    pub fn node(&self, node: &NodePlan) -> Result<NodeTree, Vec<Issue>> {
        let routing = self.routing(node);
        let machine = self.machine_with(node, &routing)?;
        let boot = self.boot_with(node, &routing)?;
        let mut warnings = machine.warnings;
        warnings.extend(boot.warnings);
        let (machine, boot) = (emit_all(&machine.documents), emit_all(&boot.documents));
        carrier::check_size(node, &machine).map_err(|error| vec![error])?;
        let routing = routing?;
        let service = routing.service?;
        let at = |name: &str| format!("nodes/{}/{name}", node.name);
        let mut files =
            vec![of_node(node, FilePurpose::Configuration, Artifact::private(at("machine.yaml"), machine))];
        if !boot.is_empty() {
            let first = Artifact::private(at("boot.yaml"), boot.clone());
            files.push(of_node(node, FilePurpose::FirstConfiguration, first));
        }
        for file in service.iter().flat_map(|service| &service.files) {
            let artifact = if file.private { Artifact::private } else { Artifact::public };
            files.push(of_node(node, FilePurpose::Routing, artifact(at(file.name), file.text.clone())));
        }
        files.extend(carrier_files(node, &boot)?);
        Ok(NodeTree { files, warnings, service, model: routing.model })
    }

    /// The files that bring a machine its first configuration.
    pub fn carrier(&self, node: &NodePlan) -> Result<Vec<TreeFile>, Vec<Issue>> {
        carrier_files(node, &emit_all(&self.boot(node)?.documents))
    }
}

fn carrier_files(node: &NodePlan, boot: &str) -> Result<Vec<TreeFile>, Vec<Issue>> {
    let files = carrier::render(node, boot).map_err(|error| vec![error])?;
    Ok(files.into_iter().map(|file| of_node(node, FilePurpose::Boot, file)).collect())
}

fn of_node(node: &NodePlan, purpose: FilePurpose, artifact: Artifact) -> TreeFile {
    TreeFile { artifact, node: Some(node.name.clone()), purpose }
}

impl BuildTree {
    /// The files of some nodes, or everything that is wrong with them.
    pub fn of_nodes(nodes: Vec<Result<NodeTree, Vec<Issue>>>) -> Result<Self, Vec<Issue>> {
        gathered(nodes).map(|(tree, _)| tree)
    }

    /// The files of all nodes, and those around them; or everything that is wrong.
    pub fn whole(
        inputs: RenderInputs<'_>,
        admin: &Pair,
        nodes: Vec<Result<NodeTree, Vec<Issue>>>,
    ) -> Result<Self, Vec<Issue>> {
        let (mut tree, mut errors, network) = match gathered(nodes) {
            Ok((tree, models)) => {
                (tree, Vec::new(), Ok(BgpTopology::of_models(inputs.cluster, inputs.plan, models)))
            }
            Err(errors) => (Self::default(), errors, BgpTopology::of(inputs.cluster, inputs.plan)),
        };
        tree.add_images(inputs.plan).unwrap_or_else(|error| errors.push(error));
        match network {
            Ok(network) => tree.add_surroundings(inputs, &network, &mut errors),
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

    /// The list of the images that have to be built for the nodes, where there are any.
    fn add_images(&mut self, plan: &Plan) -> Result<(), Issue> {
        let wanted = base::bases(plan).map_err(|(node, error)| node_issue(node, &error))?;
        self.notes.push(match wanted.as_slice() {
            [] => return Ok(()),
            [one] => format!("the nodes boot {}: `ichor image build` makes it", one.base.stem()),
            all => format!(
                "the nodes boot {} base images, listed in {}: `ichor image build` makes them",
                all.len(),
                base::LIST
            ),
        });
        self.add(FilePurpose::Images, [Artifact::public(base::LIST, base::list(&wanted))]);
        Ok(())
    }

    /// The other end of the nodes' sessions, objects for Kubernetes, and VM definitions.
    fn add_surroundings(&mut self, inputs: RenderInputs<'_>, network: &BgpTopology, errors: &mut Vec<Issue>) {
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

/// The files of nodes and the BGP of those that route.
fn gathered(nodes: Vec<Result<NodeTree, Vec<Issue>>>) -> Result<(BuildTree, Vec<BgpModel>), Vec<Issue>> {
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

/// Who is not in the topology of containerlab, which runs FRR alone.
fn containerlab_note(plan: &Plan, network: &BgpTopology) -> Option<String> {
    let absent = containerlab::absent(plan, network);
    if fabric::is_empty(network) || absent.is_empty() {
        None
    } else if absent.len() == network.nodes.len() + network.routers.len() {
        Some("fabric/containerlab.clab.yml is empty: FRR runs nowhere in this fabric".to_owned())
    } else {
        let names = crowd(absent.iter().copied());
        Some(format!("not in fabric/containerlab.clab.yml, because FRR does not run there: {names}"))
    }
}
