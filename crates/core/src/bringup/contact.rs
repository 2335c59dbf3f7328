//! The addresses of a machine, by stage.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::plan::NodePlan;

/// The stage in which a machine has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddressStage {
    /// While it boots, reachable from outside.
    External,
    /// While it boots, assigned by DHCP.
    Dhcp,
    /// Once it is configured.
    Static,
    /// Once it has joined the overlay.
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

/// The source of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddressOrigin {
    /// The command line.
    Caller,
    /// The cluster file.
    File,
    /// The hypervisor: its guest agent or leases.
    Hypervisor,
    /// The neighbour table of this host.
    Neighbours,
    /// The lease file of a DHCP server.
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
    /// The stage in which the machine has it.
    #[serde(rename = "address_stage")]
    pub stage: AddressStage,
    /// The source.
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

/// All possible addresses of a node, by stage, each once.
///
/// `found` are addresses from other sources than the cluster file.
pub fn node_addresses(node: &NodePlan, found: &[NodeAddress]) -> Vec<NodeAddress> {
    let written = |stage, address| NodeAddress { address, stage, source: AddressOrigin::File };
    let mut all: Vec<NodeAddress> = found.to_vec();
    let early = [(AddressStage::External, node.stages.external()), (AddressStage::Dhcp, node.stages.dhcp())];
    all.extend(early.into_iter().filter_map(|(stage, address)| Some(written(stage, address?))));
    all.extend(node.address.iter().map(|(net, _)| written(AddressStage::Static, net.addr())));
    // A loopback is reachable only if the node announces it.
    if node.routing.is_some() {
        all.extend(node.loopback.iter().map(|(net, _)| written(AddressStage::Static, net.addr())));
    }
    let overlay = node.stages.overlay();
    all.extend(overlay.map(|address| written(AddressStage::Overlay, address)));
    let mut unique = Vec::new();
    for contact in all {
        if !unique.iter().any(|known: &NodeAddress| known.address == contact.address) {
            unique.push(contact);
        }
    }
    unique.sort_by_key(|contact| contact.stage);
    unique
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::planned;

    fn known_address(stage: AddressStage, address: &str, source: AddressOrigin) -> NodeAddress {
        NodeAddress { address: address.parse().unwrap(), stage, source }
    }

    #[test]
    fn a_node_that_changes_from_dhcp_to_static_has_both_addresses() {
        let plan = planned(
            "{cluster: {name: sol, id: 101, talos: v1.13.9}, nodes: [{name: a, index: 11,
              network: {node: {addressing: dhcp-then-static}}, address: {dhcp: 10.0.232.14}}]}",
        );

        let all: Vec<_> = node_addresses(&plan.nodes[0], &[]).iter().map(ToString::to_string).collect();

        assert_eq!(all, ["10.0.232.14 (dhcp)", "10.101.0.11 (static)", "fd00:101::11 (static)"]);
    }

    #[test]
    fn external_addresses_come_first_and_overlay_addresses_last() {
        let plan = planned(
            "{cluster: {name: sol, talos: v1.13.9}, network: {node: {addressing: dhcp}}, nodes: [{name: a,
              address: {overlay: 100.64.0.1, external: 203.0.113.20}}]}",
        );
        let found = [known_address(AddressStage::Dhcp, "10.0.0.5", AddressOrigin::Neighbours)];

        let all: Vec<_> = node_addresses(&plan.nodes[0], &found).iter().map(ToString::to_string).collect();

        assert_eq!(
            all,
            ["203.0.113.20 (external)", "10.0.0.5 (dhcp, from the neighbour table)", "100.64.0.1 (overlay)"]
        );
    }

    #[test]
    fn an_address_is_listed_once() {
        let plan = planned(
            "{cluster: {name: sol, talos: v1.13.9}, network: {node: {addressing: dhcp}},
              nodes: [{name: a, address: {dhcp: 10.0.0.5}}]}",
        );
        let found = [known_address(AddressStage::Dhcp, "10.0.0.5", AddressOrigin::Caller)];

        assert_eq!(node_addresses(&plan.nodes[0], &found), found);
    }
}
