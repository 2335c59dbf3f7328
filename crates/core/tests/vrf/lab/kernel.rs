//! What daemons told a kernel.

use std::collections::BTreeMap;

use ichor_testbed::lab::LabMachine;

/// Each prefix that came by BGP, and the ways to it; in a VRF, where one is named.
pub fn learnt(machine: &LabMachine, vrf: Option<&str>) -> BTreeMap<String, String> {
    let vrf = vrf.map(|vrf| format!("vrf {vrf}")).unwrap_or_default();
    let of = |family: u8, default: &'static str, length: u8| {
        let said = machine.ask(&format!("ip -o -{family} route show {vrf}"));
        let whole = move |net: &str| match net {
            "default" => default.to_owned(),
            net if net.contains('/') => net.to_owned(),
            net => format!("{net}/{length}"),
        };
        // FRR calls it bgp, BIRD calls all of its own bird.
        let learnt = said.lines().filter(|line| line.contains(" proto b"));
        let pair = |line: &str| line.split_once(' ').map(|(net, ways)| (whole(net), ways.to_owned()));
        learnt.filter_map(pair).collect::<Vec<_>>()
    };
    of(4, "0.0.0.0/0", 32).into_iter().chain(of(6, "::/0", 128)).collect()
}

/// How many next hops a way has. IPv4 by IPv6 is `via inet6 fe80::1`, or without groups of next hops `via 169.254.0.1`, which zebra
/// has as a neighbour with the router's MAC address.
pub fn next_hops(ways: &str) -> usize {
    ways.split_whitespace().filter(|word| *word == "via").count()
}
