//! What rules say of clusters that are easier told in a few lines than kept as files.

use ichor_core::cluster::{Files, load};
use ichor_core::model::{self, Cluster};
use ichor_core::plan::{self, Plan};
use ichor_core::rules::attachment::Attachments;
use ichor_core::rules::{self, Context, Finding, clash};

struct One(String);

impl Files for One {
    fn read(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone().into())
    }

    fn find(&mut self, _: &str) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }
}

fn planned(text: &str) -> (Cluster, Plan) {
    let loaded = load("ichor.yaml", &mut One(text.to_owned()));
    let cluster = model::validate(loaded.file, loaded.problems).unwrap();
    let plan = plan::plan(&cluster);
    (cluster, plan)
}

fn findings(text: &str) -> Vec<Finding> {
    let (cluster, plan) = planned(text);
    rules::check(&Context { cluster: &cluster, plan: &plan, attachments: &Attachments::default() })
}

/// What one rule says of a cluster.
fn said(rule: &str, text: &str) -> Vec<String> {
    findings(text)
        .into_iter()
        .filter(|finding| finding.rule.id == rule)
        .map(|finding| finding.message)
        .collect()
}

const CLUSTER: &str = "cluster: {name: sol, id: 1, talos: v1.13.9}\n";

#[test]
fn what_follows_from_one_index_is_told_once() {
    let text = "routing: {neighbors: [{link: eth0}]}
defaults: {vm: {first_id: 300}}
nodes: [{name: a, role: controlplane, index: 11}, {name: b, index: 11}]";

    let ids: Vec<_> = findings(&format!("{CLUSTER}{text}")).iter().map(|finding| finding.rule.id).collect();

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
    let (one, one_plan) =
        planned("{cluster: {name: lab, id: 2, talos: v1.13.9}, nodes: [{name: cp01, index: 1}]}");
    let (other, other_plan) = planned(&text);

    let clashes = clash::across(&[("lab.yaml", &one, &one_plan), ("sol.yaml", &other, &other_plan)]);

    assert!(said("silence-unused", &text).is_empty());
    let [(1, clash)] = &clashes[..] else { panic!("{clashes:?}") };
    assert_eq!(clash.message, "lab.yaml has a node cp01 too");
    assert_eq!(clash.silenced.as_deref(), Some("two labs"));
}
