//! The examples with a speaker in a VRF.

use super::topology::{Scene, Spoken};
use ichor_testbed::lab::RootFileSystem;
use ichor_testbed::vm;

const METALLB: &str = include_str!("../../../../../examples/metallb/ichor.yaml");
const CILIUM: &str = include_str!("../../../../../examples/cilium/ichor.yaml");

/// A text with each of these replaced, which must occur exactly once.
fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to)
    })
}

/// MetalLB between two leafs, one of each release, with IPv6 services. Without BFD: 300 ms are too short on an emulated
/// processor, and FRR 10.3.0 on a leaf does not start a session while BFD is down.
fn metallb(backend: &str, versions: [&str; 2]) {
    let node = |nth: usize| format!("routing: {{version: {}}}, index: {nth},", versions[nth / 11]);
    let text = changed(
        METALLB,
        &[
            ("backend: frr", &format!("backend: {backend}")),
            ("[198.51.100.0/24]", "[198.51.100.0/24, \"2001:db8:99::/112\"]"),
            ("asn: 65102, software: frr, version: 10.3.1", "asn: 65102, software: frr, version: 8.4"),
            ("fab0, bfd: true", "fab0, bfd: false"),
            ("fab1, bfd: true", "fab1, bfd: false"),
            ("index: 1,", &node(1)),
            ("index: 11,", &node(11)),
        ],
    );
    // Default routes, addresses of the cluster, prefixes outside the pools, and prefixes of more than one address.
    let spoken = Spoken {
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
        shared: &["198.51.100.7/32", "2001:db8:99::7/128"],
        own: [&["198.51.100.1/32", "2001:db8:99::1/128"], &["198.51.100.11/32", "2001:db8:99::11/128"]],
    };
    Scene::new(
        &text,
        [("cp1", RootFileSystem::Trixie), ("wk1", RootFileSystem::Own)],
        &["leaf1", "leaf2"],
        spoken,
    )
    .holds();
}

#[test]
fn service_addresses_of_metallb_leak_from_a_vrf_on_frr_10_and_8() {
    vm::run_in_vm(|| metallb("frr", ["10.3", "8.4"]));
}

#[test]
fn service_addresses_of_metallb_leak_from_a_vrf_on_bird_2_17_and_2_0() {
    vm::run_in_vm(|| metallb("bird", ["2.17", "2.0.12"]));
}

/// Behind a gateway that accepts nodes from a range, itself in a VRF. Allowed prefixes may have more than one address.
#[test]
fn service_addresses_of_cilium_leak_from_a_vrf_to_that_of_a_gateway() {
    vm::run_in_vm(|| {
        let text = changed(CILIUM, &[("name: solwk01,", "name: solwk01, routing: {version: 8.4},")]);
        let spoken = Spoken {
            refused: &[
                "0.0.0.0/0",
                "::/0",
                "10.101.0.99/32",
                "10.101.254.99/32",
                "fd00:101::99/128",
                "fd00:101:fe::99/128",
                "10.101.251.7/32",
                "192.0.2.66/32",
                "2001:db8:bad::1/128",
            ],
            shared: &["10.101.250.7/32", "fd00:101:250::7/128", "10.101.250.128/25"],
            own: [
                &["10.101.250.11/32", "fd00:101:250::11/128"],
                &["10.101.250.21/32", "fd00:101:250::21/128"],
            ],
        };
        Scene::new(
            &text,
            [("solcp01", RootFileSystem::Trixie), ("solwk01", RootFileSystem::Own)],
            &["pve"],
            spoken,
        )
        .holds();
    });
}
