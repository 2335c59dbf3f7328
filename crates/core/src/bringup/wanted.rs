//! What shall be, from the plan.

use super::identity::MachineIdentity;
use crate::cluster::section::Role;
use crate::plan::Plan;

/// The cluster that shall be.
#[derive(Clone, Debug)]
pub struct DesiredState {
    /// Every node of the file, in its order.
    pub nodes: Vec<DesiredNode>,
    /// The node on which etcd is bootstrapped.
    pub bootstrap: usize,
    /// How many nodes may be changed at once, at least one.
    pub at_once: usize,
}

/// A node that shall be.
#[derive(Clone, Debug)]
pub struct DesiredNode {
    /// Its name.
    pub name: String,
    /// What it is in the cluster.
    pub role: Role,
    /// By what its machine is known.
    pub identity: MachineIdentity,
    /// Whether it is to be brought up; others are looked at and left alone.
    pub chosen: bool,
    /// SHA-256 of its configuration.
    pub config: String,
}

impl DesiredState {
    /// All nodes of a plan, chosen, with the sums of their configurations; none without a control plane.
    pub fn of(plan: &Plan, configs: &[String], at_once: usize) -> Option<Self> {
        let bootstrap = plan.cluster.bootstrap.as_ref()?.value.as_str();
        let nodes: Vec<_> = plan
            .nodes
            .iter()
            .zip(configs)
            .map(|(node, config)| DesiredNode {
                name: node.name.to_string(),
                role: node.role,
                identity: MachineIdentity::of(node),
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

    /// The nodes in the order in which they are changed: the one that is bootstrapped, other control planes, workers.
    pub(crate) fn order(&self) -> Vec<usize> {
        let is_control_plane = |nth: &usize| self.nodes[*nth].role == Role::Controlplane;
        let mut order = vec![self.bootstrap];
        order.extend(self.control_planes().filter(|nth| *nth != self.bootstrap));
        order.extend((0..self.nodes.len()).filter(|nth| !is_control_plane(nth)));
        order
    }
}
