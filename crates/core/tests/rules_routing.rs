//! Where findings about routing stand, and what they say about many nodes.

use ichor_core::cluster::{Files, load};
use ichor_core::rules::attachment::Attachments;
use ichor_core::rules::{self, Context, Finding};
use ichor_core::{model, plan};

struct One(String);

impl Files for One {
    fn read(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone().into_bytes())
    }

    fn find(&mut self, _: &str) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }
}

/// What `id` finds in a cluster with this text.
fn findings(id: &str, text: &str) -> Vec<Finding> {
    let text = format!("cluster: {{name: sol, id: 101, talos: v1.13.9}}\n{text}");
    let loaded = load("ichor.yaml", &mut One(text));
    let cluster = model::validate(loaded.file, loaded.problems).unwrap();
    let plan = plan::plan(&cluster);
    let context = Context { cluster: &cluster, plan: &plan, attachments: &Attachments::default() };
    rules::check(&context).into_iter().filter(|finding| finding.rule.id == id).collect()
}

fn told(id: &str, text: &str) -> Vec<(String, String)> {
    findings(id, text).into_iter().map(|finding| (finding.path, finding.message)).collect()
}

const NODE: &str = "nodes: [{name: solcp01, role: controlplane, index: 11}]\n";

#[test]
fn a_silence_at_the_speaker_covers_its_default_and_its_written_number() {
    let silence = "silence: [{rule: asn-public, at: routing.workload, why: the numbers of the old fabric}]\n";
    for (workload, path) in [
        ("{speaker: metallb}", "routing.workload"),
        ("{speaker: metallb, asn: {theirs: 4000099999}}", "routing.workload.asn.theirs"),
    ] {
        let text = format!("routing: {{neighbors: [{{link: eth0}}], workload: {workload}}}\n{NODE}{silence}");

        let found = findings("asn-public", &text);

        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, path);
        assert!(found[0].silenced.is_some());
    }
}

#[test]
fn a_neighbours_public_number_is_the_neighbours_business() {
    let text = format!(
        "routing: {{neighbors: [{{address: 10.101.0.1, asn: 3320, password: {{env: PW}}}}]}}\n{NODE}"
    );

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
         addresses: [\"fd00:101::fffe\"]}}]}}\n{NODE}"
    );

    assert_eq!(told("extended-nexthop-unknown", &text)[0].0, "fabric.routers.gw1");
}

#[test]
fn a_neighbour_at_the_address_of_a_router_is_that_router() {
    let text = format!(
        "fabric: {{routers: [{{name: gw1, role: gateway, asn: 65101, extended_nexthop: true, \
         addresses: [\"fd00:101::fffe\"]}}]}}\n\
         routing: {{neighbors: [{{address: \"fd00:101::fffe\", asn: 65101}}]}}\n{NODE}"
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
fn the_speaker_of_cilium_may_not_announce_a_default_route() {
    let text = format!(
        "routing: {{neighbors: [{{link: eth0}}], workload: {{speaker: cilium, allow: [0.0.0.0/0]}}}}\n{NODE}"
    );

    assert_eq!(told("allow-fabric", &text)[0].1, "0.0.0.0/0 lets the speaker announce a default route");
}
