//! The proof of clusters.

mod aggregate;
mod failure;
mod incident;
mod route;
mod session;
mod way;
mod words;

use std::collections::BTreeMap;

use ichor_core::prove::propagation::Propagation;
use ichor_core::prove::{FailureScope, Proof, ProofModel};
use ipnet::IpNet;

/// The proof of a cluster, with every single failure.
fn proved((cluster, plan): &(ichor_core::model::Cluster, ichor_core::plan::Plan)) -> Proof {
    let subject = ProofModel::from_plan(cluster, plan).unwrap();
    let scope = FailureScope::Each { failures: subject.failures(), pairs: false };
    let study = subject.analyse(&subject.destinations, &scope);
    Proof::new(plan, &subject, study)
}

fn proof(text: &str) -> Proof {
    proved(&ichor_testbed::planned(ichor_testbed::load_text(text)))
}

/// All violations and remarks, each with the name of its intent.
fn messages(proof: &Proof) -> Vec<String> {
    let of = |intent: &ichor_core::prove::intent::Intent| {
        let both = intent.broken.examples.iter().chain(&intent.remarks.examples);
        both.map(|reported| format!("{}: {reported}", intent.id)).collect::<Vec<_>>()
    };
    proof.intents.iter().flat_map(of).collect()
}

/// Two nodes on two leafs without a spine, with additions to `routing`.
fn rack(routing: &str, more: &str) -> String {
    format!(
        "cluster: {{name: a, id: 1, talos: v1.13.9}}\n\
         network: {{services: {{pools: {{default: [198.51.100.0/24]}}}}, node: null}}\n\
         fabric: {{routers: [{{name: leaf1, asn: 65101}}, {{name: leaf2, asn: 65102}}{more}]}}\n\
         routing: {{backend: frr{routing}}}\ndefaults: {{ports: [fab0, fab1]}}\n\
         nodes:\n\
         - {{name: a, role: controlplane, index: 1, macs: [\"02:00:00:00:00:01\", \"02:00:00:00:00:02\"]}}\n\
         - {{name: b, index: 2, macs: [\"02:00:00:00:01:01\", \"02:00:00:00:01:02\"]}}\n"
    )
}

const SPINE: &str = ", {name: spine, asn: 65200, role: spine}";

fn outcome_of(proof: &Proof, subject: &ProofModel, name: &str) -> Option<(usize, usize)> {
    let failure = subject.failure(name).unwrap();
    let outcome = proof.study.outcomes.get(&vec![failure])?;
    Some((outcome.broken.count, outcome.alone.count))
}

fn subject(text: &str) -> ProofModel {
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));
    ProofModel::from_plan(&cluster, &plan).unwrap()
}

/// The next hops of all machines to a prefix, by name.
fn next(subject: &ProofModel, net: &str) -> BTreeMap<String, Vec<String>> {
    let net: IpNet = net.parse().unwrap();
    let graph = &subject.graph;
    let name = |vertex: u32| graph.vertices[vertex as usize].name.clone();
    let target = subject.destinations.iter().find(|target| target.nets.contains(&net)).unwrap();
    let mut spread = Propagation::new(graph);
    assert!(spread.converge(target));
    let of = |vertex: u32| {
        let next = spread.next(vertex).into_iter();
        (name(vertex), next.map(|edge| name(graph.edges[edge as usize].other(vertex))).collect())
    };
    (0..).take(graph.vertices.len()).filter(|vertex| spread.has(*vertex)).map(of).collect()
}

/// Two nodes on a network with two gateways, each with sessions to both over one port.
const GATEWAYS: &str = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
    fabric: {routers: [{name: gw1, role: gateway, asn: 65001, addresses: [10.1.0.254]}, {name: gw2, role: gateway, asn: 65002, addresses: [10.1.0.253]}]}\n\
    routing: {backend: frr, neighbors: [{router: gw1}, {router: gw2}]}\n\
    network: {loopback: {v6: null}, services: {pools: {default: [198.51.100.0/24]}}}\n\
    nodes: [{name: a, index: 1, ports: [eth0, eth1]}, {name: b, index: 2, ports: [eth0, eth1]}]";
