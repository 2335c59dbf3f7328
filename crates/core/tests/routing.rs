//! The BGP model of a node, and the configuration of routing daemons.

use ichor_bgp::model::{BgpModel, Family};
use ichor_bgp::render::SecretError;
use ichor_testbed::routing::{cases, documents, model, routed, service_of, service_with, services};
use ipnet::IpNet;

/// The model of the only node of a text.
fn model_of(text: &str) -> BgpModel {
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));
    model(&cluster, &plan, &plan.nodes[0])
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for case in cases() {
        assert!(services(&case) == services(&case), "{}", case.display());
        assert!(documents(&case) == documents(&case), "{}", case.display());
    }
}

#[test]
fn the_speakers_filter_rejects_default_routes_and_prefixes_of_the_cluster() {
    for case in cases() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        for node in routed(&plan) {
            let model = model(&cluster, &plan, node);
            let Some(workload) = model.workload else { continue };
            let own = node.loopback.iter().chain(node.address.iter()).map(|(net, _)| net);
            let announced = model.fabric.announced.iter().map(|announced| announced.net);
            let all = own.chain(announced).chain(Family::ALL.map(Family::everything));
            for net in all {
                let name = case.display();
                assert!(!workload.filter.admits(net.trunc()), "{name} {}: {net}", node.name);
                assert!(
                    !workload.filter.admits(IpNet::from(net.addr())) || net.prefix_len() == 0,
                    "{name}: {net}"
                );
            }
        }
    }
}

#[test]
fn metallb_announces_single_addresses_of_pools_and_cilium_all_prefixes() {
    let text = |workload: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\n\
             network: {{services: {{pools: {{default: [198.51.100.0/24]}}}}}}\n\
             routing: {{backend: frr, workload: {workload}}}\nnodes: [{{name: a, index: 1}}]"
        )
    };
    let filter = |workload| model_of(&text(workload)).workload.unwrap().filter;

    let metallb = filter("{speaker: metallb}");
    let wider = filter("{speaker: metallb, allow: [192.0.2.0/24]}");
    let cilium = filter("{speaker: cilium}");
    let narrow = filter("{speaker: cilium, allow: [10.200.0.0/16]}");

    assert!(metallb.admits(net("198.51.100.7/32")) && !metallb.admits(net("198.51.100.0/24")));
    assert!(!metallb.admits(net("192.0.2.7/32")) && !metallb.admits(net("2001:db8::1/128")));
    assert!(wider.admits(net("192.0.2.0/24")) && !wider.admits(net("198.51.100.7/32")));
    assert!(cilium.admits(net("10.244.3.0/24")) && cilium.admits(net("2001:db8::/64")));
    assert!(narrow.admits(net("10.200.3.0/24")) && !narrow.admits(net("10.244.3.0/24")));
}

#[test]
fn a_session_has_the_families_that_it_supports() {
    let text = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
                fabric: {routers: [{name: old, asn: 65001, addresses: [\"fd00:1::fffe\"], extended_nexthop: false}]}\n\
                routing: {backend: frr, neighbors: [{link: eth0}, {address: 10.1.0.1, asn: 65001}, {router: old}]}\n\
                nodes: [{name: a, index: 1}]";

    let model = model_of(text);

    let families: Vec<_> =
        model.fabric.neighbors.iter().map(|neighbor| neighbor.families.as_slice()).collect();
    assert_eq!(families, [&Family::ALL[..], &[Family::V4], &[Family::V6]]);
}

#[test]
fn a_dhcp_address_is_not_a_source_address() {
    let text = |addressing: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\nnetwork: {{node: {{addressing: {addressing}}}}}\n\
             routing: {{backend: frr, neighbors: [{{address: \"fd00:1::fffe\", asn: 65001}}]}}\n\
             nodes: [{{name: a, index: 1}}]"
        )
    };

    let fixed = service_of(&text("static")).unwrap();
    let leased = service_of(&text("dhcp-then-static")).unwrap();

    assert!(fixed.files[0].text.contains("update-source fd00:1::1\n"));
    assert!(!leased.files[0].text.contains("update-source"));
}

#[test]
fn settings_that_frr_does_not_support_are_rejected() {
    let text = |routing: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\nrouting: {{backend: frr, {routing}}}\n\
             nodes: [{{name: a, index: 1}}]"
        )
    };
    let refused = |routing: &str| service_of(&text(routing)).err().unwrap_or_default().join("\n");

    let old = refused("version: 7.5");
    let two = refused("version: 8.4, daemons: {mgmtd: [-t], zebra: [\"-s 5\"]}");
    let nowhere =
        refused("version: 8.4, neighbors: [{link: eth0}], workload: {speaker: cilium, isolation: none}");

    assert!(old.contains("routing.version: FRR 7.5"), "{old}");
    assert!(
        two.contains("`mgmtd` does not run here") && two.contains("`-s 5` is not a single word"),
        "{two}"
    );
    assert!(nowhere.contains("use `isolation: vrf`"), "{nowhere}");
}

#[test]
fn the_nodes_as_number_toward_the_speaker_is_not_a_local_as() {
    let text = |asn: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\n\
             routing: {{backend: frr, asn: 64512, neighbors: [{{link: eth0}}], \
             workload: {{speaker: metallb, asn: {{ours: {asn}, theirs: 65001}}}}}}\nnodes: [{{name: a, index: 1}}]"
        )
    };

    let own = service_of(&text("64513")).unwrap();
    let other = service_of(&text("65000")).unwrap();

    assert!(!own.files[0].text.contains("local-as"), "{}", own.files[0].text);
    assert!(other.files[0].text.contains("local-as 65000 no-prepend replace-as"), "{}", other.files[0].text);
}

#[test]
fn service_addresses_behind_a_namespace_do_not_loop_to_the_fabric() {
    let text = "cluster: {name: a, id: 1, talos: v1.13.9}\nnetwork: {loopback: {v4: 10.1.254.0/24, v6: null}}\n\
                routing: {backend: frr, neighbors: [{link: eth0}], workload: {speaker: metallb, isolation: netns}}\n\
                nodes: [{name: a, index: 1}]";

    let conf = service_of(text).unwrap().files[0].text.clone();

    for (ip, name, set) in
        [("ip", "SOURCE-ADDRESS-v4", " set src 10.1.254.1\n"), ("ipv6", "SOURCE-ADDRESS-v6", "")]
    {
        let map = format!(
            "route-map {name} deny 5\n match interface veth-a\nexit\nroute-map {name} permit 10\n{set}exit\n"
        );
        assert!(conf.contains(&map), "{conf}");
        assert!(conf.contains(&format!("\n{ip} protocol bgp route-map {name}\n")), "{conf}");
    }
}

#[test]
fn a_drained_node_keeps_its_sessions_and_announces_nothing() {
    for backend in ["frr", "bird", "gobgp"] {
        let text = |drain: &str| {
            format!(
                "cluster: {{name: a, id: 1, talos: v1.13.9}}\nnetwork: {{services: {{pools: {{default: [203.0.113.0/24]}}}}}}\n\
                 routing: {{backend: {backend}, neighbors: [{{link: eth0}}], workload: {{speaker: metallb}}}}\n\
                 nodes: [{{name: a, index: 1{drain}}}]"
            )
        };

        let (usual, drained) = (model_of(&text("")), model_of(&text(", drain: true")));

        assert!(!usual.fabric.announced.is_empty() && drained.fabric.announced.is_empty(), "{backend}");
        assert_eq!(drained.fabric.neighbors, usual.fabric.neighbors, "{backend}");
        assert!(!drained.workload.unwrap().filter.admits(net("203.0.113.7/32")), "{backend}");
        let file = |drain| service_of(&text(drain)).unwrap().files[0].text.clone();
        assert!(
            file("").contains("203.0.113.0/24") && !file(", drain: true").contains("203.0.113.0/24"),
            "{backend}"
        );
    }
}

#[test]
fn bgpd_of_frr_8_alone_keeps_ipv4_service_addresses_over_ipv6_from_zebra() {
    let file = |version: &str, more: &str| {
        let text = format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\n\
             routing: {{backend: frr, version: {version}, neighbors: [{{link: eth0}}], workload: {{speaker: metallb{more}}}}}\n\
             nodes: [{{name: a, index: 1}}]"
        );
        service_of(&text).unwrap().files[0].text.clone()
    };

    let (over_6, over_4, newer) = (file("8.4", ""), file("8.4", ", isolation: netns"), file("10.3", ""));

    let map = "bgp as-path access-list FROM-LOAD-BALANCER seq 5 permit ^4000099999_\n\
               route-map EXCLUDE-LOAD-BALANCER deny 5\n match as-path FROM-LOAD-BALANCER\nexit\nroute-map EXCLUDE-LOAD-BALANCER permit 10\nexit\n";
    assert!(over_6.contains(map), "{over_6}");
    assert!(over_6.contains(" address-family ipv4 unicast\n  table-map EXCLUDE-LOAD-BALANCER\n"), "{over_6}");
    assert_eq!(over_6.matches("table-map").count(), 1, "the fabric's instance alone: {over_6}");
    assert!(!over_4.contains("EXCLUDE-LOAD-BALANCER"), "{over_4}");
    assert!(!newer.contains("EXCLUDE-LOAD-BALANCER"), "{newer}");
}

#[test]
fn settings_that_gobgp_does_not_support_are_rejected() {
    let text = |routing: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.13.9}}\nrouting: {{backend: gobgp, {routing}}}\n\
             nodes: [{{name: a, index: 1}}]"
        )
    };
    let refused = |routing: &str| service_of(&text(routing)).err().unwrap_or_default().join("\n");

    let two = refused("version: 2.34, daemons: {gobgpd: [\"-l debug\"]}");

    assert!(
        two.contains("routing.version: GoBGP 2.34") && two.contains("`-l debug` is not a single word"),
        "{two}"
    );
}

#[test]
fn quotes_in_a_password_stay_inside_it_in_toml() {
    let text = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
                routing: {backend: gobgp, neighbors: [{link: eth0, password: {env: PW}}]}\nnodes: [{name: a, index: 1}]";
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));

    let service =
        service_with(&cluster, &plan, &plan.nodes[0], &|_| Ok("a\"b\\c".to_owned())).unwrap().unwrap();

    assert!(service.files[0].private);
    assert!(service.files[0].text.contains("auth-password = \"a\\\"b\\\\c\"\n"));
}

#[test]
fn a_password_cannot_add_lines_and_is_not_quoted() {
    let text = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
                routing: {backend: frr, neighbors: [{link: eth0, password: {env: PW}}]}\nnodes: [{name: a, index: 1}]";
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));
    let node = &plan.nodes[0];

    for bad in ["", "two words", "line\nno router bgp 1", &"x".repeat(81)] {
        let Err(refusals) = service_with(&cluster, &plan, node, &|_| Ok(bad.to_owned())) else {
            panic!("{bad}")
        };
        assert!(refusals[0].to_string().contains("1 to 80"));
        assert!(bad.is_empty() || !refusals[0].to_string().contains(bad));
    }
    let unknown =
        service_with(&cluster, &plan, node, &|_| Err(SecretError::new("the variable PW is not set")));
    assert_eq!(unknown.err().unwrap()[0].message, "the variable PW is not set");
}
