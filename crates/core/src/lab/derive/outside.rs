//! The outside host: on one network with every router, with separate source addresses for each entry router.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::TopologyInputs;
use super::builder::TopologyBuilder;
use crate::lab::topology::{Ingress, LabMachine, LabPort, MachineRole};
use crate::routing::BgpTopology;

/// Networks reserved for benchmarks (RFC 2544, RFC 5180), and others for clusters that use these.
const V4: [&str; 3] = ["198.18.0.0/16", "198.19.0.0/16", "172.31.0.0/16"];
const V6: [&str; 3] = ["2001:2::/64", "2001:2:0:1::/64", "fd00:1c40:2::/64"];

/// Source addresses per family and entry router, so that ECMP spreads the packets over paths.
const SOURCES: u16 = 8;

/// Its name, and the name of its network and of the ports on it.
const NAME: &str = "outside";

/// Adds the outside host and its network.
pub(super) fn add_outside(inputs: TopologyInputs<'_>, network: &BgpTopology, builder: &mut TopologyBuilder) {
    let used = used_prefixes(inputs, network, builder);
    let free = |nets: [&str; 3]| {
        let mut nets = nets.into_iter().map(|net| net.parse::<IpNet>().expect("a prefix"));
        let last = nets.clone().next_back();
        nets.find(|net| !used.iter().any(|other| overlap(*net, *other))).or(last).expect("three of them")
    };
    let (IpNet::V4(v4), IpNet::V6(v6)) = (free(V4), free(V6)) else { unreachable!("one of each family") };
    let mut doors = Vec::new();
    let mut ends = Vec::new();
    for (nth, router) in (0_u16..).zip(&network.routers) {
        let through = [address4(v4, 0, nth + 1), address6(v6, 0, nth + 1)];
        let port = LabPort { vrf: router.vrf.clone(), ..outside_port(&through, v4, v6) };
        ends.push(builder.add_port(usize::from(nth), port));
        let sources = (1..=SOURCES).flat_map(|one| [address4(v4, nth + 1, one), address6(v6, nth + 1, one)]);
        doors.push(Ingress {
            router: router.name.clone(),
            through: through.to_vec(),
            sources: sources.collect(),
        });
    }
    let sources: Vec<IpAddr> = doors.iter().flat_map(|door| door.sources.iter().copied()).collect();
    let name = builder.unused_name(NAME);
    builder.machines.push(LabMachine {
        name,
        part: MachineRole::Outside { doors },
        vrfs: Vec::new(),
        dummies: Vec::new(),
        addresses: Vec::new(),
        ports: Vec::new(),
        gateways: Vec::new(),
    });
    let machine = builder.machines.len() - 1;
    ends.push(builder.add_port(machine, outside_port(&sources, v4, v6)));
    builder.connect(NAME.to_owned(), &ends);
}

fn outside_port(addresses: &[IpAddr], v4: Ipv4Net, v6: Ipv6Net) -> LabPort {
    let with_length = |address: &IpAddr| {
        let length = if address.is_ipv4() { v4.prefix_len() } else { v6.prefix_len() };
        IpNet::new(*address, length).expect("the length of the network")
    };
    LabPort {
        name: NAME.to_owned(),
        alias: None,
        mac: None,
        mtu: None,
        vrf: None,
        addresses: addresses.iter().map(with_length).collect(),
    }
}

fn address4(net: Ipv4Net, door: u16, one: u16) -> IpAddr {
    let low = (u32::from(door) << 8) | u32::from(one);
    Ipv4Addr::from(u32::from(net.network()) | low).into()
}

fn address6(net: Ipv6Net, door: u16, one: u16) -> IpAddr {
    let low = (u128::from(door) << 16) | u128::from(one);
    Ipv6Addr::from(u128::from(net.network()) | low).into()
}

/// The prefixes and addresses that the cluster uses.
fn used_prefixes(inputs: TopologyInputs<'_>, network: &BgpTopology, builder: &TopologyBuilder) -> Vec<IpNet> {
    let cluster = &inputs.plan.cluster;
    let pools = cluster.pools.iter().flat_map(|(_, nets)| nets).map(|net| net.value);
    let inside = cluster.pods.value.iter().chain(&cluster.services.value).copied();
    let own = cluster.node.iter().chain(cluster.loopback.iter()).map(|(net, _)| net);
    let routers =
        network.routers.iter().flat_map(|router| &router.addresses).map(|address| IpNet::from(*address));
    let machines = builder.machines.iter().flat_map(|machine| {
        let own = machine.addresses.iter().map(|(_, net)| *net);
        own.chain(machine.ports.iter().flat_map(|port| port.addresses.iter().copied()))
    });
    pools.chain(inside).chain(own).chain(routers).chain(machines).collect()
}

fn overlap(one: IpNet, other: IpNet) -> bool {
    one.contains(&other) || other.contains(&one)
}
