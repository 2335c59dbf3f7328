//! The configuration of routers and of speakers in Kubernetes.

use ichor_core::render::artifact::Artifact;
use ichor_testbed::fabric::{cases, files, files_of};

#[test]
fn the_same_input_gives_the_same_bytes() {
    for case in cases() {
        assert!(files(&case) == files(&case), "{}", case.display());
    }
}

/// Nodes around the router `gw`, with the given keys and sessions.
fn around(router: &str, nodes: &str) -> String {
    format!(
        "cluster: {{name: a, id: 1, talos: v1.13.9}}\n\
         fabric: {{routers: [{{name: gw, role: gateway, asn: 65001, addresses: [\"fd00:1::fffe\"], {router}}}]}}\n\
         routing: {{backend: frr, neighbors: [{{router: gw}}]}}\nnodes: [{nodes}]"
    )
}

fn text_of(files: &[Artifact], path: &str) -> String {
    files
        .iter()
        .find(|file| file.path == path)
        .unwrap_or_else(|| panic!("{path}: {files:#?}"))
        .text()
        .unwrap()
        .to_owned()
}

#[test]
fn a_listen_range_covers_equal_nodes_and_others_are_listed() {
    let nodes = "{name: b, index: 1}, {name: c, index: 2}, \
                 {name: d, index: 3, routing: {neighbors: [{router: gw, timers: [1, 3]}]}}, \
                 {name: e, index: 4, routing: {neighbors: [{router: gw, passive: true}]}}";

    let files = files_of(&around("listen: \"fd00:1::/64\"", nodes)).unwrap();

    let conf = text_of(&files, "fabric/gw/frr.conf");
    assert!(conf.contains("bgp listen range fd00:1::/64 peer-group NODES\n"), "{conf}");
    assert!(!conf.contains("neighbor fd00:1::1 ") && !conf.contains("neighbor fd00:1::2 "), "{conf}");
    assert!(conf.contains("neighbor fd00:1::3 peer-group NODES-2\n"), "{conf}");
    assert!(conf.contains("neighbor fd00:1::4 peer-group NODES\n"), "one that waits must be called: {conf}");
}

#[test]
fn a_node_with_a_mikrotiks_as_number_is_an_ibgp_peer() {
    let nodes = "{name: b, index: 1, routing: {asn: 65001}}, {name: c, index: 2, routing: {asn: 65002}}";

    let files = files_of(&around("software: routeros, version: 7.24", nodes)).unwrap();

    let script = text_of(&files, "fabric/gw/config.rsc");
    let role = |name: &str| {
        let line = script.lines().find(|line| line.contains(&format!(" name=a-{name} "))).unwrap();
        line.split(' ').find_map(|word| word.strip_prefix("local.role=")).unwrap()
    };
    assert_eq!((role("b"), role("c")), ("ibgp", "ebgp"));
}

/// FRR: "Peer-group members must be all internal or all external".
#[test]
fn a_node_with_the_routers_as_number_is_in_another_group() {
    let nodes = "{name: b, index: 1, routing: {asn: 65001}}, {name: c, index: 2, routing: {asn: 65002}}";

    let listed = files_of(&around("", nodes)).unwrap();
    let ranged = files_of(&around("listen: \"fd00:1::/64\"", nodes)).unwrap();

    let listed = text_of(&listed, "fabric/gw/frr.conf");
    assert!(
        listed.contains(" neighbor fd00:1::1 remote-as 65001\n neighbor fd00:1::1 peer-group NODES\n"),
        "{listed}"
    );
    assert!(
        listed.contains(" neighbor fd00:1::2 remote-as 65002\n neighbor fd00:1::2 peer-group NODES-2\n"),
        "{listed}"
    );
    let ranged = text_of(&ranged, "fabric/gw/frr.conf");
    assert!(ranged.contains(" neighbor NODES remote-as internal\n"), "{ranged}");
    assert!(
        ranged.contains(" neighbor fd00:1::2 remote-as 65002\n neighbor fd00:1::2 peer-group NODES-2\n"),
        "{ranged}"
    );
}

#[test]
fn a_node_with_an_unknown_address_needs_a_listen_range() {
    let leased = "network: {node: {addressing: dhcp}}";
    let nodes = format!(
        "{{name: b, index: 1}}, {{name: c, index: 2, {leased}, routing: {{neighbors: [{{router: gw, timers: [1, 3]}}]}}}}"
    );

    let without = files_of(&around("", &nodes)).unwrap_err().join("\n");
    let other = files_of(&around("listen: \"fd00:1::/64\"", &nodes)).unwrap_err().join("\n");
    let alone = files_of(&around("listen: \"fd00:1::/64\"", &format!("{{name: c, index: 2, {leased}}}")));

    assert!(
        without.contains("fabric.routers.gw: c has its address from DHCP")
            && without.contains("set `listen`"),
        "{without}"
    );
    assert!(other.contains("others have another password"), "{other}");
    assert!(text_of(&alone.unwrap(), "fabric/gw/frr.conf").contains("bgp listen range"));
}

#[test]
fn the_listen_limit_of_frr_is_raised_for_many_sessions() {
    let nodes: Vec<_> = (1..=60).map(|nth| format!("{{name: n{nth}, index: {nth}}}")).collect();

    let files = files_of(&around("listen: \"fd00:1::/64\"", &nodes.join(", "))).unwrap();

    assert!(text_of(&files, "fabric/gw/frr.conf").contains(" bgp listen limit 120\n"));
}

#[test]
fn a_proxmox_zone_has_only_supported_settings() {
    let zone = |more: &str| files_of(&around(&format!("vrf: vrf_zone, {more}"), "{name: b, index: 1}"));

    let files = zone("bfd: false").unwrap();
    let refused = zone("bfd: {interval: 100, multiplier: 5}").unwrap_err().join("\n");
    let strange = files_of(&around("vrf: \"two words\"", "{name: b, index: 1}")).unwrap_err().join("\n");
    let other = files_of(&around("vrf: blue", "{name: b, index: 1}")).unwrap();

    let added = text_of(&files, "fabric/gw/frr.conf.local");
    let known =
        ["ip prefix-list ", "ipv6 prefix-list ", "route-map ", "router bgp 65001 vrf vrf_zone", "exit", "! "];
    for line in added.lines().filter(|line| !line.starts_with(' ')) {
        assert!(known.iter().any(|start| line.starts_with(start)), "{line}");
    }
    assert!(!added.contains("router-id"), "Proxmox has said it");
    assert!(refused.contains("fabric.routers.gw.bfd: Proxmox SDN drops the BFD profiles"), "{refused}");
    assert!(strange.contains("fabric.routers.gw.vrf: the name of a VRF"), "{strange}");
    assert!(!other.iter().any(|file| file.path.ends_with("frr.conf.local")));
}

#[test]
fn world_readable_files_have_no_password() {
    for case in cases() {
        for file in files(&case).iter().filter(|file| !file.private) {
            assert!(
                !file.text().unwrap().contains(ichor_testbed::routing::PASSWORD),
                "{} {}",
                case.display(),
                file.path
            );
        }
    }
}

#[test]
fn metallbs_frr_has_extended_next_hop_where_all_nodes_have() {
    let text = |mode: &str, more: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\n\
             routing: {{backend: frr, neighbors: [{{link: eth0}}], workload: {{speaker: metallb, metallb: {{mode: {mode}}}}}}}\n\
             nodes: [{{name: b, index: 1}}{more}]"
        )
    };
    let manifest = |text: &str| text_of(&files_of(text).unwrap(), "manifests/metallb.yaml");

    let frr = manifest(&text("frr", ""));
    let k8s = manifest(&text("frr-k8s", ", {name: c, index: 2, routing: null}"));
    let refused = files_of(&text("frr", ", {name: c, index: 2, routing: null}")).unwrap_err().join("\n");

    assert!(
        frr.contains("name: bgpextras")
            && frr.contains(" neighbor fda1:b2c3:d4e5:1:: capability extended-nexthop")
    );
    assert!(k8s.contains("kind: FRRConfiguration") && k8s.contains("nodeSelector:"), "{k8s}");
    assert!(refused.contains("use `mode: frr-k8s`"), "{refused}");
}

#[test]
fn routeros_before_7_is_rejected() {
    let refused = files_of(&around("software: routeros, version: 6.49", "{name: b, index: 1}")).unwrap_err();
    let other = files_of(&around("software: other, version: 6.49", "{name: b, index: 1}")).unwrap();

    assert!(refused[0].contains("fabric.routers.gw.version: ichor supports RouterOS 7"), "{refused:?}");
    assert!(!other.iter().any(|file| file.path.starts_with("fabric/gw/")));
}
