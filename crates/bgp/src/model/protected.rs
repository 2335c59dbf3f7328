//! Prefixes of the cluster itself, which the load balancer must not announce.

use ipnet::IpNet;

use super::Family;
use super::filter::{PrefixFilter, PrefixRule};

/// The prefixes of nodes, loopbacks, dummy links and the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedPrefixes(Vec<IpNet>);

impl ProtectedPrefixes {
    /// Protects `nets` and everything within them.
    pub fn new(nets: &[IpNet]) -> Self {
        Self(outermost(nets.iter().map(IpNet::trunc).collect()))
    }

    /// The filter for the load balancer's routes: `allowed`, but never a default route nor a prefix of the cluster.
    ///
    /// A pool may lie inside a node prefix, of which the rest stays protected.
    pub fn filter(&self, allowed: &[PrefixRule]) -> PrefixFilter {
        let inside = |rule: &&PrefixRule| {
            self.0.iter().any(|net| net.contains(&rule.net) && net.prefix_len() < rule.net.prefix_len())
        };
        let (inner, outer): (Vec<&PrefixRule>, Vec<&PrefixRule>) = allowed.iter().partition(inside);
        let defaults = Family::ALL.map(|family| PrefixRule::exactly(false, family.everything()));
        let protected = self.0.iter().map(|net| PrefixRule::within(false, *net));
        let inner = inner.into_iter().copied();
        PrefixFilter(
            defaults.into_iter().chain(inner).chain(protected).chain(outer.into_iter().copied()).collect(),
        )
    }
}

/// The prefixes that no other one contains.
fn outermost(mut nets: Vec<IpNet>) -> Vec<IpNet> {
    nets.sort();
    let mut kept: Vec<IpNet> = Vec::new();
    for net in nets {
        // In sorted order, a prefix comes directly before those that it contains.
        if !kept.last().is_some_and(|last| last.contains(&net)) {
            kept.push(net);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    #[test]
    fn default_routes_and_prefixes_of_the_cluster_are_denied() {
        let protected = ProtectedPrefixes(vec![net("10.0.0.0/24"), net("fd00::/64")]);

        let filter = protected
            .filter(&[PrefixRule::within(true, net("0.0.0.0/0")), PrefixRule::within(true, net("::/0"))]);

        for refused in ["0.0.0.0/0", "::/0", "10.0.0.0/24", "10.0.0.7/32", "fd00::7/128"] {
            assert!(!filter.admits(net(refused)), "{refused}");
        }
        assert!(filter.admits(net("10.244.3.0/24")) && filter.admits(net("fd00:1::/64")));
    }

    #[test]
    fn a_pool_inside_a_node_prefix_is_permitted_and_the_rest_is_denied() {
        let protected = ProtectedPrefixes(vec![net("10.0.0.0/24")]);

        let filter = protected.filter(&[PrefixRule::hosts(true, net("10.0.0.192/26"))]);

        assert!(filter.admits(net("10.0.0.200/32")));
        assert!(!filter.admits(net("10.0.0.7/32")));
    }
}
