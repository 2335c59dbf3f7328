//! What one rule says of a cluster that is easier told in a few lines than kept as files, and where it says so.

use ichor_core::rules::{self, Finding, clash};

/// What one rule says of a cluster.
fn said(rule: &str, text: &str) -> Vec<String> {
    found(rule, text).into_iter().map(|finding| finding.message).collect()
}

/// What one rule finds in a cluster.
fn found(rule: &str, text: &str) -> Vec<Finding> {
    ichor_testbed::findings_of_text(text).into_iter().filter(|finding| finding.rule.id == rule).collect()
}

/// What one rule says of [`CLUSTER`] with these lines: under which path, and what.
fn told(rule: &str, text: &str) -> Vec<(String, String)> {
    let found = found(rule, &format!("{CLUSTER}{text}"));
    found.into_iter().map(|finding| (finding.path, finding.message)).collect()
}

const CLUSTER: &str = "cluster: {name: sol, id: 1, talos: v1.13.9}\n";
const NODE: &str = "nodes: [{name: solcp01, role: controlplane, index: 11}]\n";

#[test]
fn what_follows_from_one_index_is_told_once() {
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

    let said = said("not-derivable", &format!("{CLUSTER}nodes: [{}]", nodes.join(", ")));

    assert_eq!(
        said,
        [
            "`network.node.v4` and `network.node.v6` of n0, n1, n2 and 997 more cannot be derived without `index`"
        ]
    );
}

#[test]
fn hundreds_of_doubles_are_not_told_one_by_one() {
    let nodes: Vec<_> = (0..600).map(|nth| format!("{{name: n{nth}, index: {}}}", nth / 2 + 1)).collect();

    let said = said("duplicate-index", &format!("{CLUSTER}nodes: [{}]", nodes.join(", ")));

    assert_eq!(said.len(), 51);
    assert!(said.iter().any(|message| message == "and 250 more such values"), "{said:?}");
}

#[test]
fn talos_own_networks_are_named_and_another_proposed() {
    let nodes = "nodes: [{name: a, role: controlplane, index: 11}]";

    let services =
        said("prefix-overlap", &format!("cluster: {{name: sol, id: 101, talos: v1.13.9}}\n{nodes}"));
    let pods = said("prefix-overlap", &format!("cluster: {{name: sol, id: 244, talos: v1.13.9}}\n{nodes}"));

    assert_eq!(
        services,
        ["Talos' default service network 10.96.0.0/12 (10.96.0.0 to 10.111.255.255) swallows \
          `network.node.v4` 10.101.0.0/24; write `cluster.services: [172.20.0.0/16]`"]
    );
    assert!(pods[0].starts_with("Talos' default pod network 10.244.0.0/16"), "{pods:?}");
}

#[test]
fn loopbacks_pools_and_nodes_must_not_lie_in_each_other_or_in_the_overlay() {
    let text = "network:
  node: {v4: 100.64.0.0/16}
  loopback: {v4: 100.64.254.0/24}
  services: {pools: {default: [100.64.250.0/24]}}
routing: {}
overlay: {tailscale: {key: {env: TS_KEY}}}
nodes: [{name: a, role: controlplane, index: 11}]";

    let said = said("prefix-overlap", &format!("{CLUSTER}{text}"));

    for message in [
        "`network.loopback.v4` 100.64.254.0/24 lies in `network.node.v4` 100.64.0.0/16",
        "`network.services.pools.default` 100.64.250.0/24 lies in `network.node.v4` 100.64.0.0/16",
        "`network.node.v4` 100.64.0.0/16 lies in the overlay's 100.64.0.0/10",
    ] {
        assert!(said.iter().any(|said| said == message), "{message}: {said:?}");
    }
}

#[test]
fn kubernetes_networks_have_the_size_that_is_needed() {
    let with = |networks: &str| {
        let nodes = "nodes: [{name: a, index: 1}, {name: b, index: 2}, {name: c, index: 3}]";
        said(
            "prefix-too-small",
            &format!("cluster: {{name: sol, id: 1, talos: v1.13.9, {networks}}}\n{nodes}"),
        )
    };

    assert!(with("pods: [10.244.0.0/22], services: [172.20.0.0/28]").is_empty());
    assert_eq!(
        with("pods: [10.244.0.0/23]"),
        ["10.244.0.0/23 has 2 times a /24, of which each node is given one, for 3 nodes"]
    );
    assert!(with("pods: [10.244.0.0/23], cni: none").is_empty());
    assert_eq!(
        with("services: [172.20.0.0/29]"),
        ["172.20.0.0/29 is too small: the cluster's name server is the 10th address in it"]
    );
}

#[test]
fn a_clash_can_be_silenced_and_its_silence_is_not_unused_alone() {
    let silence = "silence: [{rule: clash-node-name, why: two labs}]\n";
    let text = format!("{CLUSTER}{silence}nodes: [{{name: cp01, role: controlplane, index: 11}}]");
    let (one, one_plan) = ichor_testbed::planned(ichor_testbed::load_text(
        "{cluster: {name: lab, id: 2, talos: v1.13.9}, nodes: [{name: cp01, index: 1}]}",
    ));
    let (other, other_plan) = ichor_testbed::planned(ichor_testbed::load_text(text.as_str()));

    let clashes = clash::across(&[("lab.yaml", &one, &one_plan), ("sol.yaml", &other, &other_plan)]);

    assert!(said("silence-unused", &text).is_empty());
    let [(1, clash)] = &clashes[..] else { panic!("{clashes:?}") };
    assert_eq!(clash.message, "lab.yaml has a node cp01 too");
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

        let found = found("asn-public", &format!("{CLUSTER}{text}"));

        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, path);
        assert!(found[0].silenced.is_some());
    }
}

#[test]
fn a_neighbours_public_number_is_the_neighbours_business() {
    let text =
        format!("routing: {{neighbors: [{{address: 10.1.0.1, asn: 3320, password: {{env: PW}}}}]}}\n{NODE}");

    assert_eq!(told("asn-public", &text), []);
}

#[test]
fn what_many_nodes_share_is_told_once() {
    let nodes: Vec<_> = (1..=5).map(|nth| format!("{{name: n{nth}, index: {nth}}}")).collect();
    let text = format!("routing: {{neighbors: [{{link: fab7}}]}}\nnodes: [{}]", nodes.join(", "));

    let told = told("neighbor-link-unknown", &text);

    assert_eq!(
        told,
        [("routing.neighbors[0]".to_owned(), "n1, n2, n3 and 2 more have no link fab7".to_owned())]
    );
}

#[test]
fn a_finding_stands_at_the_rung_that_says_it() {
    let on = |rung: &str| {
        let text = format!("{rung}\nfabric: {{routers: [{{name: leaf1, asn: 65101}}]}}\n");
        told("timers-invalid", &text).into_iter().map(|(path, _)| path).collect::<Vec<_>>()
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
fn a_session_that_follows_from_the_fabric_stands_at_its_router() {
    let text = format!(
        "routing: {{}}\nfabric: {{routers: [{{name: gw1, role: gateway, asn: 65101, software: other, \
         addresses: [\"fd00:1::fffe\"]}}]}}\n{NODE}"
    );

    assert_eq!(told("extended-nexthop-unknown", &text)[0].0, "fabric.routers.gw1");
}

#[test]
fn a_neighbour_at_the_address_of_a_router_is_that_router() {
    let text = format!(
        "fabric: {{routers: [{{name: gw1, role: gateway, asn: 65101, extended_nexthop: true, \
         addresses: [\"fd00:1::fffe\"]}}]}}\n\
         routing: {{neighbors: [{{address: \"fd00:1::fffe\", asn: 65101}}]}}\n{NODE}"
    );

    assert_eq!(told("extended-nexthop-unknown", &text), []);
}

#[test]
fn nodes_that_route_alike_but_for_one_are_told_apart() {
    let text = "routing: {neighbors: [{link: eth0}], version: 10.3}\n\
                nodes:\n  - {name: n1, index: 1}\n  - {name: n2, index: 2, routing: {daemons: {bgpd: [\"-P 2605\"]}}}\n  \
                - {name: n3, index: 3}\n";

    let told = told("vty-open", text);

    assert_eq!(told.len(), 1);
    assert_eq!(told[0].0, "nodes.n2.routing.daemons.bgpd");
}

#[test]
fn the_speaker_of_cilium_is_not_believed_a_default_route_even_where_the_file_allows_it() {
    let text = format!(
        "routing: {{neighbors: [{{link: eth0}}], workload: {{speaker: cilium, allow: [0.0.0.0/0]}}}}\n{NODE}"
    );

    assert_eq!(
        told("allow-around-fabric", &text)[0].1,
        "0.0.0.0/0 is everything, but no default route and no prefix of the cluster is taken"
    );
    assert_eq!(told("allow-fabric", &text), []);
}

#[test]
fn a_pool_beside_the_nodes_is_where_it_belongs_unless_something_routes() {
    let with = |pool: &str, routing: &str| {
        let network =
            format!("network: {{node: {{v4: 192.168.10.0/24}}, services: {{pools: {{p: [{pool}]}}}}}}\n");
        said("prefix-overlap", &format!("{CLUSTER}{network}{routing}{NODE}"))
    };

    assert!(with("192.168.10.240/28", "").is_empty());
    assert_eq!(with("192.168.10.240/28", "routing: {neighbors: [{link: eth0}]}\n").len(), 1);
    assert_eq!(
        with("192.168.10.0/28", ""),
        ["`network.services.pools.p` 192.168.10.0/28 holds 192.168.10.11, which is solcp01"]
    );
    assert_eq!(with("192.168.10.0/24", "").len(), 1);
}

#[test]
fn an_address_without_its_length_is_told_as_such() {
    let two = "nodes: [{name: a, role: controlplane, index: 11}, {name: b, index: 12}]";

    let said = said("prefix-host-bits", &format!("{CLUSTER}network: {{node: {{v4: 192.168.10.0}}}}\n{two}"));

    assert_eq!(
        said,
        ["192.168.10.0 gives 2 nodes the one address 192.168.10.0; its length, such as /24, is missing"]
    );
}

#[test]
fn a_file_without_nodes_is_told_as_such() {
    assert_eq!(
        told("no-control-plane", "nodes: []"),
        [("nodes".to_owned(), "there are no nodes".to_owned())]
    );
}

#[test]
fn a_misspelt_rule_in_a_silence_finds_its_neighbour() {
    let text = format!("silence: [{{rule: asn-publik, why: so}}]\n{NODE}");

    assert_eq!(
        told("silence-unused", &text)[0].1,
        "there is no rule `asn-publik`; did you mean `asn-public`?"
    );
}

#[test]
fn only_manifests_may_be_named_by_a_pattern() {
    let cluster = "cluster: {name: sol, id: 1, talos: v1.13.9, manifests: [\"m/*.yaml\"]}\n";

    let said = said("file-missing", &format!("{cluster}defaults: {{patches: [\"p/*.yaml\"]}}\n{NODE}"));

    assert_eq!(said, ["p/*.yaml cannot be read: not here; `*` is no pattern here"]);
}

#[test]
fn a_kernel_argument_with_a_secret_is_named_without_its_value() {
    for arg in ["talos.config=https://u:pw@x/?token=abc", "ts.authkey=tskey-auth-abc", "bmc.password=abc"] {
        let text = format!("image: {{source: factory}}\ndefaults: {{kernel: {{args: [\"{arg}\"]}}}}\n{NODE}");
        let name = arg.split('=').next().unwrap();

        let told = told("boot-carrier-secret", &text);

        let want = format!("{name} holds a secret, and kernel arguments are part of the schematic (solcp01)");
        assert_eq!(told, [("defaults.kernel.args".to_owned(), want)]);
    }
}

#[test]
fn of_a_written_and_a_derived_double_the_written_one_is_marked() {
    let text = "routing: {neighbors: [{link: eth0}]}
nodes:
  - {name: a, role: controlplane, index: 1, routing: {router_id: 10.255.1.2}}
  - {name: b, index: 2}
  - {name: c, index: 3, routing: {asn: 4210001002}}
";

    assert_eq!(told("duplicate-router-id", text)[0].0, "nodes.a.routing.router_id");
    assert_eq!(told("duplicate-asn", text)[0].0, "nodes.c.routing.asn");
    let shared = text.replace("{link: eth0}", "{address: 10.1.0.1, asn: 65000}");
    assert_eq!(told("asn-behind-reflector", &shared)[0].0, "nodes.c.routing.asn");
}

#[test]
fn a_virtual_machine_of_no_size_is_too_small() {
    let text = format!("defaults: {{vm: {{cores: 0, memory: 1GiB, disk: 4GiB}}}}\n{NODE}");

    let messages: Vec<_> = told("vm-too-small", &text).into_iter().map(|(_, message)| message).collect();

    assert_eq!(
        messages,
        [
            "0: a control plane needs 2 cores (solcp01)",
            "1GiB: a control plane needs 2GiB (solcp01)",
            "4GiB: a control plane needs 10GiB (solcp01)"
        ]
    );
    assert_eq!(told("vm-hypervisor", &text)[0].1, "there is no hypervisor in the file (solcp01)");
}

#[test]
fn what_must_not_be_quoted_is_known_by_its_place() {
    let text =
        format!("{CLUSTER}defaults: {{kernel: {{args: [quiet, \"talos.config=https://u:pw@x/\"]}}}}\n{NODE}");
    let (cluster, _) = ichor_testbed::planned(ichor_testbed::load_text(text));

    let places: Vec<_> =
        rules::secret_places(&cluster).iter().map(|place| (place.line, place.column, place.length)).collect();

    assert_eq!(places, [(2, 35, 30)]);
}
