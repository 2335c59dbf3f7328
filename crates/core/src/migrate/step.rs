//! The migration of one node.

use ipnet::IpNet;
use serde_json::Value;

use super::difference::{self, DocumentId};
use crate::cluster::section::Role;
use crate::plan::{NeighborAddress, NodePlan};
use ichor_talos::load::{self, LoadError};
use ichor_talos::patch::{Patch, PatchError};
use ichor_talos::{document, encode};
use ichor_values::Backend;
use ichor_values::go_yaml::emit::emit_all;
use ichor_values::{NodeName, TalosVersion};

/// The migration of one node, in one change.
#[derive(Clone, PartialEq)]
pub struct MigrationStep {
    /// The node.
    pub node: NodeName,
    /// Its role.
    pub role: Role,
    /// Documents to remove.
    pub remove: Vec<DocumentId>,
    /// Documents to add or change.
    pub add: Vec<Value>,
    /// The upgrade, if the node needs another image.
    pub upgrade: Option<ImageUpgrade>,
    /// The sessions that must be up again before the next node is migrated.
    pub sessions: Vec<String>,
    /// Addresses of this node only, which are unreachable meanwhile with any backend.
    pub owns: Vec<IpNet>,
    /// Seconds for which the routers keep the node's routes without a session; none if they remove them at once.
    pub kept: Option<u16>,
}

/// Documents may contain passwords.
impl std::fmt::Debug for MigrationStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Step").field("node", &self.node).field("remove", &self.remove).finish_non_exhaustive()
    }
}

/// An upgrade to another image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageUpgrade {
    /// The installer.
    pub image: String,
    /// Whether to upgrade before or after the documents change.
    pub when: UpgradeTiming,
}

/// The order of the upgrade and the change of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeTiming {
    /// Upgrade first: the image has the new daemon.
    Before,
    /// Upgrade last: the image no longer has the old daemon.
    After,
}

/// A node cannot be migrated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot migrate {node}: {reason}")]
pub struct MigrationError {
    /// The node.
    pub node: NodeName,
    /// The reason.
    pub reason: MigrationFailure,
}

/// Why a node cannot be migrated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MigrationFailure {
    /// The cluster file does not name the image with the new backend.
    #[error(
        "the file does not name the image with {backend}; set `image.registry` or `image.source.installer`"
    )]
    NoImage {
        /// The backend.
        backend: String,
    },
    /// Talos would reject the configuration.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Talos would reject the patch.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// Talos would not merge the patch into the new configuration.
    #[error(
        "Talos' merge of the patch would {change}; apply the complete new configuration with `talosctl apply-config`"
    )]
    Unmergeable {
        /// The wrong result.
        change: String,
    },
}

/// A node before or after the migration.
#[derive(Clone, Copy, Debug)]
pub struct MigrationSide<'a> {
    /// Its plan.
    pub node: &'a NodePlan,
    /// Its configuration.
    pub documents: &'a [Value],
}

impl MigrationStep {
    /// The step between two sides, verified with Talos' merge. `talos` is the release that configurations are written for.
    pub fn new(
        from: MigrationSide<'_>,
        to: MigrationSide<'_>,
        talos: &TalosVersion,
    ) -> Result<Self, MigrationError> {
        if installer(from.documents).is_some() && installer(to.documents).is_none() {
            return Err(MigrationError {
                node: to.node.name.clone(),
                reason: MigrationFailure::NoImage { backend: backend_name(to.node) },
            });
        }
        let (remove, add) = difference::compare(from.documents, to.documents);
        let step = Self {
            node: to.node.name.clone(),
            role: to.node.role,
            remove,
            add,
            upgrade: image_upgrade(from, to),
            sessions: session_names(to.node),
            owns: own_addresses(to.node),
            kept: graceful_restart_seconds(from.node),
        };
        step.verify_patch(from.documents, to.documents, talos)
            .map_err(|reason| MigrationError { node: step.node.clone(), reason })?;
        Ok(step)
    }

    /// The patch: removals first. Talos applies all of it at once, without a reboot.
    pub fn patch(&self) -> String {
        let deletions = self.remove.iter().map(DocumentId::deletion);
        emit_all(&deletions.chain(self.add.iter().cloned()).collect::<Vec<_>>())
    }

    fn verify_patch(
        &self,
        from: &[Value],
        to: &[Value],
        talos: &TalosVersion,
    ) -> Result<(), MigrationFailure> {
        let mut config = load::load_values(from, talos)?;
        let text = self.patch();
        if !text.is_empty() {
            let patch = Patch::read("the patch", &text, talos)?;
            patch.apply(&mut config, talos)?;
        }
        let merged = encode::encode(&config, talos);
        let (merged, expected) = (difference::by_id(&merged), difference::by_id(to));
        match expected.iter().find(|(id, document)| merged.get(id) != Some(document)) {
            Some((id, _)) => {
                Err(MigrationFailure::Unmergeable { change: format!("change `{id}` incorrectly") })
            }
            None => match merged.keys().find(|id| !expected.contains_key(id)) {
                Some(id) => Err(MigrationFailure::Unmergeable { change: format!("keep `{id}`") }),
                None => Ok(()),
            },
        }
    }
}

fn backend_name(node: &NodePlan) -> String {
    node.routing.as_ref().map(|routing| routing.backend.value.to_string()).unwrap_or_default()
}

fn image_upgrade(from: MigrationSide<'_>, to: MigrationSide<'_>) -> Option<ImageUpgrade> {
    let image = installer(to.documents)?;
    let native = to.node.routing.as_ref().is_some_and(|routing| routing.backend.value == Backend::Native);
    let when = if native { UpgradeTiming::After } else { UpgradeTiming::Before };
    (installer(from.documents) != Some(image)).then(|| ImageUpgrade { image: image.to_owned(), when })
}

fn installer(documents: &[Value]) -> Option<&str> {
    documents.iter().find_map(|it| {
        let image = document::value_at(it, "/installer/image")
            .or_else(|| document::value_at(it, "/machine/install/image"));
        image.and_then(Value::as_str)
    })
}

fn session_names(node: &NodePlan) -> Vec<String> {
    let Some(routing) = node.routing.as_deref() else { return Vec::new() };
    let fabric = routing.neighbors.iter().map(|neighbor| {
        let at = match &neighbor.peer {
            NeighborAddress::Link(link) => link.to_string(),
            NeighborAddress::Address(address) => address.to_string(),
        };
        match &neighbor.router {
            Some(router) => format!("{router} at {at}"),
            None => at,
        }
    });
    let speaker = routing.workload.iter().map(|workload| workload.speaker.to_string());
    fabric.chain(speaker).collect()
}

fn own_addresses(node: &NodePlan) -> Vec<IpNet> {
    let dummies = node.dummies.iter().filter(|dummy| !dummy.anycast).flat_map(|dummy| dummy.address.iter());
    node.loopback.iter().chain(dummies).map(|(net, _)| IpNet::from(net.addr())).collect()
}

/// The restart time of graceful restart, which all backends except Talos' own support.
fn graceful_restart_seconds(node: &NodePlan) -> Option<u16> {
    let routing = node.routing.as_ref().filter(|routing| routing.backend.value != Backend::Native)?;
    routing.graceful_restart.as_ref().map(|seconds| seconds.value)
}
