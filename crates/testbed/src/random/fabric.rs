//! Routers of any kind around the nodes.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::routing::{asn, bfd};
use super::{PORTS, list, map, quoted, some};

/// The section `fabric` of a cluster, and the keys by which nodes find its routers.
#[derive(Clone, Debug)]
pub struct RandomFabric {
    pub text: String,
    pub found: Vec<String>,
}

/// Leafs, a gateway and spines: at least one that nodes can peer with.
pub fn fabric(id: u32) -> BoxedStrategy<RandomFabric> {
    let leafs = (0..=2_usize).prop_flat_map(|count| (1..=count).map(leaf).collect::<Vec<_>>());
    let spines = (0..=2_usize).prop_flat_map(|count| (1..=count).map(spine).collect::<Vec<_>>());
    (leafs, option::of(gateway(id)), spines)
        .prop_filter("no router to peer with", |(leafs, gateway, _)| !leafs.is_empty() || gateway.is_some())
        .prop_map(|(leafs, gateway, spines)| {
            let on_ports =
                (0..leafs.len()).map(|nth| format!("router: leaf{}, link: {}", nth + 1, PORTS[nth]));
            let (gateway, by_address) = gateway.unzip();
            let found = on_ports.chain(by_address).collect();
            RandomFabric {
                text: format!("{{routers: {}}}", list(leafs.into_iter().chain(gateway).chain(spines))),
                found,
            }
        })
        .boxed()
}

/// The optional keys of a router: AS number, release, BFD, a password and an id of its own.
fn keys() -> impl Strategy<Value = Vec<(&'static str, Option<String>)>> {
    let version = option::of(select(vec!["8.4.4", "9.1", "10.3.1"]));
    let id = option::weighted(0.2, select(vec!["192.0.2.250", "10.255.255.254"]));
    let bfd = option::of(bfd());
    (asn(), version, id, bfd, any::<bool>()).prop_map(|(asn, version, id, bfd, secret)| {
        vec![
            ("asn", Some(asn)),
            ("version", version.map(quoted)),
            ("router_id", id.map(str::to_owned)),
            ("bfd", bfd),
            ("password", secret.then(|| "{env: PW}".to_owned())),
        ]
    })
}

fn vrf() -> impl Strategy<Value = Option<String>> {
    option::weighted(0.3, select(vec!["vrf_zone-1".to_owned(), "nodes".to_owned()]))
}

fn leaf(nth: usize) -> BoxedStrategy<String> {
    (keys(), vrf())
        .prop_map(move |(keys, vrf)| {
            let own = [("name", Some(format!("leaf{nth}"))), ("role", Some("leaf".to_owned())), ("vrf", vrf)];
            map(own.into_iter().chain(keys))
        })
        .boxed()
}

fn spine(nth: usize) -> BoxedStrategy<String> {
    keys()
        .prop_map(move |keys| {
            let own = [("name", Some(format!("spine{nth}"))), ("role", Some("spine".to_owned()))];
            map(own.into_iter().chain(keys))
        })
        .boxed()
}

/// A gateway, and how nodes find it.
fn gateway(id: u32) -> impl Strategy<Value = (String, String)> {
    let addresses = vec![format!("10.{id}.0.253"), quoted(format!("fd00:{id}::fffd"))];
    let listen = vec![format!("10.{id}.0.0/24"), quoted(format!("fd00:{id}::/64"))];
    let own = (some(addresses, 1), option::of(select(listen)), option::of(any::<bool>()), vrf());
    (keys(), own).prop_map(|(keys, (addresses, listen, extended, vrf))| {
        let own = [
            ("name", Some("gw".to_owned())),
            ("role", Some("gateway".to_owned())),
            ("addresses", Some(addresses)),
            ("listen", listen),
            ("extended_nexthop", extended.map(|extended| extended.to_string())),
            ("vrf", vrf),
        ];
        (map(own.into_iter().chain(keys)), "router: gw".to_owned())
    })
}
