//! Where a machine can be reached, and at which stage of its life.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::plan::NodePlan;

/// The time of a machine's life an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddressStage {
    /// While it boots, from outside.
    External,
    /// While it boots, by a DHCP server.
    Dhcp,
    /// Once it is configured.
    Static,
    /// Once it joined the overlay.
    Overlay,
}

impl fmt::Display for AddressStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::External => "external",
            Self::Dhcp => "dhcp",
            Self::Static => "static",
            Self::Overlay => "overlay",
        })
    }
}

/// Who says that a machine has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddressOrigin {
    /// Whoever called.
    Caller,
    /// The cluster file.
    File,
    /// The hypervisor, by its guest agent or its leases.
    Hypervisor,
    /// The neighbour table of this machine.
    Neighbours,
    /// A DHCP server, by its file of leases.
    Leases,
    /// Outputs of Terraform.
    Terraform,
}

impl fmt::Display for AddressOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Caller => "from the command line",
            Self::File => "from the cluster file",
            Self::Hypervisor => "from the hypervisor",
            Self::Neighbours => "from the neighbour table",
            Self::Leases => "from a DHCP lease",
            Self::Terraform => "from Terraform",
        })
    }
}

/// An address of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeAddress {
    /// The address.
    pub address: IpAddr,
    /// When the machine has it.
    pub stage: AddressStage,
    /// Who says so.
    pub source: AddressOrigin,
}

impl fmt::Display for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            AddressOrigin::File => write!(f, "{} ({})", self.address, self.stage),
            source => write!(f, "{} ({}, {source})", self.address, self.stage),
        }
    }
}

/// Every address a node may be found at, in the order of its life; each once.
///
/// `found` are those that others told. Before it is configured a machine has its first ones, afterwards its last ones.
pub fn contacts(node: &NodePlan, found: &[NodeAddress]) -> Vec<NodeAddress> {
    let written = |stage, address| NodeAddress { address, stage, source: AddressOrigin::File };
    let mut all: Vec<NodeAddress> = found.to_vec();
    let early = [(AddressStage::External, node.stages.external()), (AddressStage::Dhcp, node.stages.dhcp())];
    all.extend(early.into_iter().filter_map(|(stage, address)| Some(written(stage, address?))));
    all.extend(node.address.iter().map(|(net, _)| written(AddressStage::Static, net.addr())));
    // A loopback is reached only if somebody announces it.
    if node.routing.is_some() {
        all.extend(node.loopback.iter().map(|(net, _)| written(AddressStage::Static, net.addr())));
    }
    let overlay = node.stages.overlay();
    all.extend(overlay.map(|address| written(AddressStage::Overlay, address)));
    let mut each = Vec::new();
    for contact in all {
        if !each.iter().any(|known: &NodeAddress| known.address == contact.address) {
            each.push(contact);
        }
    }
    each.sort_by_key(|contact| contact.stage);
    each
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::planned;

    fn told(stage: AddressStage, address: &str, source: AddressOrigin) -> NodeAddress {
        NodeAddress { address: address.parse().unwrap(), stage, source }
    }

    #[test]
    fn a_node_that_moves_from_dhcp_to_static_has_both() {
        let plan = planned(
            "{cluster: {name: sol, id: 101, talos: v1.13.9}, nodes: [{name: a, index: 11,
              network: {node: {addressing: dhcp-then-static}}, address: {dhcp: 10.0.232.14}}]}",
        );

        let all: Vec<_> = contacts(&plan.nodes[0], &[]).iter().map(ToString::to_string).collect();

        assert_eq!(all, ["10.0.232.14 (dhcp)", "10.101.0.11 (static)", "fd00:101::11 (static)"]);
    }

    #[test]
    fn external_comes_first_and_the_overlay_last() {
        let plan = planned(
            "{cluster: {name: sol, talos: v1.13.9}, network: {node: {addressing: dhcp}}, nodes: [{name: a,
              address: {overlay: 100.64.0.1, external: 203.0.113.20}}]}",
        );
        let found = [told(AddressStage::Dhcp, "10.0.0.5", AddressOrigin::Neighbours)];

        let all: Vec<_> = contacts(&plan.nodes[0], &found).iter().map(ToString::to_string).collect();

        assert_eq!(
            all,
            ["203.0.113.20 (external)", "10.0.0.5 (dhcp, from the neighbour table)", "100.64.0.1 (overlay)"]
        );
    }

    #[test]
    fn an_address_is_told_once() {
        let plan = planned(
            "{cluster: {name: sol, talos: v1.13.9}, network: {node: {addressing: dhcp}},
              nodes: [{name: a, address: {dhcp: 10.0.0.5}}]}",
        );
        let found = [told(AddressStage::Dhcp, "10.0.0.5", AddressOrigin::Caller)];

        assert_eq!(contacts(&plan.nodes[0], &found), found);
    }
}
