//! Who gets which address in a network of libvirt's own.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;

use crate::plan::{NodePlan, Plan};
use crate::render::hypervisor::guest::VmDefinition;
use ichor_values::Mac;

/// The addresses of a network with DHCP.
#[derive(Debug, PartialEq, Eq)]
pub struct AddressAssignments {
    /// The host's own, which is the way out.
    pub host: Ipv4Addr,
    /// What anybody may get: a run of addresses that nobody has.
    pub(crate) range: Option<(Ipv4Addr, Ipv4Addr)>,
    /// What a machine always gets.
    pub(crate) fixed: Vec<DhcpReservation>,
}

/// An address that belongs to a machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DhcpReservation {
    /// The port it is for.
    pub mac: Mac,
    /// Name of the machine.
    pub name: String,
    /// The address.
    pub address: Ipv4Addr,
}

impl AddressAssignments {
    /// Those of `prefix`, in which these machines are.
    pub fn of(prefix: Ipv4Net, plan: &Plan, guests: &[&VmDefinition<'_>]) -> Self {
        let inside = |address: &Ipv4Addr| prefix.contains(address);
        let gateway = |guest: &&VmDefinition<'_>| guest.node.gateway.v4.as_ref().map(|v4| v4.value);
        let first = Ipv4Addr::from(u32::from(prefix.network()).saturating_add(1));
        let host = guests.iter().find_map(gateway).filter(inside).unwrap_or(first);
        let fixed: Vec<_> =
            guests.iter().filter_map(|guest| lease(guest)).filter(|it| inside(&it.address)).collect();
        let vip = plan.cluster.vip.as_ref().and_then(|vip| v4(vip.value));
        let taken = plan.nodes.iter().flat_map(addresses).chain(vip).chain([host]);
        Self { host, range: longest_run(prefix, taken), fixed }
    }
}

fn lease(guest: &VmDefinition<'_>) -> Option<DhcpReservation> {
    let mac = (*guest.macs.first()?)?;
    Some(DhcpReservation { mac, name: guest.name().to_owned(), address: addresses(guest.node).next()? })
}

/// The address that DHCP gives a node, and the one that it gives itself.
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

/// The longest run of addresses that are not taken, without the first and last of the prefix.
fn longest_run(prefix: Ipv4Net, taken: impl Iterator<Item = Ipv4Addr>) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let (network, broadcast) = (u32::from(prefix.network()), u32::from(prefix.broadcast()));
    let mut marks: Vec<u32> =
        taken.filter(|address| prefix.contains(address)).map(u32::from).chain([network, broadcast]).collect();
    marks.sort_unstable();
    let runs = marks.windows(2).filter(|pair| pair[1] - pair[0] > 1).map(|pair| (pair[0] + 1, pair[1] - 1));
    // Of two that are equally long, the first.
    let longest = runs.reduce(|best, run| if run.1 - run.0 > best.1 - best.0 { run } else { best });
    longest.map(|(from, to)| (from.into(), to.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(prefix: &str, taken: &[&str]) -> Option<String> {
        let taken = taken.iter().map(|address| address.parse().unwrap());
        longest_run(prefix.parse().unwrap(), taken).map(|(from, to)| format!("{from} {to}"))
    }

    #[test]
    fn what_is_leased_to_anybody_belongs_to_nobody() {
        assert_eq!(run("10.0.20.0/24", &["10.0.20.1", "10.0.20.10"]).unwrap(), "10.0.20.11 10.0.20.254");
        assert_eq!(run("10.0.20.0/24", &["10.0.20.254", "10.0.20.200"]).unwrap(), "10.0.20.1 10.0.20.199");
        assert_eq!(run("10.0.20.0/24", &["10.9.9.9"]).unwrap(), "10.0.20.1 10.0.20.254");
        assert_eq!(run("10.0.20.0/30", &["10.0.20.1", "10.0.20.2"]), None);
        assert_eq!(run("10.0.20.0/32", &[]), None);
    }
}
