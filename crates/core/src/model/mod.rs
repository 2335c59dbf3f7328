//! The cluster model: the settings of the file with every reference resolved.
//!
//! [`validate`] turns a [`File`] into a [`Cluster`] or returns all problems. [`Cluster::settings`] has the merged settings
//! of one node, in which later layers override earlier ones.

mod backend;
mod check;
mod inheritance;
pub(crate) mod layer;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::cluster::section::{ClusterSection, File, Network, Node, NodeSettings, Nodes, Role, Router};
use ichor_values::key::{MergeOver, Spanned};
use ichor_values::read::{Read, Reference};
use ichor_values::{FileIssue, Location, NodeName, TalosVersion};

/// A valid cluster file.
#[derive(Debug)]
pub struct Cluster {
    /// The file.
    pub file: File,
    /// Talos release of nodes without their own.
    pub talos: TalosVersion,
    nodes: Vec<Spanned<Node>>,
    file_settings: NodeSettings,
    /// The merged settings of the shared layers, once for each combination; few nodes differ in them.
    bases: Vec<NodeSettings>,
    /// The merged settings of each node.
    settings: Vec<NodeSettings>,
    /// Built on first use, because few files refer to a node.
    by_name: OnceLock<HashMap<NodeName, usize>>,
}

/// Turns a file into a cluster, or returns all problems: those of reading it, missing keys and dangling references.
pub fn validate(file: Option<File>, mut problems: Vec<FileIssue>) -> Result<Cluster, Vec<FileIssue>> {
    let Some(mut file) = file else { return Err(problems) };
    check::add_problems(&file, &mut problems);
    if !problems.is_empty() {
        problems.sort_by_key(|problem| problem.place);
        return Err(problems);
    }
    let talos =
        file.cluster.get().and_then(|cluster| cluster.talos.get()).expect("checked: required").clone();
    let nodes = match std::mem::take(&mut file.nodes).into_value() {
        Some(Nodes::List(list)) => list.0,
        Some(Nodes::Table(_)) | None => Vec::new(),
    };
    Ok(Cluster::from_nodes(file, talos, nodes))
}

impl Cluster {
    /// Merges the layers for every node.
    fn from_nodes(file: File, talos: TalosVersion, nodes: Vec<Spanned<Node>>) -> Self {
        let file_settings = inheritance::file_settings(&file);
        let (bases, base_of) = inheritance::inherited_settings(&file, &file_settings, &nodes);
        let own = nodes.iter().map(|node| &node.value.settings);
        let settings = own.zip(base_of).map(|(own, base)| own.merge_over(&bases[base as usize])).collect();
        Self { file, talos, nodes, file_settings, bases, settings, by_name: OnceLock::new() }
    }

    /// The `cluster` section.
    pub fn section(&self) -> &ClusterSection {
        self.file.cluster.get().expect("checked: required")
    }

    /// The `network` section, if the file has one.
    pub fn network(&self) -> Option<&Network> {
        self.file.network.get()
    }

    /// The cluster's ID, from which other values are derived.
    pub fn id(&self) -> Option<Spanned<&u32>> {
        self.section().id.at()
    }

    /// The first layer: the top-level sections of the file that nodes have as well.
    pub(crate) fn file_settings(&self) -> &NodeSettings {
        &self.file_settings
    }

    /// The nodes as written, in their order.
    pub fn nodes(&self) -> &[Spanned<Node>] {
        &self.nodes
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<usize> {
        let by_name = self.by_name.get_or_init(|| {
            let names = self.nodes.iter().map(|node| node.value.name.get().cloned());
            (0..).zip(names).filter_map(|(nth, name)| Some((name?, nth))).collect()
        });
        by_name.get(name).copied()
    }

    /// The settings of node `nth`, merged from all layers.
    pub fn settings(&self, nth: usize) -> &NodeSettings {
        &self.settings[nth]
    }

    /// Whether any node has routing.
    pub fn has_routing(&self) -> bool {
        let mut layers = self.bases.iter().chain(self.nodes.iter().map(|node| &node.value.settings));
        layers.any(|settings| settings.routing.is_set())
    }

    /// The routers of the fabric.
    pub fn routers(&self) -> impl Iterator<Item = &Spanned<Router>> {
        self.file
            .fabric
            .get()
            .and_then(|fabric| fabric.routers.get())
            .into_iter()
            .flat_map(|routers| &routers.0)
    }

    /// The router of this name.
    pub fn router(&self, name: &str) -> Option<&Spanned<Router>> {
        self.routers().find(|router| router.value.name.get().is_some_and(|known| known.as_str() == name))
    }

    /// Every secret the file refers to, in its order.
    pub fn secrets(&self) -> Vec<Reference<'_>> {
        let mut found = Vec::new();
        self.file.secrets("", Location::default(), &mut found);
        for node in &self.nodes {
            let name = node.value.name.get().expect("checked: required");
            node.value.secrets(&format!("nodes.{name}"), node.place, &mut found);
        }
        found
    }

    /// The place of the `cluster` section, for findings about the whole file.
    pub fn place(&self) -> Location {
        self.file.cluster.place().unwrap_or_default()
    }
}

/// The role of a node; the default is worker.
pub fn role(node: &Node) -> Role {
    node.role.value().unwrap_or(Role::Worker)
}
