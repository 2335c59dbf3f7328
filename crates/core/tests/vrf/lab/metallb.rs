//! MetalLB in a VRF, between two leafs: the example, with IPv6 services too.

use super::scene::{Scene, Spoken};
use crate::common::lab::Root;
use crate::common::vm;

/// The example, with a release for each of two nodes. Without BFD: 300 ms mean nothing where all is emulated, and FRR 10.3.0, which
/// the leafs run, does not even start a session while BFD is down.
fn text(backend: &str, versions: [&str; 2]) -> String {
    let example = include_str!("../../../../../examples/metallb/ichor.yaml");
    let node = |name: &str, version: &str| {
        (format!("name: {name},"), format!("name: {name}, routing: {{version: {version}}},"))
    };
    let changes = [
        ("backend: frr".to_owned(), format!("backend: {backend}")),
        ("[198.51.100.0/24]".to_owned(), "[198.51.100.0/24, \"2001:db8:99::/112\"]".to_owned()),
        ("fab0, bfd: true".to_owned(), "fab0".to_owned()),
        ("fab1, bfd: true".to_owned(), "fab1".to_owned()),
        node("cp1", versions[0]),
        node("wk1", versions[1]),
    ];
    changes.iter().fold(example.to_owned(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to)
    })
}

/// Service addresses, and what nobody takes from a speaker: default routes, addresses of the cluster, what is in no pool, what is
/// more than an address.
const SPOKEN: Spoken = Spoken {
    shared: &["198.51.100.7/32", "2001:db8:99::7/128"],
    own: &["198.51.100.1/32", "198.51.100.11/32"],
    refused: &[
        "0.0.0.0/0",
        "::/0",
        "10.0.0.12/32",
        "10.0.1.12/32",
        "10.0.0.100/32",
        "fd00:1:fe::12/128",
        "192.0.2.66/32",
        "2001:db8:bad::1/128",
        "198.51.100.128/25",
        "2001:db8:99::80/121",
    ],
};

fn works(backend: &str, versions: [&str; 2]) {
    let nodes = [("cp1", Root::Trixie), ("wk1", Root::Own)];
    Scene::new(&text(backend, versions), &nodes, &["leaf1", "leaf2"], SPOKEN).holds();
}

#[test]
fn service_addresses_of_both_families_leave_a_vrf_on_frr_10_and_8() {
    vm::inside(|| works("frr", ["10.3", "8.4"]));
}

#[test]
fn service_addresses_of_both_families_leave_a_vrf_on_bird_2_17_and_2_0() {
    vm::inside(|| works("bird", ["2.17", "2.0.12"]));
}
