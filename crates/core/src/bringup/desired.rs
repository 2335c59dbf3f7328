//! The desired state, from the plan.

use super::identity::MachineIdentity;
use crate::cluster::section::Role;
use crate::plan::Plan;

/// The desired cluster.
#[derive(Clone, Debug)]
pub struct DesiredState {
    /// Every node of the file, in its order.
    pub nodes: Vec<DesiredNode>,
    /// The bootstrap node of etcd.
    pub bootstrap: usize,
    /// The number of nodes that may be changed at once, at least one.
    pub at_once: usize,
}

/// The desired state of a node.
#[derive(Clone, Debug)]
pub struct DesiredNode {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// The identity of its machine.
    pub identity: MachineIdentity,
    /// Whether it is selected; others are only observed.
    pub chosen: bool,
    /// SHA-256 of its configuration.
    pub config: String,
}

impl DesiredState {
    /// All nodes of a plan, selected, with the checksums of their configurations; none without a control plane.
    pub fn from_plan(plan: &Plan, configs: &[String], at_once: usize) -> Option<Self> {
        let bootstrap = plan.cluster.bootstrap.as_ref()?.value.as_str();
        let nodes: Vec<_> = plan
            .nodes
            .iter()
            .zip(configs)
            .map(|(node, config)| DesiredNode {
                name: node.name.to_string(),
                role: node.role,
                identity: MachineIdentity::from_plan(node),
                chosen: true,
                config: config.clone(),
            })
            .collect();
        let bootstrap = nodes.iter().position(|node| node.name == bootstrap)?;
        Some(Self { nodes, bootstrap, at_once: at_once.max(1) })
    }

    /// The control planes.
    pub fn control_planes(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|nth| self.nodes[*nth].role == Role::Controlplane)
    }

    /// The nodes in the order of changes: the bootstrap node, other control planes, workers.
    pub(crate) fn order(&self) -> Vec<usize> {
        let is_control_plane = |nth: &usize| self.nodes[*nth].role == Role::Controlplane;
        let mut order = vec![self.bootstrap];
        order.extend(self.control_planes().filter(|nth| *nth != self.bootstrap));
        order.extend((0..self.nodes.len()).filter(|nth| !is_control_plane(nth)));
        order
    }
}
