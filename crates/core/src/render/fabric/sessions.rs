//! `sessions.csv`: every session with both ends, for routers that ichor does not configure.

use crate::routing::BgpTopology;
use crate::routing::network::{BgpSession, TopologyEnd};
use ichor_bgp::model::Family;
use ichor_bgp::model::fabric::PeerAddress;

/// The columns. An end is a port, or for numbered sessions an address; empty with DHCP.
const HEAD: &str = "from,from_asn,from_end,to,to_asn,to_end,families,bfd,keepalive,hold,password,range\n";

/// The table: first the sessions of nodes, in the order of the file.
pub(crate) fn render(network: &BgpTopology) -> String {
    let mut text = HEAD.to_owned();
    for session in &network.sessions {
        text += &row(network, *session);
        text.push('\n');
    }
    text
}

fn row(network: &BgpTopology, BgpSession(from, to): BgpSession) -> String {
    let session = network.at(from);
    let families: Vec<_> = session.families.iter().map(|family| word(*family)).collect();
    let bfd = session.bfd.map(|bfd| format!("{}x{}", bfd.interval, bfd.multiplier)).unwrap_or_default();
    let password = if session.password.is_some() { "yes" } else { "no" };
    let columns = [
        network.name(from).to_owned(),
        asn(network, from),
        own_end(network, from, to),
        network.name(to).to_owned(),
        asn(network, to),
        own_end(network, to, from),
        families.join(" "),
        bfd,
        session.timers.0.to_string(),
        session.timers.1.to_string(),
        password.to_owned(),
        range(network, to),
    ];
    columns.join(",")
}

fn word(family: Family) -> &'static str {
    match family {
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    }
}

fn asn(network: &BgpTopology, end: TopologyEnd) -> String {
    match end {
        TopologyEnd::Node(node, _) => network.nodes[node].asn.to_string(),
        TopologyEnd::Router(router, _) => {
            network.routers[router].asn.map(|asn| asn.to_string()).unwrap_or_default()
        }
    }
}

/// One end of a session: its port, or its address as configured at the other end.
fn own_end(network: &BgpTopology, own: TopologyEnd, other: TopologyEnd) -> String {
    match (&network.at(own).found, &network.at(other).found) {
        (PeerAddress::Port { name, .. }, _) => name.to_string(),
        (_, PeerAddress::Address { address, source }) if *source != Some(*address) => address.to_string(),
        _ => String::new(),
    }
}

/// The prefix from which a router accepts the session.
fn range(network: &BgpTopology, end: TopologyEnd) -> String {
    let TopologyEnd::Router(router, nth) = end else { return String::new() };
    let router = &network.routers[router];
    let range = router.listen.filter(|_| router.peers[nth].by_range);
    range.map(|range| range.to_string()).unwrap_or_default()
}
