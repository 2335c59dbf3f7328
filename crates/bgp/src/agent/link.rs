//! A kernel link, and the port with a given MAC address.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use ichor_values::Mac;

/// Link types that use the MAC address of the port below them.
const BORROWING_KINDS: &[&str] =
    &["bond", "bridge", "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec", "team", "vrf", "vxlan"];

/// A link of the node's own network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "the kernel reports each separately")]
pub struct Link {
    /// Its interface index.
    pub index: u32,
    /// Its name.
    #[serde(rename = "interface", alias = "name")]
    pub name: String,
    /// The link type: `veth`, `bond`, `vrf` and so on; none for a port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether it is the loopback interface.
    #[serde(default)]
    pub loopback: bool,
    /// Its MAC address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
    /// Its permanent MAC address, if the kernel reports one.
    #[serde(default, rename = "permanent_mac", alias = "permanent", skip_serializing_if = "Option::is_none")]
    pub permanent: Option<Mac>,
    /// Whether it is administratively up.
    #[serde(default)]
    pub up: bool,
    /// Whether it has carrier.
    #[serde(default)]
    pub carrier: bool,
    /// The MTU.
    #[serde(default)]
    pub mtu: u32,
    /// The index of its bond, bridge or VRF.
    #[serde(default, rename = "master_index", alias = "master", skip_serializing_if = "Option::is_none")]
    pub master: Option<u32>,
    /// The index of its veth peer or of the link below it.
    #[serde(default, rename = "peer_index", alias = "peer", skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// Whether that peer is in another network namespace.
    #[serde(
        default,
        rename = "peer_in_other_namespace",
        alias = "far",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub far: bool,
    /// The table of a VRF.
    #[serde(default, rename = "routing_table", alias = "table", skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
    /// Its IP addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpNet>,
    /// The addresses that the agent added.
    #[serde(default, rename = "agent_addresses", alias = "given", skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<IpNet>,
    /// Whether the agent created it.
    #[serde(
        default,
        rename = "created_by_agent",
        alias = "made",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub made: bool,
}

impl Link {
    /// The MAC address that identifies the port; none for links that use that of another.
    pub(crate) fn port_mac(&self) -> Option<Mac> {
        let borrows = self.kind.as_deref().is_some_and(|kind| BORROWING_KINDS.contains(&kind));
        if borrows || self.loopback { None } else { self.permanent.or(self.mac) }
    }

    /// Whether it is a physical port, or a virtual one of a hypervisor.
    pub fn is_physical(&self) -> bool {
        self.kind.is_none() && !self.loopback && self.mac.is_some()
    }
}

/// Several ports have the same MAC address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} have the same MAC address {mac}; give each port a different one", names.join(" and "))]
pub struct AmbiguousMac {
    /// The address.
    pub mac: Mac,
    /// The ports.
    pub names: Vec<String>,
}

/// The port with a MAC address; none while it is missing.
pub fn find_port(links: &[Link], mac: Mac) -> Result<Option<&Link>, AmbiguousMac> {
    let found: Vec<&Link> = links.iter().filter(|link| link.port_mac() == Some(mac)).collect();
    match found[..] {
        [] => Ok(None),
        [link] => Ok(Some(link)),
        _ => Err(AmbiguousMac { mac, names: found.iter().map(|link| link.name.clone()).collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);
    const OTHER: Mac = Mac([2, 0, 0, 0, 0, 2]);

    fn link(name: &str, kind: Option<&str>, mac: Mac, permanent: Option<Mac>) -> Link {
        let kind = kind.map(str::to_owned);
        Link { name: name.to_owned(), kind, mac: Some(mac), permanent, ..Link::default() }
    }

    #[test]
    fn a_link_with_the_address_of_its_port_is_not_the_port() {
        for kind in BORROWING_KINDS {
            let links = [link("over", Some(kind), MAC, None), link("eth0", None, MAC, Some(MAC))];

            assert_eq!(
                find_port(&links, MAC).map(|link| link.map(|link| link.name.as_str())),
                Ok(Some("eth0"))
            );
        }
    }

    #[test]
    fn a_port_in_a_bond_is_found_by_its_permanent_address() {
        let links = [link("eth0", None, OTHER, Some(MAC)), link("eth1", None, OTHER, Some(OTHER))];

        assert_eq!(find_port(&links, MAC).unwrap().unwrap().name, "eth0");
        assert_eq!(find_port(&links, OTHER).unwrap().unwrap().name, "eth1");
    }

    #[test]
    fn a_veth_is_found_by_its_current_address() {
        let links = [link("eth0", Some("veth"), MAC, None)];

        assert_eq!(find_port(&links, MAC).unwrap().unwrap().name, "eth0");
        assert_eq!(find_port(&links, OTHER), Ok(None));
    }

    #[test]
    fn two_ports_with_the_same_address_are_both_reported() {
        let links = [link("eth0", None, MAC, None), link("eth1", None, MAC, None)];

        let error = find_port(&links, MAC).unwrap_err().to_string();

        assert_eq!(
            error,
            "eth0 and eth1 have the same MAC address 02:00:00:00:00:01; give each port a different one"
        );
    }
}
