//! Prefixes of the cluster itself, which no speaker may announce.

use ipnet::IpNet;

use super::Family;
use super::filter::{Filter, Term};
use crate::plan::{NodePlan, Origin, Plan};

/// The prefixes of nodes, loopbacks, dummy links and the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected(Vec<IpNet>);

impl Protected {
    /// Those of a whole cluster: gathered once, for all its nodes.
    pub fn of(plan: &Plan) -> Self {
        let cluster = &plan.cluster;
        let mut nets: Vec<IpNet> =
            cluster.node.iter().chain(cluster.loopback.iter()).map(|(net, _)| net).collect();
        nets.extend(cluster.anycast.iter().map(|anycast| anycast.value));
        nets.extend(cluster.vip.iter().map(|vip| IpNet::from(vip.value)));
        nets.extend(plan.nodes.iter().flat_map(of_node));
        Self(outermost(nets.iter().map(IpNet::trunc).collect()))
    }

    /// What is taken from a speaker: `allowed`, but never a default route nor a prefix of the cluster.
    ///
    /// A pool may lie inside a node prefix, where the rest of the prefix stays protected.
    pub fn filter(&self, allowed: &[Term]) -> Filter {
        let inside = |term: &&Term| {
            self.0.iter().any(|net| net.contains(&term.net) && net.prefix_len() < term.net.prefix_len())
        };
        let (inner, outer): (Vec<&Term>, Vec<&Term>) = allowed.iter().partition(inside);
        let defaults = Family::ALL.map(|family| Term::exactly(false, family.everything()));
        let protected = self.0.iter().map(|net| Term::within(false, *net));
        let inner = inner.into_iter().copied();
        Filter(defaults.into_iter().chain(inner).chain(protected).chain(outer.into_iter().copied()).collect())
    }
}

/// What no speaker's filter may let through: default routes, and every prefix and address of nodes, API and routers.
pub fn forbidden(plan: &Plan) -> Vec<IpNet> {
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

/// Those that lie in no other.
fn outermost(mut nets: Vec<IpNet>) -> Vec<IpNet> {
    nets.sort();
    let mut kept: Vec<IpNet> = Vec::new();
    for net in nets {
        // Sorted, a prefix stands right before all that lies in it.
        if !kept.last().is_some_and(|last| last.contains(&net)) {
            kept.push(net);
        }
    }
    kept
}

fn of_node(node: &NodePlan) -> Vec<IpNet> {
    let addresses = node.dummies.iter().flat_map(|dummy| dummy.address.iter());
    let addresses = node.address.iter().chain(node.loopback.iter()).chain(addresses);
    addresses.map(|(net, _)| net).chain(node.dummy_prefixes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    #[test]
    fn neither_a_default_route_nor_a_prefix_of_the_cluster_passes() {
        let protected = Protected(vec![net("10.0.0.0/24"), net("fd00::/64")]);

        let filter =
            protected.filter(&[Term::within(true, net("0.0.0.0/0")), Term::within(true, net("::/0"))]);

        for refused in ["0.0.0.0/0", "::/0", "10.0.0.0/24", "10.0.0.7/32", "fd00::7/128"] {
            assert!(!filter.admits(net(refused)), "{refused}");
        }
        assert!(filter.admits(net("10.244.3.0/24")) && filter.admits(net("fd00:1::/64")));
    }

    #[test]
    fn a_pool_inside_the_node_prefix_passes_and_the_rest_of_it_does_not() {
        let protected = Protected(vec![net("10.0.0.0/24")]);

        let filter = protected.filter(&[Term::hosts(true, net("10.0.0.192/26"))]);

        assert!(filter.admits(net("10.0.0.200/32")));
        assert!(!filter.admits(net("10.0.0.7/32")));
    }
}
