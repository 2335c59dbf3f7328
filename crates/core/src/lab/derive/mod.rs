//! The scene of a cluster: who stands in for whom (`router`, `node`, `speaker`), nodes that are virtual machines (`guest`), how all
//! are cabled (`bench`, `lan`), and the host that asks from `outside`.

mod bench;
mod guest;
mod lan;
mod node;
mod outside;
mod router;
mod speaker;

use super::here::Here;
use super::scene::{Scene, Session, SessionEnd};
use crate::model::Cluster;
use crate::plan::Plan;
use crate::plan::attachment::Attachments;
use crate::prove::Subject;
use crate::render::fabric;
use crate::routing::Network;
use crate::routing::network::{End, Session as Meant};
use bench::Bench;
use ichor_bgp::model::fabric::Found;
use ichor_bgp::render::Fetch;
use ichor_values::Issue;

/// What a scene is made from.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// What was decided.
    pub plan: &'a Plan,
    /// Its fabric, and which sessions come up.
    pub subject: &'a Subject,
    /// The files the cluster names.
    pub attachments: &'a Attachments,
    /// Fetches a secret that the file refers to.
    pub secret: &'a Fetch<'a>,
    /// What there is to build it of.
    pub here: &'a Here,
    /// Whether nodes are virtual machines that boot Talos.
    pub guests: bool,
}

/// What is other here than the file says.
#[derive(Default)]
struct Differs(Vec<String>);

impl Differs {
    fn add(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.0.contains(&text) {
            self.0.push(text);
        }
    }
}

impl Scene {
    /// The fabric of a cluster, ready to be built; or everything that is wrong.
    pub fn of(order: Order<'_>) -> Result<Self, Vec<Issue>> {
        let mut differs = Differs::default();
        let network = router::standing_in(order, &mut differs);
        let files = fabric::render(order.plan, &network, order.secret);
        let mut bench = Bench::default();
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
fn absent(order: Order<'_>, network: &Network, differs: &mut Differs) {
    let routes = |name: &str| network.nodes.iter().any(|model| model.name.as_str() == name);
    let names = order.plan.nodes.iter().map(|node| node.name.as_str());
    let absent: Vec<&str> = names.filter(|name| !routes(name)).collect();
    if !absent.is_empty() {
        let who = crate::prove::crowd(absent.iter().copied());
        differs.add(format!("not here, because no routing daemon runs there: {who}"));
    }
}

/// Every session, with the names by which daemons know each other: those of the fabric, then those with speakers.
fn sessions(subject: &Subject, network: &Network, bench: &Bench) -> Vec<Session> {
    let end = |end: End| SessionEnd { name: network.name(end).to_owned(), peer: bench.peer(network, end) };
    let fabric = network.sessions.iter().zip(&subject.faults).map(|(Meant(one, other), fault)| Session {
        one: end(*one),
        other: end(*other),
        bfd: network.at(*one).bfd.is_some() && network.at(*other).bfd.is_some(),
        carries: !network.at(*one).families.is_empty(),
        fault: fault.clone(),
    });
    let speakers = network.nodes.iter().zip(&subject.speaker_faults).filter_map(|(model, fault)| {
        let workload = model.workload.as_ref()?;
        Some(Session {
            one: SessionEnd { name: model.name.to_string(), peer: workload.theirs.address.to_string() },
            other: SessionEnd {
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
fn port_of(found: &Found) -> Option<&str> {
    match found {
        Found::Port { name, .. } => Some(name.as_str()),
        Found::Address { .. } => None,
    }
}
