//! Nodes: the agent with the duty of the build, and the addresses that Talos would give them.

use std::net::IpAddr;

use super::{Deviations, TopologyInputs, speaker};
use crate::lab::scene::{LabMachine, MachineRole};
use crate::plan::link::LinkKind;
use crate::plan::{ConfigStage, NodePlan};
use crate::render::machine::{AgentConfigInputs, rehearsed};
use ichor_bgp::agent::config::{AgentConfig, ConfigSource, HealthProbe};
use ichor_bgp::model::ProtectedPrefixes;
use ichor_bgp::model::{BgpModel, RoutingDomain};
use ichor_values::{Backend, Issue};

/// The MTU of the link to a speaker where Talos itself makes it.
const MTU: u32 = 1500;

/// The machine of a node, without its ports.
pub(super) fn machine(
    order: TopologyInputs<'_>,
    protected: &ProtectedPrefixes,
    model: &BgpModel,
    differs: &mut Deviations,
) -> Result<LabMachine, Vec<Issue>> {
    let node = &order.plan.nodes[model.nth];
    let script = AgentConfigInputs { attachments: order.attachments, secret: order.secret };
    let Some(duty) = rehearsed(script, protected, node)? else { unreachable!("{} routes", node.name) };
    let duty = fitted(order, duty, model, differs);
    let speaker = speaker::of(order, model);
    let links = node.links(ConfigStage::Final);
    let dummies = links.iter().filter(|link| link.kind == LinkKind::Dummy);
    let mut machine = LabMachine {
        name: node.name.to_string(),
        vrfs: Vec::new(),
        dummies: dummies.map(|link| (link.name.to_string(), link.mtu.map(|mtu| mtu.0))).collect(),
        addresses: addresses(node),
        ports: Vec::new(),
        gateways: Vec::new(),
        part: MachineRole::Node {
            backend: duty.backend,
            health: health(&duty),
            agent: duty.text(),
            sources: model.sources.clone(),
            speaker: None,
        },
    };
    if let (Some(made), MachineRole::Node { speaker, .. }) = (speaker, &mut machine.part) {
        machine.dummies.push((speaker::LINK.to_owned(), None));
        machine.addresses.extend(made.announces.iter().map(|net| (speaker::LINK.to_owned(), *net)));
        *speaker = Some(made);
    }
    Ok(machine)
}

/// What lies on links that lead nowhere.
fn addresses(node: &NodePlan) -> Vec<(String, ipnet::IpNet)> {
    let still = |kind: &LinkKind| matches!(kind, LinkKind::Loopback | LinkKind::Dummy);
    let links = node.links(ConfigStage::Final).into_iter().filter(|link| still(&link.kind));
    links
        .flat_map(|link| {
            let name = link.name.to_string();
            link.addresses.into_iter().map(move |net| (name.clone(), net))
        })
        .collect()
}

/// The duty as it can be done here.
fn fitted(
    order: TopologyInputs<'_>,
    mut duty: AgentConfig,
    model: &BgpModel,
    differs: &mut Deviations,
) -> AgentConfig {
    let ConfigSource::Model(meant) = &mut duty.source else { return duty };
    let here = order.here.release(duty.backend);
    match (duty.backend, meant.version.take(), here) {
        (Backend::Native, ..) => {
            differs.add("gobgpd and ichor's agent stand in for Talos' own BGP on the nodes");
            duty.backend = Backend::Gobgp;
            duty.mtu = duty.mtu.or(Some(MTU));
        }
        (backend, Some(version), Some(here)) if version != *here => {
            differs.add(format!("{backend} {here} runs in the place of {version} on the nodes"));
        }
        _ => {}
    }
    for (neighbor, fitting) in meant.model.fabric.neighbors.iter_mut().zip(&model.fabric.neighbors) {
        neighbor.bfd = fitting.bfd;
    }
    if let Some(workload) = &mut meant.model.workload {
        if duty.backend == Backend::Gobgp && workload.domain != RoutingDomain::Shared {
            differs.add("GoBGP speaks in one table here: nothing keeps the speaker's routes apart");
            workload.domain = RoutingDomain::Shared;
        }
        if workload.bfd.take().is_some() {
            differs.add("no BFD with the speakers: gobgpd, which stands in for them, has none");
        }
    }
    duty
}

/// The URL that is asked about health, where it is on the node itself.
fn health(duty: &AgentConfig) -> Option<String> {
    let HealthProbe::Url(url) = &duty.health.as_ref()?.probe else { return None };
    let rest = url.split_once("://")?.1;
    let authority = rest.split(['/', '?']).next()?;
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host).trim_matches(['[', ']']);
    let local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    local.then(|| url.clone())
}
