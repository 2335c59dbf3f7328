//! The routes that daemons installed in a kernel.

use std::collections::BTreeMap;

use ichor_testbed::lab::LabMachine;

/// The prefixes from BGP and their routes, of a VRF if one is named.
pub fn learnt(machine: &LabMachine, vrf: Option<&str>) -> BTreeMap<String, String> {
    let vrf = vrf.map(|vrf| format!("vrf {vrf}")).unwrap_or_default();
    let of = |family: u8, default: &'static str, length: u8| {
        let output = machine.ask(&format!("ip -o -{family} route show {vrf}"));
        let complete = move |net: &str| match net {
            "default" => default.to_owned(),
            net if net.contains('/') => net.to_owned(),
            net => format!("{net}/{length}"),
        };
        // FRR names the protocol bgp, BIRD names all of its routes bird.
        let learnt = output.lines().filter(|line| line.contains(" proto b"));
        let pair = |line: &str| line.split_once(' ').map(|(net, ways)| (complete(net), ways.to_owned()));
        learnt.filter_map(pair).collect::<Vec<_>>()
    };
    of(4, "0.0.0.0/0", 32).into_iter().chain(of(6, "::/0", 128)).collect()
}

/// The number of next hops of a route. IPv4 over IPv6 is `via inet6 fe80::1`, or without next-hop groups `via 169.254.0.1`, which zebra
/// has as a neighbour with the router's MAC address.
pub fn next_hops(ways: &str) -> usize {
    ways.split_whitespace().filter(|word| *word == "via").count()
}
