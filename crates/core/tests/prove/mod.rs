//! What the proof says of clusters.

mod aggregate;
mod failure;
mod incident;
mod route;
mod session;
mod way;
mod words;

use std::collections::BTreeMap;

use ichor_core::prove::spread::Propagation;
use ichor_core::prove::{FailureScope, Proof, ProofModel};
use ipnet::IpNet;

/// The proof of a cluster, with every single failure.
fn proved((cluster, plan): &(ichor_core::model::Cluster, ichor_core::plan::Plan)) -> Proof {
    let subject = ProofModel::of(cluster, plan).unwrap();
    let scope = FailureScope::Each { failures: subject.failures(), pairs: false };
    let study = subject.study(&subject.destinations, &scope);
    Proof::of(plan, &subject, study)
}

fn proof(text: &str) -> Proof {
    proved(&ichor_testbed::planned(ichor_testbed::load_text(text)))
}

/// All that is broken, and all remarks, each with the name of its intent.
fn told(proof: &Proof) -> Vec<String> {
    let of = |intent: &ichor_core::prove::intent::Intent| {
        let both = intent.broken.examples.iter().chain(&intent.remarks.examples);
        both.map(|said| format!("{}: {said}", intent.id)).collect::<Vec<_>>()
    };
    proof.intents.iter().flat_map(of).collect()
}

/// Two nodes on two leafs that have no spine, and what is added to `routing`.
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
    ProofModel::of(&cluster, &plan).unwrap()
}

/// The names of everyone's next hops to a prefix, by name.
fn next(subject: &ProofModel, net: &str) -> BTreeMap<String, Vec<String>> {
    let net: IpNet = net.parse().unwrap();
    let graph = &subject.graph;
    let name = |vertex: u32| graph.vertices[vertex as usize].name.clone();
    let target = subject.destinations.iter().find(|target| target.nets.contains(&net)).unwrap();
    let mut spread = Propagation::new(graph);
    assert!(spread.settle(target));
    let of = |vertex: u32| {
        let next = spread.next(vertex).into_iter();
        (name(vertex), next.map(|edge| name(graph.edges[edge as usize].other(vertex))).collect())
    };
    (0..).take(graph.vertices.len()).filter(|vertex| spread.has(*vertex)).map(of).collect()
}

/// Two nodes on a network with two gateways, each with a session to both over one port.
const GATEWAYS: &str = "cluster: {name: a, id: 1, talos: v1.13.9}\n\
    fabric: {routers: [{name: gw1, role: gateway, asn: 65001, addresses: [10.1.0.254]}, {name: gw2, role: gateway, asn: 65002, addresses: [10.1.0.253]}]}\n\
    routing: {backend: frr, neighbors: [{router: gw1}, {router: gw2}]}\n\
    network: {loopback: {v6: null}, services: {pools: {default: [198.51.100.0/24]}}}\n\
    nodes: [{name: a, index: 1, ports: [eth0, eth1]}, {name: b, index: 2, ports: [eth0, eth1]}]";
