//! Routes that came by BGP: what the kernel has, what it should have, and what somebody swept.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use ichor_values::Backend;

/// The node's own table.
pub const MAIN: u32 = 254;

/// The metric of routes that the agent installs. FRR's is 20: those of a second daemon are told apart, and ours win.
pub(crate) const METRIC: u32 = 17;

/// Who installed a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouteOrigin {
    /// BGP: FRR's bgpd through zebra, or the agent for GoBGP.
    Bgp,
    /// BIRD, which calls all of its own so.
    Bird,
    /// zebra itself.
    Zebra,
}

/// A route of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// Where it leads.
    pub prefix: IpNet,
    /// Its table.
    pub table: u32,
    /// Who installed it.
    pub protocol: RouteOrigin,
    /// Which of several is taken: the lowest.
    pub metric: u32,
    /// The address the node itself sends from.
    pub source: Option<IpAddr>,
    /// The ways: packets are spread over all of them.
    pub hops: BTreeSet<NextHop>,
}

/// One way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NextHop {
    /// The next router: for IPv4 it may be an IPv6 one.
    pub via: Option<IpAddr>,
    /// The kernel's number of the link.
    pub link: u32,
}

/// What names a route: the kernel has one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RouteKey {
    table: u32,
    prefix: IpNet,
}

impl Route {
    /// A route as the agent installs it.
    pub fn ours(
        table: u32,
        prefix: IpNet,
        source: Option<IpAddr>,
        hops: impl IntoIterator<Item = NextHop>,
    ) -> Self {
        let hops = hops.into_iter().collect();
        Self { prefix: prefix.trunc(), table, protocol: RouteOrigin::Bgp, metric: METRIC, source, hops }
    }

    /// Whether the agent installed it.
    pub(crate) fn is_ours(&self) -> bool {
        self.protocol == RouteOrigin::Bgp && self.metric == METRIC
    }

    fn name(&self) -> RouteKey {
        RouteKey { table: self.table, prefix: self.prefix }
    }
}

/// What is to be done to the kernel's routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteChanges {
    /// Routes to install; one of the same prefix is replaced.
    pub install: Vec<Route>,
    /// Routes to remove.
    pub remove: Vec<Route>,
}

/// What makes the agent's routes those that are wanted. Routes of others are not looked at.
pub fn difference(wanted: &[Route], kernel: &[Route]) -> RouteChanges {
    let wanted: BTreeMap<RouteKey, &Route> = wanted.iter().map(|route| (route.name(), route)).collect();
    let ours: BTreeMap<RouteKey, &Route> =
        kernel.iter().filter(|route| route.is_ours()).map(|route| (route.name(), route)).collect();
    let missing = wanted.iter().filter(|(name, route)| ours.get(name) != Some(route));
    let stale = ours.iter().filter(|(name, _)| !wanted.contains_key(name));
    RouteChanges {
        install: missing.map(|(_, route)| (*route).clone()).collect(),
        remove: stale.map(|(_, route)| (*route).clone()).collect(),
    }
}

/// The routes that a backend leaves in the kernel when it ends as for a restart. Another daemon of the same kind would have the same.
pub fn left(backend: Backend, kernel: Vec<Route>) -> Vec<Route> {
    let is_left = |route: &Route| match backend {
        Backend::Frr => route.protocol != RouteOrigin::Bird,
        Backend::Bird => route.protocol == RouteOrigin::Bird,
        Backend::Gobgp => route.is_ours(),
        Backend::Native => false,
    };
    kernel.into_iter().filter(is_left).collect()
}

/// Which of the prefixes that a daemon says it installed, each with its table, the kernel does not have: somebody swept them.
pub fn swept(told: &[(u32, IpNet)], kernel: &[Route]) -> Vec<(u32, IpNet)> {
    let names: BTreeSet<RouteKey> = kernel.iter().map(Route::name).collect();
    let is_gone =
        |&&(table, prefix): &&(u32, IpNet)| !names.contains(&RouteKey { table, prefix: prefix.trunc() });
    told.iter().filter(is_gone).copied().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Few prefixes and ways, so that they meet.
    fn route() -> impl Strategy<Value = Route> {
        let hop = (0u8..3, 1u32..3).prop_map(|(last, link)| NextHop {
            via: Some(IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, u16::from(last)])),
            link,
        });
        let hops = prop::collection::btree_set(hop, 1..3);
        let table = prop_oneof![Just(MAIN), Just(88)];
        (0u8..4, table, any::<bool>(), hops).prop_map(|(nth, table, foreign, hops)| {
            let prefix = format!("10.0.{nth}.0/24").parse().unwrap();
            let metric = if foreign { 20 } else { METRIC };
            Route { metric, ..Route::ours(table, prefix, None, hops) }
        })
    }

    /// The kernel's table: one route for each name and metric.
    fn kernel() -> impl Strategy<Value = Vec<Route>> {
        prop::collection::vec(route(), 0..12).prop_map(|routes| {
            let table: BTreeMap<_, _> =
                routes.into_iter().map(|route| ((route.name(), route.metric), route)).collect();
            table.into_values().collect()
        })
    }

    proptest! {
        #[test]
        fn the_difference_leads_to_what_is_wanted_and_touches_nothing_else(
            wanted in kernel(),
            kernel in kernel(),
        ) {
            let wanted: Vec<Route> = wanted.into_iter().filter(Route::is_ours).collect();
            let RouteChanges { install, remove } = difference(&wanted, &kernel);

            let mut after: BTreeMap<_, _> =
                kernel.iter().map(|route| ((route.name(), route.metric), route.clone())).collect();
            for route in &remove {
                prop_assert!(route.is_ours());
                after.remove(&(route.name(), route.metric));
            }
            after.extend(install.iter().map(|route| ((route.name(), route.metric), route.clone())));
            let after: Vec<Route> = after.into_values().collect();
            let (ours, others): (Vec<_>, Vec<_>) = after.iter().cloned().partition(Route::is_ours);

            prop_assert_eq!(ours, wanted.clone());
            let foreign: Vec<Route> = kernel.into_iter().filter(|route| !route.is_ours()).collect();
            prop_assert_eq!(others, foreign);
            prop_assert_eq!(difference(&wanted, &after), RouteChanges::default());
        }

        #[test]
        fn a_route_is_swept_when_its_table_has_it_no_more(told in kernel(), kernel in kernel()) {
            let told: Vec<_> = told.iter().map(|route| (route.table, route.prefix)).collect();

            let gone = swept(&told, &kernel);

            for (table, prefix) in told {
                let has = kernel.iter().any(|route| route.table == table && route.prefix == prefix);
                prop_assert_eq!(gone.contains(&(table, prefix)), !has);
            }
        }
    }
}
