//! Moving a cluster from one routing backend to another, node by node.
//!
//! [`sides`] gives the cluster before and after with the nodes in the order they are moved, and [`Step::between`] what is done on
//! one of them: documents that go and come in one change, and an upgrade where the image must change too. A step proves
//! itself: its patch, applied as Talos would, makes of the configuration before exactly the one after. [`losses`] proves the way:
//! what is lost at every step.
//!
//! Not here: doing it.

mod difference;
mod loss;
mod step;

use crate::cluster::section::Role;
use crate::model::Cluster;
use crate::plan::{NodePlan, Plan};
pub use difference::DocumentId;
use ichor_values::Backend;
pub use loss::{StepLoss, losses};
pub use step::{ImageUpgrade, MigrationError, MigrationSide, MigrationStep, UpgradeTiming};

/// A cluster before and after.
#[derive(Debug)]
pub struct MigrationPlan {
    /// With the old backend.
    pub from: Cluster,
    /// With the new one.
    pub to: Cluster,
    /// The numbers of the nodes that move, in the order in which they do.
    pub nodes: Vec<usize>,
}

/// The cluster before and after; none where no node has either backend. The file may be of before or of after: a node that has
/// `from` is given `to` for after, and one that has `to` is given `from` for before.
pub fn sides(cluster: &Cluster, plan: &Plan, from: Backend, to: Backend) -> Option<MigrationPlan> {
    let having = |backend: Backend| -> Vec<usize> {
        let has =
            |node: &&NodePlan| node.routing.as_ref().is_some_and(|routing| routing.backend.value == backend);
        plan.nodes.iter().filter(has).map(|node| node.nth).collect()
    };
    let (old, new) = (having(from), having(to));
    let nodes = migration_order(plan, old.iter().chain(&new).copied());
    let sides =
        MigrationPlan { from: cluster.with_backend(from, &new), to: cluster.with_backend(to, &old), nodes };
    (from != to && !sides.nodes.is_empty()).then_some(sides)
}

/// Workers first, where a mistake hurts least; then control planes. Always one at a time, so that etcd keeps its majority and the
/// others announce the anycast address.
fn migration_order(plan: &Plan, nodes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut nodes: Vec<usize> = nodes.collect();
    nodes.sort_by_key(|&nth| (plan.nodes[nth].role == Role::Controlplane, nth));
    nodes
}
