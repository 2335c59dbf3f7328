//! The scene of a cluster: who stands in for whom (`router`, `node`, `speaker`), nodes that are virtual machines (`guest`), how all
//! are cabled (`bench`, `lan`), and the host that asks from `outside`.

mod bench;
mod guest;
mod lan;
mod node;
mod outside;
mod router;
mod speaker;

use super::here::HostCapabilities;
use super::scene::{LabSession, LabSessionEnd, LabTopology};
use crate::model::Cluster;
use crate::plan::Plan;
use crate::plan::attachment::Attachments;
use crate::prove::ProofModel;
use crate::render::fabric;
use crate::routing::BgpTopology;
use crate::routing::network::{BgpSession as Meant, TopologyEnd};
use bench::TopologyBuilder;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::render::SecretFetcher;
use ichor_values::Issue;

/// What a scene is made from.
#[derive(Clone, Copy)]
pub struct TopologyInputs<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// What was decided.
    pub plan: &'a Plan,
    /// Its fabric, and which sessions come up.
    pub subject: &'a ProofModel,
    /// The files the cluster names.
    pub attachments: &'a Attachments,
    /// Fetches a secret that the file refers to.
    pub secret: &'a SecretFetcher<'a>,
    /// What there is to build it of.
    pub here: &'a HostCapabilities,
    /// Whether nodes are virtual machines that boot Talos.
    pub guests: bool,
}

/// What is other here than the file says.
#[derive(Default)]
struct Deviations(Vec<String>);

impl Deviations {
    fn add(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.0.contains(&text) {
            self.0.push(text);
        }
    }
}

impl LabTopology {
    /// The fabric of a cluster, ready to be built; or everything that is wrong.
    pub fn of(order: TopologyInputs<'_>) -> Result<Self, Vec<Issue>> {
        let mut differs = Deviations::default();
        let network = router::standing_in(order, &mut differs);
        let files = fabric::render(order.plan, &network, order.secret);
        let mut bench = TopologyBuilder::default();
        let mut errors = Vec::new();
        match files {
            Ok(files) => bench.machines.extend(router::machines(&network, &files)),
            Err(mut found) => errors.append(&mut found),
        }
        let protected = crate::routing::protected(order.plan);
        for model in &network.nodes {
            let made = if order.guests {
                guest::machine(order, model)
            } else {
                node::machine(order, &protected, model, &mut differs)
            };
            match made {
                Ok(machine) => bench.machines.push(machine),
                Err(mut found) => errors.append(&mut found),
            }
        }
        if !errors.is_empty() {
            errors.sort();
            errors.dedup();
            return Err(errors);
        }
        bench.wire(order, &network, &mut differs);
        outside::add(order, &network, &mut bench);
        absent(order, &network, &mut differs);
        if !order.here.dummy && bench.machines.iter().any(|machine| !machine.dummies.is_empty()) {
            differs.add("this kernel has no dummy links: cables that lead nowhere stand in for them");
        }
        let mut sessions = sessions(order.subject, &network, &bench);
        if order.guests && network.nodes.iter().any(|model| model.workload.is_some()) {
            sessions.truncate(network.sessions.len());
            differs.add("no speakers: they come with Kubernetes, which nobody waits for here");
        }
        Ok(Self {
            cluster: order.plan.cluster.name.to_string(),
            machines: bench.machines,
            cables: bench.cables,
            sessions,
            differs: differs.0,
        })
    }
}

/// Tells which nodes are not there.
fn absent(order: TopologyInputs<'_>, network: &BgpTopology, differs: &mut Deviations) {
    let routes = |name: &str| network.nodes.iter().any(|model| model.name.as_str() == name);
    let names = order.plan.nodes.iter().map(|node| node.name.as_str());
    let absent: Vec<&str> = names.filter(|name| !routes(name)).collect();
    if !absent.is_empty() {
        let who = crate::prove::crowd(absent.iter().copied());
        differs.add(format!("not here, because no routing daemon runs there: {who}"));
    }
}

/// Every session, with the names by which daemons know each other: those of the fabric, then those with speakers.
fn sessions(subject: &ProofModel, network: &BgpTopology, bench: &TopologyBuilder) -> Vec<LabSession> {
    let end = |end: TopologyEnd| LabSessionEnd {
        name: network.name(end).to_owned(),
        peer: bench.peer(network, end),
    };
    let fabric = network.sessions.iter().zip(&subject.faults).map(|(Meant(one, other), fault)| LabSession {
        one: end(*one),
        other: end(*other),
        bfd: network.at(*one).bfd.is_some() && network.at(*other).bfd.is_some(),
        carries: !network.at(*one).families.is_empty(),
        fault: fault.clone(),
    });
    let speakers = network.nodes.iter().zip(&subject.speaker_faults).filter_map(|(model, fault)| {
        let workload = model.workload.as_ref()?;
        Some(LabSession {
            one: LabSessionEnd { name: model.name.to_string(), peer: workload.theirs.address.to_string() },
            other: LabSessionEnd {
                name: format!("{}:{}", model.name, workload.speaker),
                peer: workload.ours.address.to_string(),
            },
            bfd: false,
            carries: true,
            fault: fault.clone(),
        })
    });
    fabric.chain(speakers).collect()
}

/// Whether a session finds its other end by a port.
fn port_of(found: &PeerAddress) -> Option<&str> {
    match found {
        PeerAddress::Port { name, .. } => Some(name.as_str()),
        PeerAddress::Address { .. } => None,
    }
}
