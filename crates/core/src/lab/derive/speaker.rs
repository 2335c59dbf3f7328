//! The speaker on a node: gobgpd in the role of MetalLB or Cilium.

use std::net::IpAddr;

use ipnet::IpNet;

use super::TopologyInputs;
use crate::lab::topology::LabSpeaker;
use ichor_bgp::model::{BgpModel, Family, Workload};

/// The link with the service addresses, which the node itself does not announce.
pub(super) const LINK: &str = "services";

/// The speaker of a node.
pub(super) fn build_speaker(inputs: TopologyInputs<'_>, model: &BgpModel) -> Option<LabSpeaker> {
    let workload = model.workload.as_ref()?;
    let announces =
        service_pools(inputs, workload).into_iter().flat_map(|pool| service_addresses(model, workload, pool));
    let refused = rejected_prefixes(inputs, model, workload);
    Some(LabSpeaker {
        name: workload.speaker.to_string(),
        conf: render_config(model, workload),
        announces: announces.collect(),
        refused,
    })
}

/// The cluster's pools, or the prefixes that the speaker may announce if there are no pools.
fn service_pools(inputs: TopologyInputs<'_>, workload: &Workload) -> Vec<IpNet> {
    let of_family = |net: &IpNet| workload.families.contains(&Family::of(*net));
    let pools = inputs.plan.cluster.pools.iter().flat_map(|(_, nets)| nets).map(|net| net.value.trunc());
    let pools: Vec<IpNet> = pools.filter(of_family).collect();
    if !pools.is_empty() {
        return pools;
    }
    let terms = workload.filter.0.iter().filter(|term| term.permit && term.net.prefix_len() > 0);
    terms.map(|term| term.net).filter(of_family).collect()
}

/// The first address of a pool, which all nodes announce, and one that only this node announces.
fn service_addresses(model: &BgpModel, workload: &Workload, pool: IpNet) -> Vec<IpNet> {
    let admitted = |address: &IpAddr| workload.filter.admits(IpNet::from(*address));
    // The first address of an IPv6 network is the subnet-router anycast address (RFC 4291, section 2.6.1).
    let is_anycast =
        |address: &IpAddr| address.is_ipv6() && *address == pool.network() && pool.prefix_len() < 127;
    let mut hosts = pool.hosts().filter(|address| admitted(address) && !is_anycast(address));
    let shared = hosts.next();
    let own = hosts.nth(model.nth);
    [shared, own].into_iter().flatten().map(IpNet::from).collect()
}

/// Prefixes that the node's filter rejects: the default route, a foreign address, a node's address, half a pool.
fn rejected_prefixes(inputs: TopologyInputs<'_>, model: &BgpModel, workload: &Workload) -> Vec<IpNet> {
    let everything = Family::ALL.map(Family::everything);
    let foreign = ["192.0.2.66/32", "2001:db8:bad::66/128"].map(|net| net.parse().expect("a prefix"));
    let nodes = inputs.plan.nodes.iter().filter(|node| node.nth != model.nth);
    let other = nodes.flat_map(|node| node.loopback.iter()).map(|(net, _)| IpNet::from(net.addr())).next();
    let halves = service_pools(inputs, workload)
        .into_iter()
        .filter_map(|pool| pool.subnets(pool.prefix_len() + 1).ok()?.last());
    let mut nets: Vec<IpNet> = everything.into_iter().chain(foreign).chain(other).chain(halves).collect();
    nets.retain(|net| workload.families.contains(&Family::of(*net)) && !workload.filter.admits(*net));
    nets.dedup();
    nets
}

/// `gobgpd.toml`. gobgpd connects to the node and does not listen, like MetalLB and Cilium.
fn render_config(model: &BgpModel, workload: &Workload) -> String {
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
