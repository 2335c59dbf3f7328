//! Where a machine can be reached, and at which stage of its life.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::plan::NodePlan;

/// The time of a machine's life an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// While it boots, from outside.
    External,
    /// While it boots, by a DHCP server.
    Dhcp,
    /// Once it is configured.
    Static,
    /// Once it joined the overlay.
    Overlay,
}

impl fmt::Display for Stage {
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
pub enum Source {
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

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Caller => "as given",
            Self::File => "by the file",
            Self::Hypervisor => "by the hypervisor",
            Self::Neighbours => "by the neighbour table",
            Self::Leases => "by its lease",
            Self::Terraform => "by Terraform",
        })
    }
}

/// An address of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Contact {
    /// The address.
    pub address: IpAddr,
    /// When the machine has it.
    pub stage: Stage,
    /// Who says so.
    pub source: Source,
}

impl fmt::Display for Contact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Source::File => write!(f, "{} ({})", self.address, self.stage),
            source => write!(f, "{} ({}, {source})", self.address, self.stage),
        }
    }
}

/// Every address a node may be found at, in the order of its life; each once.
///
/// `found` are those that others told. Before it is configured a machine has its first ones, afterwards its last ones.
pub fn contacts(node: &NodePlan, found: &[Contact]) -> Vec<Contact> {
    let written = |stage, address| Contact { address, stage, source: Source::File };
    let mut all: Vec<Contact> = found.to_vec();
    let early = [(Stage::External, node.stages.external()), (Stage::Dhcp, node.stages.dhcp())];
    all.extend(early.into_iter().filter_map(|(stage, address)| Some(written(stage, address?))));
    all.extend(node.address.iter().map(|(net, _)| written(Stage::Static, net.addr())));
    // A loopback is reached only if somebody announces it.
    if node.routing.is_some() {
        all.extend(node.loopback.iter().map(|(net, _)| written(Stage::Static, net.addr())));
    }
    let overlay = node.stages.overlay();
    all.extend(overlay.map(|address| written(Stage::Overlay, address)));
    let mut each = Vec::new();
    for contact in all {
        if !each.iter().any(|known: &Contact| known.address == contact.address) {
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

    fn told(stage: Stage, address: &str, source: Source) -> Contact {
        Contact { address: address.parse().unwrap(), stage, source }
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
        let found = [told(Stage::Dhcp, "10.0.0.5", Source::Neighbours)];

        let all: Vec<_> = contacts(&plan.nodes[0], &found).iter().map(ToString::to_string).collect();

        assert_eq!(
            all,
            ["203.0.113.20 (external)", "10.0.0.5 (dhcp, by the neighbour table)", "100.64.0.1 (overlay)"]
        );
    }

    #[test]
    fn an_address_is_told_once() {
        let plan = planned(
            "{cluster: {name: sol, talos: v1.13.9}, network: {node: {addressing: dhcp}},
              nodes: [{name: a, address: {dhcp: 10.0.0.5}}]}",
        );
        let found = [told(Stage::Dhcp, "10.0.0.5", Source::Caller)];

        assert_eq!(contacts(&plan.nodes[0], &found), found);
    }
}
