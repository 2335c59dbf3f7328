//! The path of a packet to an address.

use std::collections::BTreeMap;

use ichor_core::prove::{ProofModel, forwarding};

use crate::prove::{GATEWAYS, rack};

/// The next hops of all machines to an address, as text.
fn ways(text: &str, address: &str, fail: &[&str]) -> BTreeMap<String, String> {
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));
    let subject = ProofModel::from_plan(&cluster, &plan).unwrap();
    let failures: Vec<_> = fail.iter().map(|name| subject.failure(name).unwrap()).collect();
    let (_, ways) = forwarding::forwarding_paths(&subject, &plan, address.parse().unwrap(), &failures);
    let name = |vertex: u32| subject.graph.vertices[vertex as usize].name.clone();
    let next_hops = |way: &forwarding::ForwardingPath| match &way.next {
        forwarding::NextHop::Neighbors(next) => {
            next.iter().map(|vertex| name(*vertex)).collect::<Vec<_>>().join(" ")
        }
        other => format!("{other:?}"),
    };
    ways.iter().map(|way| (name(way.vertex), next_hops(way))).collect()
}

#[test]
fn a_connected_route_precedes_bgp_and_bgp_a_default_route() {
    let outside = ways(GATEWAYS, "192.0.2.7", &[]);
    let cut = ways(GATEWAYS, "192.0.2.7", &["a:gw1"]);
    let beside = ways(GATEWAYS, "10.1.0.2", &[]);
    let announced = ways(GATEWAYS, "10.1.254.2", &[]);

    assert_eq!((outside["a"].as_str(), outside["gw1"].as_str()), ("gw1 gw2", "Unknown"));
    assert_eq!(cut["a"], "gw2");
    assert!(
        beside["a"].starts_with("Link(Some(") && beside["gw1"] == "Link(None)" && beside["b"] == "Itself"
    );
    assert_eq!((announced["a"].as_str(), announced["gw1"].as_str()), ("gw1 gw2", "b"));
}

#[test]
fn a_removed_link_has_no_network() {
    let beside = ways(GATEWAYS, "10.1.0.2", &["a:eth0"]);

    assert_eq!((beside["a"].as_str(), beside["b"].as_str()), ("Nowhere", "Itself"));
}

#[test]
fn an_aggregate_reaches_unannounced_parts_and_that_of_a_pool_all_parts() {
    let text = rack(", workload: {speaker: metallb}", "")
        .replace("index: 2", "index: 2, routing: {aggregates: [10.1.254.0/24]}");

    let (hidden, service) = (ways(&text, "10.1.254.2", &[]), ways(&text, "198.51.100.77", &["a:metallb"]));

    assert_eq!((hidden["leaf1"].as_str(), hidden["b"].as_str()), ("b", "Itself"));
    assert_eq!((service["leaf1"].as_str(), service["b"].as_str()), ("b", "Itself"));
}
