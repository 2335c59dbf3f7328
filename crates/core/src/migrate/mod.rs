//! Migration of a cluster from one routing backend to another, node by node.
//!
//! [`plan_migration`] returns the cluster before and after, and the nodes in the order of migration. [`MigrationStep::new`] has
//! the changes of one node: documents to remove and add in one patch, and an upgrade if the image must change. Each step is
//! verified: its patch, merged as Talos would, turns the old configuration into exactly the new one. [`compute_losses`]
//! predicts the losses of each step.
//!
//! Not here: applying the steps.

mod difference;
mod loss;
mod step;

use crate::cluster::section::Role;
use crate::model::Cluster;
use crate::plan::{NodePlan, Plan};
pub use difference::DocumentId;
use ichor_values::Backend;
pub use loss::{StepLoss, compute_losses};
pub use step::{ImageUpgrade, MigrationError, MigrationSide, MigrationStep, UpgradeTiming};

/// A cluster before and after the migration.
#[derive(Debug)]
pub struct MigrationPlan {
    /// The cluster with the old backend.
    pub from: Cluster,
    /// The cluster with the new backend.
    pub to: Cluster,
    /// The numbers of the nodes to migrate, in order.
    pub nodes: Vec<usize>,
}

/// Plans a migration; none if no node has either backend. The cluster file may have the old or the new backend: for the state
/// after, nodes with `from` get `to`, and for the state before, nodes with `to` get `from`.
pub fn plan_migration(cluster: &Cluster, plan: &Plan, from: Backend, to: Backend) -> Option<MigrationPlan> {
    let nodes_with = |backend: Backend| -> Vec<usize> {
        let has =
            |node: &&NodePlan| node.routing.as_ref().is_some_and(|routing| routing.backend.value == backend);
        plan.nodes.iter().filter(has).map(|node| node.nth).collect()
    };
    let (old, new) = (nodes_with(from), nodes_with(to));
    let nodes = migration_order(plan, old.iter().chain(&new).copied());
    let migration =
        MigrationPlan { from: cluster.with_backend(from, &new), to: cluster.with_backend(to, &old), nodes };
    (from != to && !migration.nodes.is_empty()).then_some(migration)
}

/// Workers first, where a mistake does the least harm, then control planes. One node at a time, so that etcd keeps its quorum
/// and the other nodes announce the anycast address.
fn migration_order(plan: &Plan, nodes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut nodes: Vec<usize> = nodes.collect();
    nodes.sort_by_key(|&nth| (plan.nodes[nth].role == Role::Controlplane, nth));
    nodes
}
