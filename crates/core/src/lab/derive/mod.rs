//! Derives the lab topology of a cluster: machines (`router`, `node`, `speaker`, and `guest` for nodes in virtual machines),
//! cables (`builder`, `lan`), and the `outside` host.

mod builder;
mod guest;
mod lan;
mod node;
mod outside;
mod router;
mod speaker;

use super::host::HostCapabilities;
use super::topology::{LabSession, LabSessionEnd, LabTopology};
use crate::model::Cluster;
use crate::plan::Plan;
use crate::plan::attachment::Attachments;
use crate::prove::ProofModel;
use crate::render::fabric;
use crate::routing::BgpTopology;
use crate::routing::network::{BgpSession, TopologyEnd};
use builder::TopologyBuilder;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::render::SecretFetcher;
use ichor_values::Issue;

/// Inputs of a topology.
#[derive(Clone, Copy)]
pub struct TopologyInputs<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Its plan.
    pub plan: &'a Plan,
    /// Its fabric, with the sessions that come up.
    pub subject: &'a ProofModel,
    /// The files that the cluster file names.
    pub attachments: &'a Attachments,
    /// Fetches a secret that the file refers to.
    pub secret: &'a SecretFetcher<'a>,
    /// Capabilities of the host.
    pub here: &'a HostCapabilities,
    /// Whether nodes are virtual machines that boot Talos.
    pub guests: bool,
}

/// Differences of the lab from the cluster file, as text.
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
    /// Derives the topology of a cluster, or returns every problem.
    pub fn derive(inputs: TopologyInputs<'_>) -> Result<Self, Vec<Issue>> {
        let mut deviations = Deviations::default();
        let network = router::replace_routers(inputs, &mut deviations);
        let files = fabric::render(inputs.plan, &network, inputs.secret);
        let mut builder = TopologyBuilder::default();
        let mut errors = Vec::new();
        match files {
            Ok(files) => builder.machines.extend(router::build_machines(&network, &files)),
            Err(mut issues) => errors.append(&mut issues),
        }
        let protected = crate::routing::protected(inputs.plan);
        for model in &network.nodes {
            let machine = if inputs.guests {
                guest::build_machine(inputs, model)
            } else {
                node::build_machine(inputs, &protected, model, &mut deviations)
            };
            match machine {
                Ok(machine) => builder.machines.push(machine),
                Err(mut issues) => errors.append(&mut issues),
            }
        }
        if !errors.is_empty() {
            errors.sort();
            errors.dedup();
            return Err(errors);
        }
        builder.connect_sessions(inputs, &network, &mut deviations);
        outside::add_outside(inputs, &network, &mut builder);
        report_missing_nodes(inputs, &network, &mut deviations);
        if !inputs.here.dummy && builder.machines.iter().any(|machine| !machine.dummies.is_empty()) {
            deviations.add("the kernel has no dummy links: veth pairs replace them");
        }
        let mut sessions = list_sessions(inputs.subject, &network, &builder);
        if inputs.guests && network.nodes.iter().any(|model| model.workload.is_some()) {
            sessions.truncate(network.sessions.len());
            deviations.add("no speakers: they run in Kubernetes, which the lab does not start");
        }
        Ok(Self {
            cluster: inputs.plan.cluster.name.to_string(),
            machines: builder.machines,
            cables: builder.cables,
            sessions,
            deviations: deviations.0,
        })
    }
}

/// Reports the nodes that are not in the lab.
fn report_missing_nodes(inputs: TopologyInputs<'_>, network: &BgpTopology, deviations: &mut Deviations) {
    let routes = |name: &str| network.nodes.iter().any(|model| model.name.as_str() == name);
    let names = inputs.plan.nodes.iter().map(|node| node.name.as_str());
    let missing: Vec<&str> = names.filter(|name| !routes(name)).collect();
    if !missing.is_empty() {
        let names = crate::prove::summarize_names(missing.iter().copied());
        deviations.add(format!("nodes without a routing daemon are not in the lab: {names}"));
    }
}

/// Every session with the neighbour names of its daemons: those of the fabric, then those with speakers.
fn list_sessions(subject: &ProofModel, network: &BgpTopology, builder: &TopologyBuilder) -> Vec<LabSession> {
    let end = |end: TopologyEnd| LabSessionEnd {
        name: network.name(end).to_owned(),
        peer: builder.peer_name(network, end),
    };
    let fabric =
        network.sessions.iter().zip(&subject.faults).map(|(BgpSession(one, other), fault)| LabSession {
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

/// The port of a session, unless it is between addresses.
fn port_of(found: &PeerAddress) -> Option<&str> {
    match found {
        PeerAddress::Port { name, .. } => Some(name.as_str()),
        PeerAddress::Address { .. } => None,
    }
}
