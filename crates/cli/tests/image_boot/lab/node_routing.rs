//! BGP on real Talos between two leafs, before installation: sessions, links and default routes, and routes during a planned restart.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::pair::{ADDRESS, LeafPair};
use super::rack::extension;
use super::release::TALOS_1_14;
use super::vm::TalosVm;
use ichor_testbed::frr::Frr;

/// The specs of the node's resources of a kind, by ID.
fn specs(vm: &TalosVm<'_>, kind: &str) -> Vec<(String, Value)> {
    let name = |it: &Value| it["metadata"]["id"].as_str().unwrap().to_owned();
    vm.resources(ADDRESS, kind).into_iter().map(|mut it| (name(&it), it["spec"].take())).collect()
}

/// Protocol and ports of every default route of the node.
fn default_routes(vm: &TalosVm<'_>) -> BTreeSet<(String, String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_default =
        |it: &Value| it["table"] == "main" && ["", "0.0.0.0/0", "::/0"].contains(&text(&it["dst"]).as_str());
    let routes = specs(vm, "routes").into_iter().map(|(_, spec)| spec).filter(is_default);
    let ports = |spec: &Value| -> Vec<String> {
        let hops = spec["nextHops"].as_array().filter(|hops| !hops.is_empty());
        let mut ports: Vec<_> = hops.map_or_else(
            || vec![text(&spec["outLinkName"])],
            |hops| hops.iter().map(|hop| text(&hop["outLinkName"])).collect(),
        );
        ports.sort();
        ports
    };
    routes.map(|spec| (text(&spec["family"]), text(&spec["protocol"]), ports(&spec))).collect()
}

/// Verifies sessions, default routes and the link to the load balancer, whose speaker does not run yet.
fn verify_routing(pair: &LeafPair, vm: &TalosVm<'_>, link: &[(&str, &str)]) {
    let status = pair.ichor("status");
    let node = &status["nodes"][0];
    assert_eq!(node["stage"], "maintenance", "{status:#}");
    let sessions = node["sessions"].as_array().unwrap_or_else(|| panic!("{status:#}"));
    let is_up = |role: &str| {
        let of_role = sessions.iter().filter(|it| it["peer_role"] == role);
        of_role.map(|it| it["established"] == true).collect::<Vec<_>>()
    };
    assert_eq!((is_up("fabric"), is_up("load_balancer")), (vec![true, true], vec![false]), "{status:#}");

    // One of each family by both leafs: their router advertisements must not add others.
    let routes = default_routes(vm);
    let found: Vec<_> = routes.iter().map(|(family, _, ports)| (family.as_str(), ports.concat())).collect();
    assert_eq!(found, ["inet4", "inet6"].map(|family| (family, "eth0eth1".to_owned())), "{routes:#?}");
    assert!(routes.iter().all(|(_, protocol, _)| protocol != "ra"), "{routes:#?}");

    let addresses: BTreeSet<_> = specs(vm, "addresses").into_iter().map(|(id, _)| id).collect();
    for (interface, address) in link {
        assert!(addresses.contains(&format!("{interface}/{address}")), "{addresses:#?}");
    }
    let links = specs(vm, "links");
    if let Some((_, vrf)) = links.iter().find(|(_, spec)| spec["kind"] == "vrf") {
        let ours = links.iter().find(|(id, _)| id == "frr-metallb");
        assert_eq!(ours.map(|(_, spec)| &spec["masterIndex"]), Some(&vrf["index"]), "{links:#?}");
    }
}

/// Edits `ExtensionServiceConfig`, for which Talos restarts the service: the leafs must keep the node's routes.
fn survives_edit(pair: &LeafPair, vm: &TalosVm<'_>) {
    let configuration = pair.change("  asn: 65000", "  asn: 65000\n  agent: {log: debug}");

    let log = pair.routes_during_restart(|| vm.apply(ADDRESS, &configuration));

    let gap = log.longest_gap();
    println!(
        "document edited: sessions and routes complete after {:.3} s, longest time without a route {:.3} s",
        log.elapsed().as_secs_f64(),
        gap.as_secs_f64()
    );
    assert_eq!(gap, Duration::ZERO, "{}", vm.console());
}

/// The link to the load balancer in a VRF.
const VRF_LINK: [(&str, &str); 2] =
    [("frr-metallb", "fda1:b2c3:d4e5:1::/127"), ("metallb-frr", "fda1:b2c3:d4e5:1::1/127")];

#[test]
fn talos_1_14_keeps_routes_of_frr_with_a_vrf_when_its_document_is_edited() {
    let routing = "backend: frr\n  workload: {speaker: metallb}\nimage: {registry: ghcr.io/example/talos}";
    let pair = LeafPair::new(TALOS_1_14, routing, Frr::V10);
    let vm = pair.boot(&[extension()]);

    verify_routing(&pair, &vm, &VRF_LINK);
    survives_edit(&pair, &vm);
}

#[test]
fn talos_1_14_routes_by_its_own_bgp_with_a_vrf() {
    let pair = LeafPair::new(TALOS_1_14, "backend: native\n  workload: {speaker: metallb}", Frr::V8);
    let vm = pair.boot(&[]);

    verify_routing(&pair, &vm, &VRF_LINK);
}
