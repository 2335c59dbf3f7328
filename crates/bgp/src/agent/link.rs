//! A link as the kernel shows it, and the port that a MAC address means.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use ichor_values::Mac;

/// Kinds that take the address of the port below them for their own.
const BORROWERS: &[&str] =
    &["bond", "bridge", "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec", "team", "vrf", "vxlan"];

/// A link of the node's own network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "the kernel tells each by itself")]
pub struct Link {
    /// The kernel's number of it.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// What it is, where it is no port: `veth`, `bond`, `vrf` and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether it is the loopback.
    #[serde(default)]
    pub loopback: bool,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
    /// The address it was made with, where the kernel knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permanent: Option<Mac>,
    /// Whether it was switched on.
    #[serde(default)]
    pub up: bool,
    /// Whether something answers at its other end.
    #[serde(default)]
    pub carrier: bool,
    /// The longest packet.
    #[serde(default)]
    pub mtu: u32,
    /// The number of the bond, bridge or VRF it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master: Option<u32>,
    /// The number of its other end, or of the link below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// Whether that other end is in another network namespace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub far: bool,
    /// The table of a VRF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
    /// Its addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpNet>,
    /// Those of its addresses that the agent gave it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<IpNet>,
    /// Whether the agent made it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made: bool,
}

impl Link {
    /// The address by which it is told from other ports; none for what borrows one.
    pub(crate) fn port_mac(&self) -> Option<Mac> {
        let borrows = self.kind.as_deref().is_some_and(|kind| BORROWERS.contains(&kind));
        if borrows || self.loopback { None } else { self.permanent.or(self.mac) }
    }

    /// Whether it is hardware, or what a hypervisor shows as such.
    pub fn is_physical(&self) -> bool {
        self.kind.is_none() && !self.loopback && self.mac.is_some()
    }
}

/// More than one port has a MAC address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} have the same MAC address {mac}; give each its own", names.join(" and "))]
pub struct Ambiguous {
    /// The address.
    pub mac: Mac,
    /// The ports.
    pub names: Vec<String>,
}

/// The port with a MAC address; none while it is missing.
pub fn port(links: &[Link], mac: Mac) -> Result<Option<&Link>, Ambiguous> {
    let found: Vec<&Link> = links.iter().filter(|link| link.port_mac() == Some(mac)).collect();
    match found[..] {
        [] => Ok(None),
        [link] => Ok(Some(link)),
        _ => Err(Ambiguous { mac, names: found.iter().map(|link| link.name.clone()).collect() }),
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
    fn what_borrows_the_address_of_a_port_is_not_taken_for_it() {
        for kind in BORROWERS {
            let links = [link("over", Some(kind), MAC, None), link("eth0", None, MAC, Some(MAC))];

            assert_eq!(port(&links, MAC).map(|link| link.map(|link| link.name.as_str())), Ok(Some("eth0")));
        }
    }

    #[test]
    fn a_port_in_a_bond_is_found_by_the_address_it_was_made_with() {
        let links = [link("eth0", None, OTHER, Some(MAC)), link("eth1", None, OTHER, Some(OTHER))];

        assert_eq!(port(&links, MAC).unwrap().unwrap().name, "eth0");
        assert_eq!(port(&links, OTHER).unwrap().unwrap().name, "eth1");
    }

    #[test]
    fn a_veth_is_found_by_the_address_it_has() {
        let links = [link("eth0", Some("veth"), MAC, None)];

        assert_eq!(port(&links, MAC).unwrap().unwrap().name, "eth0");
        assert_eq!(port(&links, OTHER), Ok(None));
    }

    #[test]
    fn two_ports_with_one_address_are_both_named() {
        let links = [link("eth0", None, MAC, None), link("eth1", None, MAC, None)];

        let error = port(&links, MAC).unwrap_err().to_string();

        assert_eq!(error, "eth0 and eth1 have the same MAC address 02:00:00:00:00:01; give each its own");
    }
}
