//! Findings of single rules on clusters of a few lines.

use ichor_core::rules::{self, Finding, clash};

/// The messages of one rule on a cluster.
fn messages(rule: &str, text: &str) -> Vec<String> {
    findings(rule, text).into_iter().map(|finding| finding.issue.message).collect()
}

/// The findings of one rule on a cluster.
fn findings(rule: &str, text: &str) -> Vec<Finding> {
    ichor_testbed::findings_of_text(text).into_iter().filter(|finding| finding.rule.id == rule).collect()
}

/// The path and message of each finding of one rule on [`CLUSTER`] with these lines.
fn paths_and_messages(rule: &str, text: &str) -> Vec<(String, String)> {
    let found = findings(rule, &format!("{CLUSTER}{text}"));
    found.into_iter().map(|finding| (finding.issue.subject, finding.issue.message)).collect()
}

const CLUSTER: &str = "cluster: {name: sol, id: 1, talos: v1.13.9}\n";
const NODE: &str = "nodes: [{name: solcp01, role: controlplane, index: 11}]\n";

#[test]
fn an_index_used_twice_is_reported_once() {
    let text = "routing: {neighbors: [{link: eth0}]}
defaults: {vm: {first_id: 300}}
nodes: [{name: a, role: controlplane, index: 11}, {name: b, index: 11}]";

    let ids: Vec<_> = ichor_testbed::findings_of_text(&format!("{CLUSTER}{text}"))
        .iter()
        .map(|finding| finding.rule.id)
        .collect();

    assert!(ids.contains(&"duplicate-index"));
    for id in
        ["duplicate-address", "duplicate-asn", "duplicate-mac", "duplicate-router-id", "duplicate-vm-id"]
    {
        assert!(!ids.contains(&id), "{id}");
    }
}

#[test]
fn a_thousand_nodes_without_index_are_one_finding() {
    let nodes: Vec<_> = (0..1000).map(|nth| format!("{{name: n{nth}}}")).collect();

    let reported = messages("not-derivable", &format!("{CLUSTER}nodes: [{}]", nodes.join(", ")));

    assert_eq!(
        reported,
        [
            "`network.node.v4` and `network.node.v6` of n0, n1, n2 and 997 more cannot be derived without `index`"
        ]
    );
}

#[test]
fn hundreds_of_duplicates_are_summarised() {
    let nodes: Vec<_> = (0..600).map(|nth| format!("{{name: n{nth}, index: {}}}", nth / 2 + 1)).collect();

    let reported = messages("duplicate-index", &format!("{CLUSTER}nodes: [{}]", nodes.join(", ")));

    assert_eq!(reported.len(), 51);
    assert!(reported.iter().any(|message| message == "and 250 more duplicate values"), "{reported:?}");
}

#[test]
fn an_overlap_with_talos_default_networks_proposes_another_prefix() {
    let nodes = "nodes: [{name: a, role: controlplane, index: 11}]";

    let services =
        messages("prefix-overlap", &format!("cluster: {{name: sol, id: 101, talos: v1.13.9}}\n{nodes}"));
    let pods =
        messages("prefix-overlap", &format!("cluster: {{name: sol, id: 244, talos: v1.13.9}}\n{nodes}"));

    assert_eq!(
        services,
        ["Talos' default service network 10.96.0.0/12 (10.96.0.0 to 10.111.255.255) contains \
          `network.node.v4` 10.101.0.0/24; write `cluster.services: [172.20.0.0/16]`"]
    );
    assert!(pods[0].starts_with("Talos' default pod network 10.244.0.0/16"), "{pods:?}");
}

#[test]
fn loopbacks_pools_nodes_and_the_overlay_must_not_overlap() {
    let text = "network:
  node: {v4: 100.64.0.0/16}
  loopback: {v4: 100.64.254.0/24}
  services: {pools: {default: [100.64.250.0/24]}}
routing: {}
overlay: {tailscale: {key: {env: TS_KEY}}}
nodes: [{name: a, role: controlplane, index: 11}]";

    let reported = messages("prefix-overlap", &format!("{CLUSTER}{text}"));

    for message in [
        "`network.loopback.v4` 100.64.254.0/24 is inside `network.node.v4` 100.64.0.0/16",
        "`network.services.pools.default` 100.64.250.0/24 is inside `network.node.v4` 100.64.0.0/16",
        "`network.node.v4` 100.64.0.0/16 is inside the overlay's 100.64.0.0/10",
    ] {
        assert!(reported.iter().any(|reported| reported == message), "{message}: {reported:?}");
    }
}

#[test]
fn kubernetes_networks_must_be_large_enough() {
    let with = |networks: &str| {
        let nodes = "nodes: [{name: a, index: 1}, {name: b, index: 2}, {name: c, index: 3}]";
        messages(
            "prefix-too-small",
            &format!("cluster: {{name: sol, id: 1, talos: v1.13.9, {networks}}}\n{nodes}"),
        )
    };

    assert!(with("pods: [10.244.0.0/22], services: [172.20.0.0/28]").is_empty());
    assert_eq!(
        with("pods: [10.244.0.0/23]"),
        ["10.244.0.0/23 has 2 subnets of /24, one for each node, but there are 3 nodes"]
    );
    assert!(with("pods: [10.244.0.0/23], cni: none").is_empty());
    assert_eq!(
        with("services: [172.20.0.0/29]"),
        ["172.20.0.0/29 is too small: cluster DNS uses its 10th address"]
    );
}

#[test]
fn a_silenced_clash_is_not_reported_as_unused_in_a_single_file() {
    let silence = "silence: [{rule: clash-node-name, why: two labs}]\n";
    let text = format!("{CLUSTER}{silence}nodes: [{{name: cp01, role: controlplane, index: 11}}]");
    let (one, one_plan) = ichor_testbed::planned(ichor_testbed::load_text(
        "{cluster: {name: lab, id: 2, talos: v1.13.9}, nodes: [{name: cp01, index: 1}]}",
    ));
    let (other, other_plan) = ichor_testbed::planned(ichor_testbed::load_text(text.as_str()));

    let clashes = clash::compare(&[("lab.yaml", &one, &one_plan), ("sol.yaml", &other, &other_plan)]);

    assert!(messages("silence-unused", &text).is_empty());
    let [(1, clash)] = &clashes[..] else { panic!("{clashes:?}") };
    assert_eq!(clash.issue.message, "lab.yaml also has a node cp01");
    assert_eq!(clash.silenced.as_deref(), Some("two labs"));
}

#[test]
fn a_silence_at_the_speaker_covers_its_default_and_its_written_number() {
    let silence = "silence: [{rule: asn-public, at: routing.workload, why: the numbers of the old fabric}]\n";
    for (workload, path) in [
        ("{speaker: metallb}", "routing.workload"),
        ("{speaker: metallb, asn: {theirs: 4000099999}}", "routing.workload.asn.theirs"),
    ] {
        let text = format!("routing: {{neighbors: [{{link: eth0}}], workload: {workload}}}\n{NODE}{silence}");

        let found = findings("asn-public", &format!("{CLUSTER}{text}"));

        assert_eq!(found.len(), 1);
        assert_eq!(found[0].issue.subject, path);
        assert!(found[0].silenced.is_some());
    }
}

#[test]
fn a_public_as_number_of_a_neighbour_is_accepted() {
    let text =
        format!("routing: {{neighbors: [{{address: 10.1.0.1, asn: 3320, password: {{env: PW}}}}]}}\n{NODE}");

    assert_eq!(paths_and_messages("asn-public", &text), []);
}

#[test]
fn a_finding_that_many_nodes_share_is_reported_once() {
    let nodes: Vec<_> = (1..=5).map(|nth| format!("{{name: n{nth}, index: {nth}}}")).collect();
    let text = format!("routing: {{neighbors: [{{link: fab7}}]}}\nnodes: [{}]", nodes.join(", "));

    let reported = paths_and_messages("neighbor-link-unknown", &text);

    assert_eq!(
        reported,
        [("routing.neighbors[0]".to_owned(), "n1, n2, n3 and 2 more have no link fab7".to_owned())]
    );
}

#[test]
fn a_finding_is_reported_at_the_layer_that_has_the_key() {
    let on = |layer: &str| {
        let text = format!("{layer}\nfabric: {{routers: [{{name: leaf1, asn: 65101}}]}}\n");
        paths_and_messages("timers-invalid", &text).into_iter().map(|(path, _)| path).collect::<Vec<_>>()
    };
    let bad = "routing: {neighbors: [{link: eth0, timers: [9, 3]}]}";

    assert_eq!(on(&format!("{bad}\n{NODE}")), ["routing.neighbors[0].timers"]);
    assert_eq!(on(&format!("defaults: {{{bad}}}\n{NODE}")), ["defaults.routing.neighbors[0].timers"]);
    assert_eq!(
        on(&format!("roles: {{controlplane: {{{bad}}}}}\n{NODE}")),
        ["roles.controlplane.routing.neighbors[0].timers"]
    );
    assert_eq!(
        on(&format!("sites: {{berlin: {{{bad}}}}}\nnodes: [{{name: n1, index: 1, site: berlin}}]")),
        ["sites.berlin.routing.neighbors[0].timers"]
    );
    assert_eq!(
        on(&format!("groups: {{edge: {{{bad}}}}}\nnodes: [{{name: n1, index: 1, groups: [edge]}}]")),
        ["groups.edge.routing.neighbors[0].timers"]
    );
    assert_eq!(
        on(&format!("nodes: [{{name: n1, index: 1, {bad}}}]")),
        ["nodes.n1.routing.neighbors[0].timers"]
    );
}

#[test]
fn a_session_derived_from_the_fabric_is_reported_at_its_router() {
    let text = format!(
        "routing: {{}}\nfabric: {{routers: [{{name: gw1, role: gateway, asn: 65101, software: other, \
         addresses: [\"fd00:1::fffe\"]}}]}}\n{NODE}"
    );

    assert_eq!(paths_and_messages("extended-nexthop-unknown", &text)[0].0, "fabric.routers.gw1");
}

#[test]
fn a_neighbour_at_the_address_of_a_router_is_that_router() {
    let text = format!(
        "fabric: {{routers: [{{name: gw1, role: gateway, asn: 65101, extended_nexthop: true, \
         addresses: [\"fd00:1::fffe\"]}}]}}\n\
         routing: {{neighbors: [{{address: \"fd00:1::fffe\", asn: 65101}}]}}\n{NODE}"
    );

    assert_eq!(paths_and_messages("extended-nexthop-unknown", &text), []);
}

#[test]
fn a_node_with_different_options_is_reported_separately() {
    let text = "routing: {neighbors: [{link: eth0}], version: 10.3}\n\
                nodes:\n  - {name: n1, index: 1}\n  - {name: n2, index: 2, routing: {daemons: {bgpd: [\"-P 2605\"]}}}\n  \
                - {name: n3, index: 3}\n";

    let reported = paths_and_messages("vty-open", text);

    assert_eq!(reported.len(), 1);
    assert_eq!(reported[0].0, "nodes.n2.routing.daemons.bgpd");
}

#[test]
fn a_default_route_from_cilium_is_rejected_even_if_the_file_allows_it() {
    let text = format!(
        "routing: {{neighbors: [{{link: eth0}}], workload: {{speaker: cilium, allow: [0.0.0.0/0]}}}}\n{NODE}"
    );

    assert_eq!(
        paths_and_messages("allow-around-fabric", &text)[0].1,
        "0.0.0.0/0 allows everything, but default routes and the cluster's own prefixes are rejected"
    );
    assert_eq!(paths_and_messages("allow-fabric", &text), []);
}

#[test]
fn a_pool_in_the_node_network_is_accepted_only_without_routing() {
    let with = |pool: &str, routing: &str| {
        let network =
            format!("network: {{node: {{v4: 192.168.10.0/24}}, services: {{pools: {{p: [{pool}]}}}}}}\n");
        messages("prefix-overlap", &format!("{CLUSTER}{network}{routing}{NODE}"))
    };

    assert!(with("192.168.10.240/28", "").is_empty());
    assert_eq!(with("192.168.10.240/28", "routing: {neighbors: [{link: eth0}]}\n").len(), 1);
    assert_eq!(
        with("192.168.10.0/28", ""),
        ["`network.services.pools.p` 192.168.10.0/28 contains 192.168.10.11 (solcp01)"]
    );
    assert_eq!(with("192.168.10.0/24", "").len(), 1);
}

#[test]
fn a_missing_prefix_length_is_reported() {
    let two = "nodes: [{name: a, role: controlplane, index: 11}, {name: b, index: 12}]";

    let reported =
        messages("prefix-host-bits", &format!("{CLUSTER}network: {{node: {{v4: 192.168.10.0}}}}\n{two}"));

    assert_eq!(
        reported,
        [
            "192.168.10.0 gives 2 nodes the same address 192.168.10.0; the prefix length, such as /24, is missing"
        ]
    );
}

#[test]
fn a_file_without_nodes_is_reported() {
    assert_eq!(
        paths_and_messages("no-control-plane", "nodes: []"),
        [("nodes".to_owned(), "the file has no nodes".to_owned())]
    );
}

#[test]
fn a_misspelt_rule_in_silence_suggests_the_nearest_one() {
    let text = format!("silence: [{{rule: asn-publik, why: so}}]\n{NODE}");

    assert_eq!(
        paths_and_messages("silence-unused", &text)[0].1,
        "unknown rule `asn-publik`; did you mean `asn-public`?"
    );
}

#[test]
fn only_manifests_may_be_named_by_a_pattern() {
    let cluster = "cluster: {name: sol, id: 1, talos: v1.13.9, manifests: [\"m/*.yaml\"]}\n";

    let reported =
        messages("file-missing", &format!("{cluster}defaults: {{patches: [\"p/*.yaml\"]}}\n{NODE}"));

    assert_eq!(reported, ["cannot read p/*.yaml: not here; patterns with `*` are not supported here"]);
}

#[test]
fn a_kernel_argument_with_a_secret_is_named_without_its_value() {
    for arg in ["talos.config=https://u:pw@x/?token=abc", "ts.authkey=tskey-auth-abc", "bmc.password=abc"] {
        let text = format!("image: {{source: factory}}\ndefaults: {{kernel: {{args: [\"{arg}\"]}}}}\n{NODE}");
        let name = arg.split('=').next().unwrap();

        let reported = paths_and_messages("boot-carrier-secret", &text);

        let want =
            format!("{name} contains a secret, and kernel arguments are part of the schematic (solcp01)");
        assert_eq!(reported, [("defaults.kernel.args".to_owned(), want)]);
    }
}

#[test]
fn a_duplicate_is_marked_at_its_written_value() {
    let text = "routing: {neighbors: [{link: eth0}]}
nodes:
  - {name: a, role: controlplane, index: 1, routing: {router_id: 10.255.1.2}}
  - {name: b, index: 2}
  - {name: c, index: 3, routing: {asn: 4210001002}}
";

    assert_eq!(paths_and_messages("duplicate-router-id", text)[0].0, "nodes.a.routing.router_id");
    assert_eq!(paths_and_messages("duplicate-asn", text)[0].0, "nodes.c.routing.asn");
    let shared = text.replace("{link: eth0}", "{address: 10.1.0.1, asn: 65000}");
    assert_eq!(paths_and_messages("asn-behind-reflector", &shared)[0].0, "nodes.c.routing.asn");
}

#[test]
fn a_virtual_machine_below_the_minimum_is_reported() {
    let text = format!("defaults: {{vm: {{cores: 0, memory: 1GiB, disk: 4GiB}}}}\n{NODE}");

    let messages: Vec<_> =
        paths_and_messages("vm-too-small", &text).into_iter().map(|(_, message)| message).collect();

    assert_eq!(
        messages,
        [
            "a control plane needs 2 cores, not 0 (solcp01)",
            "a control plane needs 2GiB, not 1GiB (solcp01)",
            "a control plane needs 10GiB, not 4GiB (solcp01)"
        ]
    );
    assert_eq!(paths_and_messages("vm-hypervisor", &text)[0].1, "the file has no hypervisor (solcp01)");
}

#[test]
fn the_locations_of_secrets_are_known() {
    let text =
        format!("{CLUSTER}defaults: {{kernel: {{args: [quiet, \"talos.config=https://u:pw@x/\"]}}}}\n{NODE}");
    let (cluster, _) = ichor_testbed::planned(ichor_testbed::load_text(text));

    let places: Vec<_> = rules::secret_locations(&cluster)
        .iter()
        .map(|place| (place.line, place.column, place.length))
        .collect();

    assert_eq!(places, [(2, 35, 30)]);
}
