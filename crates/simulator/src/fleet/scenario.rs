//! A cluster file for simulated nodes: on addresses of the loopback network, which Linux answers on without configuration.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use ichor_values::TalosVersion;

/// The most nodes of one scenario: each has a /24 of the pods' /12.
pub const MOST: u32 = 4000;
/// The numbers that a scenario may have: `127.ID.0.0/16` is its network.
pub(crate) const IDS: std::ops::RangeInclusive<u8> = 1..=254;
/// From how many nodes on there are three control planes.
const HIGHLY_AVAILABLE: u32 = 3;

/// The parameters of a simulated cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The name of the cluster.
    pub name: String,
    /// Its number.
    pub id: u8,
    /// The number of nodes.
    pub nodes: u32,
    /// The release of the nodes.
    pub talos: TalosVersion,
}

/// A node of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioNode {
    /// Its name.
    pub name: String,
    /// Whether it is a control plane.
    pub control_plane: bool,
    /// Its number.
    pub index: u32,
    /// Its address before it has a configuration.
    pub leased: Ipv4Addr,
}

impl Scenario {
    /// An address that serves no requests: binding it claims the number of the scenario.
    pub(crate) fn claim(id: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, id, 255, 254)
    }

    /// Its nodes: control planes from index 11 on, then workers.
    pub fn places(&self) -> impl Iterator<Item = ScenarioNode> {
        let control_planes = if self.nodes < HIGHLY_AVAILABLE { 1 } else { 3 };
        let id = self.id;
        (0..self.nodes).map(move |nth| {
            let control_plane = nth < control_planes;
            let (word, number) =
                if control_plane { ("cp", nth + 1) } else { ("worker", nth - control_planes + 1) };
            let index = nth + 11;
            let [_, _, high, low] = index.to_be_bytes();
            let leased = Ipv4Addr::new(127, id, 128 + high, low);
            ScenarioNode { name: format!("{word}{number}"), control_plane, index, leased }
        })
    }

    /// The text of its cluster file.
    pub fn file(&self) -> String {
        let Self { name, id, talos, .. } = self;
        let mut text = format!(
            "# A cluster of simulated nodes, made by `ichor lab nodes`. No machine is behind it.\n\
             version: 1\n\n\
             cluster: {{name: {name}, id: {id}, talos: {talos}, pods: [172.16.0.0/12]}}\n\n\
             network:\n  \
               node: {{v4: 127.{id}.0.0/17, v6: null}}      # the addresses in the configurations\n  \
               api: {{vip: 127.{id}.127.1}}\n\n\
             boot: {{from: apply}}\n\n\
             defaults: {{install: {{disk: /dev/sda}}}}\n\n\
             # Until it is configured, a machine is where a DHCP server would have put it.\n\
             nodes:\n"
        );
        for place in self.places() {
            let role = if place.control_plane { "controlplane" } else { "worker" };
            let [_, _, high, low] = place.index.to_be_bytes();
            let _ = writeln!(
                text,
                "  - {{name: {}, role: {role}, index: {}, macs: [\"02:00:{id:02x}:{high:02x}:{low:02x}:00\"], \
                 address: {{dhcp: {}}}}}",
                place.name, place.index, place.leased
            );
        }
        text
    }
}
