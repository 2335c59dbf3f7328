//! Nodes with every other daemon than FRR: a router, a node, a link and both speakers fail in turn, and all is as foreseen.

use super::Lab;
use crate::lab_test::CLUSTER;

/// The cluster with another backend. Its speaker is beside the daemon, in one table with it.
fn cluster(backend: &str) -> String {
    let shared = CLUSTER
        .replace("backend: frr", &format!("backend: {backend}"))
        .replace("metallb: {mode: native}, isolation: netns, namespace: metallb", "isolation: none");
    assert!(shared.contains("isolation: none") && !shared.contains("backend: frr"), "{shared}");
    shared
}

fn everything_is_as_foreseen(lab: &Lab) {
    let fail = "--fail leaf1 --fail row1 --fail row1:eth0 --fail row1:metallb --fail row2:metallb";

    let run = lab.test(&format!("{fail} --json"));

    assert_eq!(run.code, 0, "{}", run.all());
    let told = run.json();
    let rows = told["results"].as_array().unwrap();
    assert_eq!(rows.len(), 6, "{told:#}");
    assert!(told["flows"].as_u64().unwrap() > 20, "{told:#}");
    // BFD notices that a cable loses packets.
    let cable = super::row(&told, "row1:eth0");
    assert!((300..5000).contains(&cable["outage"]["duration_ms"].as_u64().unwrap()), "{cable:#}");
}

/// What two nodes announce is announced by both, although each can also reach it over the other. With leafs of FRR 8: those of FRR 10.3.0
/// open no session while BFD is down, and BIRD, which waits for them to, has it down until then; now and then neither begins.
#[test]
fn bird_does_what_is_foreseen() {
    everything_is_as_foreseen(&Lab::up_with_own("bird", &cluster("bird")));
}

/// Of what the speaker does not announce any more, both leafs hear, also the one that knows another way to it.
#[test]
fn gobgp_does_what_is_foreseen() {
    everything_is_as_foreseen(&Lab::up_with_gobgp_4("gobgp", &cluster("gobgp")));
}

/// Talos' own BGP has no policy: leafs have one AS number, so that no node is between them.
#[test]
fn what_stands_for_talos_does_what_is_foreseen() {
    let native = cluster("native")
        .replace("v1.13.9", "v1.14.0")
        .replace(", isolation: none", "")
        .replace("  graceful_restart: false\n", "")
        .replace("asn: 4200000102", "asn: 4200000101");

    everything_is_as_foreseen(&Lab::up_with_gobgp_4("native", &native));
}

/// GoBGP 3 brings no routes over sessions on ports, and has no BFD: nothing is foreseen of it, and nothing is seen.
#[test]
fn what_gobgp_3_cannot_do_is_not_foreseen() {
    let lab = Lab::up("gobgp3", &cluster("gobgp"));

    let run = lab.test("--fail row1:eth0 --json");

    assert_eq!(run.code, 0, "{}", run.all());
    let told = run.json();
    assert_eq!(told["flows"], 0, "{told:#}");
    assert!(told.to_string().contains("no routes over sessions on ports"), "{told:#}");
}
