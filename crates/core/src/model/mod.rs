//! The cluster as a whole: what the file says, with every reference resolved.
//!
//! [`validate`] takes a [`File`] that was read and either gives a [`Cluster`] or says everything that keeps it from
//! being one. [`Cluster::settings`] walks the override ladder for one node.

mod backend;
mod check;
mod ladder;
pub(crate) mod rung;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::cluster::section::{ClusterSection, File, Network, Node, Nodes, Role, Router, Rung};
use ichor_values::key::{At, Over};
use ichor_values::read::{Read, Reference};
use ichor_values::{FileIssue, NodeName, Place, TalosVersion};

/// A cluster file that is understood.
#[derive(Debug)]
pub struct Cluster {
    /// What was written.
    pub file: File,
    /// Release of Talos, unless a node says otherwise.
    pub talos: TalosVersion,
    nodes: Vec<At<Node>>,
    ground: Rung,
    /// What each node has from all rungs below its own; few nodes differ in it.
    bases: Vec<Rung>,
    /// What each node has from all rungs.
    settings: Vec<Rung>,
    /// Made when it is first asked: few files refer to a node.
    by_name: OnceLock<HashMap<NodeName, usize>>,
}

/// Turns what was read into a cluster, or says everything that keeps it from being one: what reading found, what is
/// missing and what refers to nothing.
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
    Ok(Cluster::resolved(file, talos, nodes))
}

impl Cluster {
    /// Walks the ladder for every node.
    fn resolved(file: File, talos: TalosVersion, nodes: Vec<At<Node>>) -> Self {
        let ground = ladder::ground(&file);
        let (bases, base_of) = ladder::bases(&file, &ground, &nodes);
        let own = nodes.iter().map(|node| &node.value.rung);
        let settings = own.zip(base_of).map(|(own, base)| own.over(&bases[base as usize])).collect();
        Self { file, talos, nodes, ground, bases, settings, by_name: OnceLock::new() }
    }

    /// The `cluster` section.
    pub fn section(&self) -> &ClusterSection {
        self.file.cluster.get().expect("checked: required")
    }

    /// The `network` section, empty when none was written.
    pub fn network(&self) -> Option<&Network> {
        self.file.network.get()
    }

    /// The cluster's number, from which much is derived.
    pub fn id(&self) -> Option<At<&u32>> {
        self.section().id.at()
    }

    /// The lowest rung: the sections of the file that a node has too.
    pub(crate) fn ground(&self) -> &Rung {
        &self.ground
    }

    /// The nodes as written, in their order.
    pub fn nodes(&self) -> &[At<Node>] {
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

    /// Everything that holds for node `nth`, from all rungs of the ladder.
    pub fn settings(&self, nth: usize) -> &Rung {
        &self.settings[nth]
    }

    /// Whether any node routes.
    pub fn routes(&self) -> bool {
        let mut rungs = self.bases.iter().chain(self.nodes.iter().map(|node| &node.value.rung));
        rungs.any(|rung| rung.routing.is_set())
    }

    /// The routers of the fabric.
    pub fn routers(&self) -> impl Iterator<Item = &At<Router>> {
        self.file
            .fabric
            .get()
            .and_then(|fabric| fabric.routers.get())
            .into_iter()
            .flat_map(|routers| &routers.0)
    }

    /// The router of this name.
    pub fn router(&self, name: &str) -> Option<&At<Router>> {
        self.routers().find(|router| router.value.name.get().is_some_and(|known| known.as_str() == name))
    }

    /// Every secret the file refers to, in its order.
    pub fn secrets(&self) -> Vec<Reference<'_>> {
        let mut found = Vec::new();
        self.file.secrets("", Place::default(), &mut found);
        for node in &self.nodes {
            let name = node.value.name.get().expect("checked: required");
            node.value.secrets(&format!("nodes.{name}"), node.place, &mut found);
        }
        found
    }

    /// Where the list of nodes or the file itself starts, for findings about the whole.
    pub fn place(&self) -> Place {
        self.file.cluster.place().unwrap_or_default()
    }
}

/// The role of a node; a worker unless it says otherwise.
pub fn role(node: &Node) -> Role {
    node.role.value().unwrap_or(Role::Worker)
}
