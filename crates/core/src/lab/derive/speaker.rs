//! The speaker on a node: gobgpd in the place of MetalLB or Cilium, and what it announces.

use std::net::IpAddr;

use ipnet::IpNet;

use super::TopologyInputs;
use crate::lab::scene::LabSpeaker;
use ichor_bgp::model::{BgpModel, Family, Workload};

/// The link that has service addresses. Nobody announces what is on it.
pub(super) const LINK: &str = "services";

/// The speaker of a node.
pub(super) fn of(order: TopologyInputs<'_>, model: &BgpModel) -> Option<LabSpeaker> {
    let workload = model.workload.as_ref()?;
    let announces = pools(order, workload).into_iter().flat_map(|pool| addresses(model, workload, pool));
    let refused = refusable(order, model, workload);
    Some(LabSpeaker {
        name: workload.speaker.to_string(),
        conf: conf(model, workload),
        announces: announces.collect(),
        refused,
    })
}

/// Where its addresses are from: the cluster's pools; what it may announce where there are none.
fn pools(order: TopologyInputs<'_>, workload: &Workload) -> Vec<IpNet> {
    let of_family = |net: &IpNet| workload.families.contains(&Family::of(*net));
    let pools = order.plan.cluster.pools.iter().flat_map(|(_, nets)| nets).map(|net| net.value.trunc());
    let pools: Vec<IpNet> = pools.filter(of_family).collect();
    if !pools.is_empty() {
        return pools;
    }
    let terms = workload.filter.0.iter().filter(|term| term.permit && term.net.prefix_len() > 0);
    terms.map(|term| term.net).filter(of_family).collect()
}

/// The first address of a pool, which all nodes announce, and one that only this node has.
fn addresses(model: &BgpModel, workload: &Workload, pool: IpNet) -> Vec<IpNet> {
    let admitted = |address: &IpAddr| workload.filter.admits(IpNet::from(*address));
    // The first address of an IPv6 network is any router's (RFC 4291, 2.6.1).
    let routers =
        |address: &IpAddr| address.is_ipv6() && *address == pool.network() && pool.prefix_len() < 127;
    let mut hosts = pool.hosts().filter(|address| admitted(address) && !routers(address));
    let shared = hosts.next();
    let own = hosts.nth(model.nth);
    [shared, own].into_iter().flatten().map(IpNet::from).collect()
}

/// What the node's filter refuses: everything, an address that nobody gave out, one of a node, half a pool.
fn refusable(order: TopologyInputs<'_>, model: &BgpModel, workload: &Workload) -> Vec<IpNet> {
    let everything = Family::ALL.map(Family::everything);
    let foreign = ["192.0.2.66/32", "2001:db8:bad::66/128"].map(|net| net.parse().expect("a prefix"));
    let nodes = order.plan.nodes.iter().filter(|node| node.nth != model.nth);
    let other = nodes.flat_map(|node| node.loopback.iter()).map(|(net, _)| IpNet::from(net.addr())).next();
    let halves = pools(order, workload)
        .into_iter()
        .filter_map(|pool| pool.subnets(pool.prefix_len() + 1).ok()?.last());
    let mut nets: Vec<IpNet> = everything.into_iter().chain(foreign).chain(other).chain(halves).collect();
    nets.retain(|net| workload.families.contains(&Family::of(*net)) && !workload.filter.admits(*net));
    nets.dedup();
    nets
}

/// `gobgpd.toml`. It connects, as MetalLB and Cilium do, and listens nowhere.
fn conf(model: &BgpModel, workload: &Workload) -> String {
    let (ours, theirs) = (&workload.ours, &workload.theirs);
    let mut text = format!(
        "[global.config]\nas = {}\nrouter-id = \"{}\"\nport = -1\n\n[[neighbors]]\n[neighbors.config]\n\
         neighbor-address = \"{}\"\npeer-as = {}\n[neighbors.transport.config]\nlocal-address = \"{}\"\n\
         [neighbors.timers.config]\nconnect-retry = 1\nkeepalive-interval = {}\nhold-time = {}\n",
        theirs.asn,
        model.router_id,
        ours.address,
        ours.asn,
        theirs.address,
        workload.timers.0,
        workload.timers.1
    );
    for family in &workload.families {
        let name = if *family == Family::V4 { "ipv4" } else { "ipv6" };
        text += &format!(
            "[[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = \"{name}-unicast\"\n"
        );
    }
    text
}
