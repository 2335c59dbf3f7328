//! BGP routes: those in the kernel, those that should be there, and those that another program removed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use ichor_values::Backend;

/// The kernel's main table.
pub const MAIN: u32 = 254;

/// The metric of routes that the agent installs. FRR's is 20: routes of a second daemon can be distinguished, and the
/// agent's take precedence.
pub(crate) const METRIC: u32 = 17;

/// The program that installed a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouteOrigin {
    /// BGP: FRR's bgpd through zebra, or the agent for GoBGP.
    Bgp,
    /// BIRD, which uses one protocol for all of its routes.
    Bird,
    /// zebra itself.
    Zebra,
}

/// A kernel route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The destination.
    pub prefix: IpNet,
    /// Its table.
    pub table: u32,
    /// The program that installed it.
    pub protocol: RouteOrigin,
    /// The metric: of several routes, the lowest is used.
    pub metric: u32,
    /// The preferred source address of the node's own packets.
    pub source: Option<IpAddr>,
    /// The next hops: packets are balanced over all of them.
    pub hops: BTreeSet<NextHop>,
}

/// One next hop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NextHop {
    /// The next router; for an IPv4 route it may have an IPv6 address.
    pub via: Option<IpAddr>,
    /// The interface index of the link.
    pub link: u32,
}

/// The key of a route: its table and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RouteKey {
    table: u32,
    prefix: IpNet,
}

impl Route {
    /// A route as the agent installs it.
    pub fn from_agent(
        table: u32,
        prefix: IpNet,
        source: Option<IpAddr>,
        hops: impl IntoIterator<Item = NextHop>,
    ) -> Self {
        let hops = hops.into_iter().collect();
        Self { prefix: prefix.trunc(), table, protocol: RouteOrigin::Bgp, metric: METRIC, source, hops }
    }

    /// Whether the agent installed it.
    pub(crate) fn is_from_agent(&self) -> bool {
        self.protocol == RouteOrigin::Bgp && self.metric == METRIC
    }

    fn key(&self) -> RouteKey {
        RouteKey { table: self.table, prefix: self.prefix }
    }
}

/// Changes of the kernel's routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteChanges {
    /// Routes to install; each replaces a route of the same prefix.
    pub install: Vec<Route>,
    /// Routes to remove.
    pub remove: Vec<Route>,
}

/// The changes that turn the agent's routes in the kernel into `wanted`. Routes of other programs are ignored.
pub fn difference(wanted: &[Route], kernel: &[Route]) -> RouteChanges {
    let wanted: BTreeMap<RouteKey, &Route> = wanted.iter().map(|route| (route.key(), route)).collect();
    let ours: BTreeMap<RouteKey, &Route> =
        kernel.iter().filter(|route| route.is_from_agent()).map(|route| (route.key(), route)).collect();
    let missing = wanted.iter().filter(|(key, route)| ours.get(key) != Some(route));
    let stale = ours.iter().filter(|(key, _)| !wanted.contains_key(key));
    RouteChanges {
        install: missing.map(|(_, route)| (*route).clone()).collect(),
        remove: stale.map(|(_, route)| (*route).clone()).collect(),
    }
}

/// The routes that a backend's daemon leaves in the kernel on a graceful restart. Another daemon of the same kind would
/// leave the same.
pub fn remaining_routes(backend: Backend, kernel: Vec<Route>) -> Vec<Route> {
    let remains = |route: &Route| match backend {
        Backend::Frr => route.protocol != RouteOrigin::Bird,
        Backend::Bird => route.protocol == RouteOrigin::Bird,
        Backend::Gobgp => route.is_from_agent(),
        Backend::Native => false,
    };
    kernel.into_iter().filter(remains).collect()
}

/// The prefixes, each with its table, that a daemon reports as installed but that the kernel lacks: another program
/// removed them.
pub fn removed_prefixes(reported: &[(u32, IpNet)], kernel: &[Route]) -> Vec<(u32, IpNet)> {
    let names: BTreeSet<RouteKey> = kernel.iter().map(Route::key).collect();
    let is_gone =
        |&&(table, prefix): &&(u32, IpNet)| !names.contains(&RouteKey { table, prefix: prefix.trunc() });
    reported.iter().filter(is_gone).copied().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Few prefixes and next hops, so that routes collide.
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
            Route { metric, ..Route::from_agent(table, prefix, None, hops) }
        })
    }

    /// A kernel table: one route for each key and metric.
    fn kernel() -> impl Strategy<Value = Vec<Route>> {
        prop::collection::vec(route(), 0..12).prop_map(|routes| {
            let table: BTreeMap<_, _> =
                routes.into_iter().map(|route| ((route.key(), route.metric), route)).collect();
            table.into_values().collect()
        })
    }

    proptest! {
        #[test]
        fn the_difference_establishes_the_wanted_routes_and_leaves_others_alone(
            wanted in kernel(),
            kernel in kernel(),
        ) {
            let wanted: Vec<Route> = wanted.into_iter().filter(Route::is_from_agent).collect();
            let RouteChanges { install, remove } = difference(&wanted, &kernel);

            let mut after: BTreeMap<_, _> =
                kernel.iter().map(|route| ((route.key(), route.metric), route.clone())).collect();
            for route in &remove {
                prop_assert!(route.is_from_agent());
                after.remove(&(route.key(), route.metric));
            }
            after.extend(install.iter().map(|route| ((route.key(), route.metric), route.clone())));
            let after: Vec<Route> = after.into_values().collect();
            let (ours, others): (Vec<_>, Vec<_>) = after.iter().cloned().partition(Route::is_from_agent);

            prop_assert_eq!(ours, wanted.clone());
            let foreign: Vec<Route> = kernel.into_iter().filter(|route| !route.is_from_agent()).collect();
            prop_assert_eq!(others, foreign);
            prop_assert_eq!(difference(&wanted, &after), RouteChanges::default());
        }

        #[test]
        fn a_reported_route_is_removed_if_its_table_lacks_it(reported in kernel(), kernel in kernel()) {
            let reported: Vec<_> = reported.iter().map(|route| (route.table, route.prefix)).collect();

            let gone = removed_prefixes(&reported, &kernel);

            for (table, prefix) in reported {
                let has = kernel.iter().any(|route| route.table == table && route.prefix == prefix);
                prop_assert_eq!(gone.contains(&(table, prefix)), !has);
            }
        }
    }
}
