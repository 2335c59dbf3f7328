//! Random clusters: any combination of a node's routing settings that the backend supports.

mod fabric;
mod network;
mod routing;

use ichor_bgp::model::BgpModel;
use ichor_bgp::render::Service;
use ichor_core::model::{self, Cluster};
use ichor_core::plan::{self, Plan};
use ichor_core::render::artifact::Artifact;
use ichor_core::rules::Severity;
use ichor_values::Backend;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::routing::{model, routed, service_with};
use fabric::fabric;
use network::network;
use routing::routing;

/// A cluster file and the password that all its references lead to.
#[derive(Clone, Debug)]
pub struct RandomCluster {
    pub text: String,
    pub password: String,
}

/// The routing of one kind of node: model and rendered service.
pub struct NodeRouting {
    pub name: String,
    pub model: BgpModel,
    pub service: Service,
}

impl RandomCluster {
    /// The routing of each kind of node.
    pub fn render_nodes(&self) -> Result<Vec<NodeRouting>, TestCaseError> {
        let (cluster, plan) = super::planned(super::load_text(self.text.as_str()));
        let mut all = Vec::new();
        for node in routed(&plan) {
            let service = service_with(&cluster, &plan, node, &|_| Ok(self.password.clone()));
            let service = service.map_err(|refusals| TestCaseError::fail(format!("{refusals:?}")))?;
            let (name, model) = (node.name.to_string(), model(&cluster, &plan, node));
            all.extend(service.map(|service| NodeRouting { name, model, service }));
        }
        Ok(all)
    }

    /// The files around the nodes, or why they cannot be rendered.
    pub fn render_fabric(&self) -> Result<Vec<Artifact>, Vec<String>> {
        let planned = super::planned(super::load_text(self.text.as_str()));
        super::fabric::render_files(&planned, &|_| Ok(self.password.clone()))
    }
}

/// Checks a property of `count` clusters, the same ones every time. A counterexample is shrunk.
pub fn holds_for(count: u32, backend: Backend, ask: impl Fn(&RandomCluster) -> Result<(), TestCaseError>) {
    holds_for_each(count, clusters(backend), |random| describe_failure(random, ask(random)));
}

/// The same for clusters whose file lists the routers around them.
pub fn holds_around(count: u32, ask: impl Fn(&RandomCluster) -> Result<(), TestCaseError>) {
    holds_for_each(count, clusters_with_fabric(), |random| describe_failure(random, ask(random)));
}

/// Shows the cluster of which something does not hold.
fn describe_failure(random: &RandomCluster, answer: Result<(), TestCaseError>) -> Result<(), TestCaseError> {
    answer.map_err(|error| TestCaseError::fail(format!("{error}\n{}", random.text)))
}

/// The same for two clusters that have nothing to do with each other.
pub fn holds_for_pairs(
    count: u32,
    backend: Backend,
    ask: impl Fn(&RandomCluster, &RandomCluster) -> Result<(), TestCaseError>,
) {
    holds_for_each(count, (clusters(backend), clusters(backend)), |(one, other)| {
        describe_failure(one, describe_failure(other, ask(one, other)))
    });
}

fn holds_for_each<T: std::fmt::Debug>(
    count: u32,
    clusters: impl Strategy<Value = T>,
    ask: impl Fn(&T) -> Result<(), TestCaseError>,
) {
    let config =
        Config { cases: count, failure_persistence: None, max_shrink_iters: 40, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    if let Err(error) = runner.run(&clusters, |random| ask(&random)) {
        panic!("{error}");
    }
}

/// Cluster files that are understood, that no rule finds wrong, and whose plan the backend can carry out.
pub(crate) fn clusters(backend: Backend) -> impl Strategy<Value = RandomCluster> {
    // BIRD cannot escape a quotation mark.
    let password = if backend == Backend::Bird { "[!#-~]{1,80}" } else { "[!-~]{1,80}" };
    let talos = if backend == Backend::Native { "v1.14.1" } else { "v1.13.9" };
    (1..250_u32, password)
        .prop_flat_map(move |(id, password)| {
            (network(id), routing(id, backend, Vec::new()), Just(id), Just(password)).prop_map(
                move |(network, routing, id, password)| {
                    let text = file(id, talos, &network, "{}", &routing);
                    RandomCluster { text, password }
                },
            )
        })
        .prop_filter("cannot be carried out", move |random| {
            sound(&random.text) && (backend != Backend::Frr || leads_away(&random.text))
        })
}

/// The same with routers, for which everything can be written.
fn clusters_with_fabric() -> impl Strategy<Value = RandomCluster> {
    (1..250_u32, "[!-~]{1,80}")
        .prop_flat_map(|(id, password)| (Just(id), Just(password), network(id), fabric(id)))
        .prop_flat_map(|(id, password, network, fabric)| {
            let routing = routing(id, Backend::Frr, fabric.found);
            routing.prop_map(move |routing| {
                let text = file(id, "v1.13.9", &network, &fabric.text, &routing);
                RandomCluster { text, password: password.clone() }
            })
        })
        .prop_filter("cannot be carried out", |random| {
            sound(&random.text) && !random.text.contains("isolation: none") && random.render_fabric().is_ok()
        })
}

/// Whether a file is understood, and no rule finds it wrong.
fn sound(text: &str) -> bool {
    let loaded = super::load_text(text);
    let understood: Result<Cluster, _> = model::validate(loaded.file, loaded.problems);
    let cluster = understood.unwrap_or_else(|problems| panic!("{text}: {problems:#?}"));
    let plan: Plan = plan::plan(&cluster);
    let able = plan.nodes.iter().all(|node| node.routing.as_ref().is_none_or(|it| it.limitations.is_empty()));
    let mut findings = super::check(&(cluster, plan), &mut super::SingleFile(text.into())).into_iter();

    able && findings.all(|finding| finding.issue.severity != Severity::Error)
}

/// Whether FRR can point the routes of a speaker that nothing keeps apart at a neighbour, whatever their family.
fn leads_away(text: &str) -> bool {
    !text.contains("isolation: none") || FAR.iter().all(|address| text.contains(address))
}

/// Neighbours across other routers.
const FAR: [&str; 2] = ["192.0.2.1", "2001:db8::1"];

fn file(id: u32, talos: &str, network: &str, fabric: &str, routing: &str) -> String {
    let macs = |node: u32| {
        let macs = (0..PORTS.len()).map(|port| format!("\"02:00:00:00:{node:02x}:{port:02x}\""));
        macs.collect::<Vec<_>>().join(", ")
    };
    format!(
        "cluster: {{name: any, id: {id}, talos: {talos}, cni: none, pods: [100.64.0.0/16], services: [100.65.0.0/16]}}\n\
         network: {network}\nfabric: {fabric}\nrouting: {routing}\n\
         defaults: {{platform: metal, install: {{disk: /dev/sda}}, ports: [{}]}}\nnodes:\n\
         - {{name: cp-1, role: controlplane, index: 1, macs: [{}]}}\n\
         - {{name: 2nd-worker, role: worker, index: 2, macs: [{}]}}\n",
        PORTS.join(", "),
        macs(1),
        macs(2),
    )
}

const PORTS: [&str; 4] = ["eth0", "eth1", "enp129s0f1np1", "fab-a"];

/// `{key: value, ...}` of the given keys.
fn map(entries: impl IntoIterator<Item = (&'static str, Option<String>)>) -> String {
    let entries = entries.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}", value?)));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}

fn quoted(text: impl std::fmt::Display) -> String {
    format!("\"{text}\"")
}

/// Some of the items, in an order of their own.
fn some(items: Vec<String>, least: usize) -> impl Strategy<Value = String> {
    let most = items.len();
    subsequence(items, least..=most).prop_shuffle().prop_map(list)
}

/// Prefixes of one family or both.
fn families(v4: String, v6: String) -> impl Strategy<Value = String> {
    select(vec![(true, true), (true, false), (false, true)]).prop_map(move |(has4, has6)| {
        let keep = |has: bool, net: &str| Some(if has { quoted(net) } else { "null".to_owned() });
        map([("v4", keep(has4, &v4)), ("v6", keep(has6, &v6))])
    })
}
