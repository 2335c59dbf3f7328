//! Failures in docs/rules.md that BGP decides, and clusters that work.

use std::path::PathBuf;

use ichor_core::prove::ProofModel;

use crate::prove::{messages, proved};

fn rule_case(rule: &str, name: &str) -> (PathBuf, String) {
    (ichor_testbed::folder("rules").join(rule), name.to_owned())
}

/// Rules whose failure BGP decides, and the proof's message for the file that violates them.
const INCIDENTS: [(&str, &str); 27] = [
    ("aggregate-with-specifics", "delivered: 10.101.254.11/32: announced only as part of 10.101.254.0/24"),
    ("allow-misses-pool", "reached: 10.101.251.1/32: no node announces it"),
    (
        "asn-behind-reflector",
        "together: solwk01 reaches 10.101.254.11/32 and fd00:101:fe::11/128 only by its default route: its own AS",
    ),
    (
        "asn-of-router",
        "together: solwk01 reaches 10.101.254.11/32 and fd00:101:fe::11/128 only by its default route: leaf1 learned it over iBGP in AS 65101",
    ),
    ("allow-fabric", "guarded: solcp01 would accept 10.101.0.11/32 from the speaker"),
    ("backend-cannot", "sessions: solcp01, solwk01 and solwk02: native does not support"),
    ("backend-too-old", "sessions: solwk03 and the router on eth0: solwk03 runs Talos"),
    (
        "bfd-listen-range",
        "sessions: solcp01 and gw1: gw1 accepts solcp01 by a listen range, and its FRR starts BGP only after BFD",
    ),
    ("bfd-one-sided-affected", "sessions: solcp01 and gw1: gw1 has BFD, solcp01 does not"),
    ("bfd-vrf-native", "speakers: solcp01: native does not support BFD with the speaker"),
    ("cable-contradicts", "sessions: solcp01 and leaf1: the cable of solcp01:eth0 leads to leaf2:swp1"),
    ("duplicate-asn", "reached: leaf2 does not reach 10.101.254.11/32"),
    (
        "extended-nexthop-missing",
        "reached: gw1 does not reach 10.101.254.11/32: its session with solcp01 does not carry IPv4",
    ),
    (
        "listen-range-misses-nodes",
        "sessions: solwk01 and gw1: gw1 accepts only fd00:101::/64, but solwk01 connects from",
    ),
    ("metallb-native-ipv6", "speakers: solcp01: MetalLB's native mode encodes IPv4 routes incorrectly"),
    ("mtu-below-1280", "sessions: solcp01 and the router on eth0: the MTU of solcp01:eth0 is below 1280"),
    ("neighbor-is-self", "sessions: solcp01 and 10.101.0.11: 10.101.0.11 is an address of solcp01 itself"),
    ("neighbor-link-unknown", "sessions: solcp01 and the router on fab1: solcp01 has no link fab1"),
    ("neighbor-twice", "sessions: solcp01 and 10.101.0.1: solcp01 has the neighbour 10.101.0.1 twice"),
    (
        "neighbor-unreachable",
        "sessions: solcp01 and 10.102.0.1: solcp01 has neither an address in the network of 10.102.0.1 nor a gateway",
    ),
    ("neighbor-without-address", "sessions: solcp01 has no BGP neighbour"),
    (
        "password-unsupported",
        "sessions: solcp01 and gw1: gw1 requires a password, which Talos' own BGP does not support",
    ),
    ("routing-without-neighbors", "sessions: solcp01 has no BGP neighbour"),
    (
        "speaker-asn-of-router",
        "reached: leaf1 does not reach 10.101.250.1/32: its own AS 65101 is in the path",
    ),
    (
        "speaker-link-broken",
        "speakers: solcp01: fda1:b2c3:d4e5:1::1 and fda1:b2c3:d4e5:1::2 are not in the same network",
    ),
    ("speaker-without-cilium", "speakers: solcp01: Cilium is not installed"),
    ("zebra-netns-vrf", "speakers: solcp01: with `zebra -n` FRR uses network namespaces as VRFs"),
];

#[test]
fn every_incident_that_bgp_decides_is_predicted() {
    for (rule, expected) in INCIDENTS {
        let (case, file) = rule_case(rule, "trips.yaml");
        let reported = messages(&proved(&ichor_testbed::planned_case(&case, &file)));
        assert!(reported.iter().any(|reported| reported.contains(expected)), "{rule}: {reported:#?}");
    }
}

#[test]
fn a_file_that_passes_the_rule_has_no_such_failure() {
    for (rule, expected) in INCIDENTS {
        let (case, file) = rule_case(rule, "passes.yaml");
        let reported = messages(&proved(&ichor_testbed::planned_case(&case, &file)));
        assert!(!reported.iter().any(|reported| reported.contains(expected)), "{rule}: {reported:#?}");
    }
}

#[test]
fn an_aggregate_without_a_part_on_the_node_is_not_announced() {
    let (case, file) = rule_case("aggregate-foreign", "trips.yaml");

    let proof = proved(&ichor_testbed::planned_case(&case, &file));

    assert!(proof.study.reaches.iter().all(|reach| reach.kind.to_string() != "aggregate"));
}

#[test]
fn a_prefix_of_the_fabric_is_rejected_even_if_the_file_allows_it() {
    let (case, file) = rule_case("allow-around-fabric", "trips.yaml");

    let proof = proved(&ichor_testbed::planned_case(&case, &file));

    assert!(!messages(&proof).iter().any(|reported| reported.starts_with("guarded")));
}

#[test]
fn every_example_with_routing_is_proved() {
    for case in ichor_testbed::routing::cases() {
        let planned = ichor_testbed::planned_case(&case, "ichor.yaml");
        let subject = ProofModel::from_plan(&planned.0, &planned.1).unwrap();
        let known = subject.network.routers.iter().all(|router| router.listed);
        if case.components().any(|part| part.as_os_str() == "examples") && known {
            assert!(proved(&planned).holds(), "{}: {:#?}", case.display(), messages(&proved(&planned)));
        }
    }
}
