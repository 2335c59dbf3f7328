//! Nodes: the agent with the configuration of the build, and the addresses that Talos would assign.

use std::net::IpAddr;

use super::{Deviations, TopologyInputs, speaker};
use crate::lab::topology::{LabMachine, MachineRole};
use crate::plan::link::LinkKind;
use crate::plan::{ConfigStage, NodePlan};
use crate::render::machine::{AgentConfigInputs, agent_config_without_status};
use ichor_bgp::agent::config::{AgentConfig, ConfigSource, HealthProbe};
use ichor_bgp::model::ProtectedPrefixes;
use ichor_bgp::model::{BgpModel, RoutingDomain};
use ichor_values::{Backend, Issue};

/// The MTU of the link to a speaker if Talos creates it.
const MTU: u32 = 1500;

/// The machine of a node, without its ports.
pub(super) fn build_machine(
    inputs: TopologyInputs<'_>,
    protected: &ProtectedPrefixes,
    model: &BgpModel,
    deviations: &mut Deviations,
) -> Result<LabMachine, Vec<Issue>> {
    let node = &inputs.plan.nodes[model.nth];
    let agent_inputs = AgentConfigInputs { attachments: inputs.attachments, secret: inputs.secret };
    let Some(config) = agent_config_without_status(agent_inputs, protected, node)? else {
        unreachable!("{} has routing", node.name)
    };
    let config = adapt_config(inputs, config, model, deviations);
    let speaker = speaker::build_speaker(inputs, model);
    let links = node.links(ConfigStage::Final);
    let dummies = links.iter().filter(|link| link.kind == LinkKind::Dummy);
    let mut machine = LabMachine {
        name: node.name.to_string(),
        vrfs: Vec::new(),
        dummies: dummies.map(|link| (link.name.to_string(), link.mtu.map(|mtu| mtu.0))).collect(),
        addresses: dummy_addresses(node),
        ports: Vec::new(),
        gateways: Vec::new(),
        part: MachineRole::Node {
            backend: config.backend,
            health: local_health_url(&config),
            agent: config.text(),
            sources: model.sources.clone(),
            speaker: None,
        },
    };
    if let (Some(lab_speaker), MachineRole::Node { speaker, .. }) = (speaker, &mut machine.part) {
        machine.dummies.push((speaker::LINK.to_owned(), None));
        machine.addresses.extend(lab_speaker.announces.iter().map(|net| (speaker::LINK.to_owned(), *net)));
        *speaker = Some(lab_speaker);
    }
    Ok(machine)
}

/// The addresses of loopback and dummy links.
fn dummy_addresses(node: &NodePlan) -> Vec<(String, ipnet::IpNet)> {
    let is_dummy = |kind: &LinkKind| matches!(kind, LinkKind::Loopback | LinkKind::Dummy);
    let links = node.links(ConfigStage::Final).into_iter().filter(|link| is_dummy(&link.kind));
    links
        .flat_map(|link| {
            let name = link.name.to_string();
            link.addresses.into_iter().map(move |net| (name.clone(), net))
        })
        .collect()
}

/// Adapts the agent's configuration to the host of the lab.
fn adapt_config(
    inputs: TopologyInputs<'_>,
    mut config: AgentConfig,
    model: &BgpModel,
    deviations: &mut Deviations,
) -> AgentConfig {
    let ConfigSource::Model(bgp) = &mut config.source else { return config };
    let here = inputs.here.release(config.backend);
    match (config.backend, bgp.version.take(), here) {
        (Backend::Native, ..) => {
            deviations.add("gobgpd and ichor's agent replace Talos' own BGP on the nodes");
            config.backend = Backend::Gobgp;
            config.mtu = config.mtu.or(Some(MTU));
        }
        (backend, Some(version), Some(here)) if version != *here => {
            deviations.add(format!("{backend} {here} runs instead of {version} on the nodes"));
        }
        _ => {}
    }
    for (neighbor, adapted) in bgp.model.fabric.neighbors.iter_mut().zip(&model.fabric.neighbors) {
        neighbor.bfd = adapted.bfd;
    }
    if let Some(workload) = &mut bgp.model.workload {
        if config.backend == Backend::Gobgp && workload.domain != RoutingDomain::Shared {
            deviations.add("GoBGP has a single table in the lab: the speaker's routes are not isolated");
            workload.domain = RoutingDomain::Shared;
        }
        if workload.bfd.take().is_some() {
            deviations.add("no BFD with the speakers: gobgpd, which replaces them, has none");
        }
    }
    config
}

/// The URL of the health probe if it is on the node itself.
fn local_health_url(config: &AgentConfig) -> Option<String> {
    let HealthProbe::Url(url) = &config.health.as_ref()?.probe else { return None };
    let rest = url.split_once("://")?.1;
    let authority = rest.split(['/', '?']).next()?;
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host).trim_matches(['[', ']']);
    let local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    local.then(|| url.clone())
}
