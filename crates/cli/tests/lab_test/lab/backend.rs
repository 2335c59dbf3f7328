//! Nodes with daemons other than FRR: a router, a node, a link and both speakers fail in turn, as predicted.

use super::Lab;
use crate::lab_test::CLUSTER;

/// The cluster with another backend, which shares a routing table with its speaker.
fn cluster(backend: &str) -> String {
    let shared = CLUSTER
        .replace("backend: frr", &format!("backend: {backend}"))
        .replace("metallb: {mode: native}, isolation: netns, namespace: metallb", "isolation: none");
    assert!(shared.contains("isolation: none") && !shared.contains("backend: frr"), "{shared}");
    shared
}

fn assert_matches_prediction(lab: &Lab) {
    let fail = "--fail leaf1 --fail row1 --fail row1:eth0 --fail row1:metallb --fail row2:metallb";

    let run = lab.test(&format!("{fail} --json"));

    assert_eq!(run.code, 0, "{}", run.all());
    let report = run.json();
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 6, "{report:#}");
    assert!(report["flow_count"].as_u64().unwrap() > 20, "{report:#}");
    // BFD detects that a cable drops packets.
    let cable = super::row(&report, "row1:eth0");
    assert!((300..5000).contains(&cable["outage"]["duration_ms"].as_u64().unwrap()), "{cable:#}");
}

/// A prefix of two nodes is announced by both, although each can also reach it over the other. The leafs run FRR 8: FRR
/// 10.3.0 opens no session while BFD is down, and BIRD keeps BFD down until the session opens, which sometimes deadlocks.
#[test]
fn bird_matches_the_prediction() {
    assert_matches_prediction(&Lab::up_with_own("bird", &cluster("bird")));
}

/// Withdrawals by the speaker reach both leafs, also the one with another path.
#[test]
fn gobgp_matches_the_prediction() {
    assert_matches_prediction(&Lab::up_with_gobgp_4("gobgp", &cluster("gobgp")));
}

/// Talos' native BGP has no policies: the leafs share an AS number, so that no path leads through a node.
#[test]
fn native_bgp_matches_the_prediction() {
    let native = cluster("native")
        .replace("v1.13.9", "v1.14.0")
        .replace(", isolation: none", "")
        .replace("  graceful_restart: false\n", "")
        .replace("asn: 4200000102", "asn: 4200000101");

    assert_matches_prediction(&Lab::up_with_gobgp_4("native", &native));
}

/// GoBGP 3 has no routes over unnumbered sessions and no BFD: neither is predicted nor observed.
#[test]
fn missing_features_of_gobgp_3_are_not_predicted() {
    let lab = Lab::up("gobgp3", &cluster("gobgp"));

    let run = lab.test("--fail row1:eth0 --json");

    assert_eq!(run.code, 0, "{}", run.all());
    let report = run.json();
    assert_eq!(report["flow_count"], 0, "{report:#}");
    assert!(report.to_string().contains("no routes over unnumbered sessions"), "{report:#}");
}
