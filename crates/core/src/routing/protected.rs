//! Prefixes of the cluster that speakers may not announce.

pub use ichor_bgp::model::{Family, ProtectedPrefixes};
use ipnet::IpNet;

use crate::plan::{NodePlan, Origin, Plan};

/// The protected prefixes of a cluster, for all its nodes.
pub fn protected(plan: &Plan) -> ProtectedPrefixes {
    let cluster = &plan.cluster;
    let mut nets: Vec<IpNet> =
        cluster.node.iter().chain(cluster.loopback.iter()).map(|(net, _)| net).collect();
    nets.extend(cluster.anycast.iter().map(|anycast| anycast.value));
    nets.extend(cluster.vip.iter().map(|vip| IpNet::from(vip.value)));
    nets.extend(plan.nodes.iter().flat_map(node_prefixes));
    ProtectedPrefixes::new(&nets)
}

/// Prefixes that no speaker's filter may accept: default routes, and every prefix and address of nodes, API and routers.
pub(crate) fn forbidden(plan: &Plan) -> Vec<IpNet> {
    let of_cluster = [&plan.cluster.node, &plan.cluster.loopback];
    let host = |(net, _): (IpNet, Origin)| IpNet::from(net.addr());
    let mut nets: Vec<IpNet> = Family::ALL.map(Family::everything).to_vec();
    nets.extend(of_cluster.iter().flat_map(|prefixes| prefixes.iter()).map(|(net, _)| net.trunc()));
    nets.extend(plan.cluster.anycast.iter().map(|anycast| anycast.value));
    nets.extend(plan.cluster.vip.iter().map(|vip| IpNet::from(vip.value)));
    for node in &plan.nodes {
        let dummies = node.dummies.iter().flat_map(|dummy| dummy.address.iter());
        nets.extend(node.address.iter().chain(node.loopback.iter()).chain(dummies).map(host));
    }
    let routers = plan.routers.iter().flat_map(|router| &router.addresses);
    nets.extend(routers.map(|address| IpNet::from(address.value)));
    nets
}

fn node_prefixes(node: &NodePlan) -> Vec<IpNet> {
    let addresses = node.dummies.iter().flat_map(|dummy| dummy.address.iter());
    let addresses = node.address.iter().chain(node.loopback.iter()).chain(addresses);
    addresses.map(|(net, _)| net).chain(node.dummy_prefixes()).collect()
}
