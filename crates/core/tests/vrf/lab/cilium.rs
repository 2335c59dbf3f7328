//! Cilium in a VRF, behind a gateway that accepts nodes from a range, itself in a VRF: the example.

use super::scene::{Scene, Spoken};
use crate::common::lab::Root;
use crate::common::vm;

/// What is allowed may be more than an address here.
const SPOKEN: Spoken = Spoken {
    shared: &["10.101.250.7/32", "fd00:101:250::7/128", "10.101.250.128/25"],
    own: &["10.101.250.11/32", "fd00:101:250::21/128"],
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
};

#[test]
fn service_addresses_of_both_families_leave_a_vrf_for_that_of_a_gateway() {
    vm::inside(|| {
        let example = include_str!("../../../../../examples/cilium/ichor.yaml");
        let old = example.replace("name: solwk01,", "name: solwk01, routing: {version: 8.4},");
        let nodes = [("solcp01", Root::Trixie), ("solwk01", Root::Own)];

        Scene::new(&old, &nodes, &["pve"], SPOKEN).holds();
    });
}
