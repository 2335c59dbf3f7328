//! Address assignment in a libvirt NAT network.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;

use crate::plan::{NodePlan, Plan};
use crate::render::hypervisor::vm_definition::VmDefinition;
use ichor_values::Mac;

/// The addresses of a network with DHCP.
#[derive(Debug, PartialEq, Eq)]
pub struct AddressAssignments {
    /// The host's address, which is the gateway.
    pub host: Ipv4Addr,
    /// The dynamic range: unassigned addresses.
    pub(crate) range: Option<(Ipv4Addr, Ipv4Addr)>,
    /// DHCP reservations.
    pub(crate) fixed: Vec<DhcpReservation>,
}

/// A DHCP reservation of a machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DhcpReservation {
    /// MAC address of its port.
    pub mac: Mac,
    /// Name of the machine.
    pub name: String,
    /// The address.
    pub address: Ipv4Addr,
}

impl AddressAssignments {
    /// Assigns the addresses of `prefix` to these machines.
    pub fn assign(prefix: Ipv4Net, plan: &Plan, guests: &[&VmDefinition<'_>]) -> Self {
        let inside = |address: &Ipv4Addr| prefix.contains(address);
        let gateway = |guest: &&VmDefinition<'_>| guest.node.gateway.v4.as_ref().map(|v4| v4.value);
        let first = Ipv4Addr::from(u32::from(prefix.network()).saturating_add(1));
        let host = guests.iter().find_map(gateway).filter(inside).unwrap_or(first);
        let fixed: Vec<_> =
            guests.iter().filter_map(|guest| reservation(guest)).filter(|it| inside(&it.address)).collect();
        let vip = plan.cluster.vip.as_ref().and_then(|vip| v4(vip.value));
        let taken = plan.nodes.iter().flat_map(addresses).chain(vip).chain([host]);
        Self { host, range: longest_free_range(prefix, taken), fixed }
    }
}

fn reservation(guest: &VmDefinition<'_>) -> Option<DhcpReservation> {
    let mac = (*guest.macs.first()?)?;
    Some(DhcpReservation { mac, name: guest.name().to_owned(), address: addresses(guest.node).next()? })
}

/// The DHCP address of a node, and its static address.
fn addresses(node: &NodePlan) -> impl Iterator<Item = Ipv4Addr> {
    let leased = node.stages.dhcp().and_then(v4);
    leased.into_iter().chain(node.address.v4.as_ref().map(|v4| v4.value.addr()))
}

fn v4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

/// The longest range of free addresses, without the network and broadcast addresses.
fn longest_free_range(
    prefix: Ipv4Net,
    taken: impl Iterator<Item = Ipv4Addr>,
) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let (network, broadcast) = (u32::from(prefix.network()), u32::from(prefix.broadcast()));
    let mut marks: Vec<u32> =
        taken.filter(|address| prefix.contains(address)).map(u32::from).chain([network, broadcast]).collect();
    marks.sort_unstable();
    let runs = marks.windows(2).filter(|pair| pair[1] - pair[0] > 1).map(|pair| (pair[0] + 1, pair[1] - 1));
    // Of equally long ranges, the first.
    let longest = runs.reduce(|best, run| if run.1 - run.0 > best.1 - best.0 { run } else { best });
    longest.map(|(from, to)| (from.into(), to.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free_range(prefix: &str, taken: &[&str]) -> Option<String> {
        let taken = taken.iter().map(|address| address.parse().unwrap());
        longest_free_range(prefix.parse().unwrap(), taken).map(|(from, to)| format!("{from} {to}"))
    }

    #[test]
    fn the_dynamic_range_has_no_assigned_addresses() {
        assert_eq!(
            free_range("10.0.20.0/24", &["10.0.20.1", "10.0.20.10"]).unwrap(),
            "10.0.20.11 10.0.20.254"
        );
        assert_eq!(
            free_range("10.0.20.0/24", &["10.0.20.254", "10.0.20.200"]).unwrap(),
            "10.0.20.1 10.0.20.199"
        );
        assert_eq!(free_range("10.0.20.0/24", &["10.9.9.9"]).unwrap(), "10.0.20.1 10.0.20.254");
        assert_eq!(free_range("10.0.20.0/30", &["10.0.20.1", "10.0.20.2"]), None);
        assert_eq!(free_range("10.0.20.0/32", &[]), None);
    }
}
