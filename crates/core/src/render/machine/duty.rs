//! What the agent on a node is told.

use std::net::IpAddr;

use super::Ground;
use super::routing::{carrier, model, of_node, template};
use crate::plan::attachment::Attachments;
use crate::plan::{ConfigStage, NodePlan, Prefixes, RoutingPlan};
use ichor_bgp::agent::config::{
    AgentConfig, BgpConfig, ConfigSource, HealthCheck, HealthProbe, SecretText, StatusListener, UserTemplate,
};
use ichor_bgp::agent::wiring::ExtraAddresses;
use ichor_bgp::model::{BgpModel, ProtectedPrefixes};
use ichor_bgp::render as routing;
use ichor_bgp::render::SecretFetcher;
use ichor_bgp::setting::Carrier;
use ichor_talos::secrets::agent_certificate;
use ichor_values::{Backend, Issue};

/// The duty of a node's agent; none where no agent runs.
pub fn of(
    ground: Ground<'_>,
    model: &BgpModel,
    node: &NodePlan,
    stage: ConfigStage,
) -> Result<Option<AgentConfig>, Vec<Issue>> {
    let Some(plan) = node.routing.as_deref() else { return Ok(None) };
    if plan.backend.value == Backend::Native || carrier(plan) != Carrier::Ichor {
        return Ok(None);
    }
    let Ground { attachments, secret, .. } = ground;
    let duty = of_model(AgentConfigInputs { attachments, secret }, model.clone(), node);
    let status = status(ground, node, plan, stage);
    match (duty, status) {
        (Ok(duty), Ok(status)) => {
            Ok(duty.map(|duty| AgentConfig { extra_addresses: carried(node, stage), status, ..duty }))
        }
        (duty, status) => Err(duty.err().into_iter().flatten().chain(status.err()).collect()),
    }
}

/// What a duty is made from when it needs none of the cluster's own secrets.
#[derive(Clone, Copy)]
pub struct AgentConfigInputs<'a> {
    /// The files the cluster names.
    pub attachments: &'a Attachments,
    /// Fetches a secret that the file refers to.
    pub secret: &'a SecretFetcher<'a>,
}

/// The duty that an agent would have on a node whose addresses are there, with any backend: the state is served on the node
/// alone. None where the node does not route.
pub fn rehearsed(
    script: AgentConfigInputs<'_>,
    protected: &ProtectedPrefixes,
    node: &NodePlan,
) -> Result<Option<AgentConfig>, Vec<Issue>> {
    let Some(model) = model(protected, node)? else { return Ok(None) };
    of_model(script, model, node)
}

fn of_model(
    script: AgentConfigInputs<'_>,
    model: BgpModel,
    node: &NodePlan,
) -> Result<Option<AgentConfig>, Vec<Issue>> {
    let Some(plan) = node.routing.as_deref() else { return Ok(None) };
    let backend = plan.backend.value;
    let mut issues = Vec::new();
    let passwords = routing::passwords(&model, script.secret, &mut issues);
    let mut errors = of_node(node, issues);
    let template = template(script.attachments, plan).unwrap_or_else(|error| {
        errors.push(Issue::error(node.path(routing::TEMPLATE), error.to_string()));
        None
    });
    let passwords: Vec<_> = passwords.into_iter().map(|password| password.map(SecretText)).collect();
    let meant = BgpConfig {
        model,
        passwords: if passwords.iter().any(Option::is_some) { passwords } else { Vec::new() },
        discover: None,
        announce: Vec::new(),
        version: plan.version.as_ref().map(|version| version.value.clone()),
        options: plan.options(),
        template: template
            .map(|template| UserTemplate { path: template.path.to_owned(), text: template.text.to_owned() }),
    };
    let duty = AgentConfig {
        backend,
        source: ConfigSource::Model(Box::new(meant)),
        mtu: plan.workload.as_ref().and_then(|workload| workload.mtu.as_ref()).map(|mtu| mtu.value.0),
        extra_addresses: Vec::new(),
        health: health(node),
        drain: node.drain.value,
        log: plan.log.value,
        status: None,
    };
    if errors.is_empty() { Ok(Some(duty)) } else { Err(errors) }
}

/// Before it is installed, a Talos without documents for links gives a node no loopback or dummy addresses.
fn carried(node: &NodePlan, stage: ConfigStage) -> Vec<ExtraAddresses> {
    if stage == ConfigStage::Final || !node.old_links {
        return Vec::new();
    }
    let of = |link: &str, prefixes: &Prefixes| ExtraAddresses {
        link: link.to_owned(),
        addresses: prefixes.iter().map(|(net, _)| net).collect(),
    };
    let dummies = node.dummies.iter().filter(|dummy| !dummy.anycast);
    let dummies = dummies.map(|dummy| of(dummy.name.as_str(), &dummy.address));
    let all = std::iter::once(of("lo", &node.loopback)).chain(dummies);
    all.filter(|carried| !carried.addresses.is_empty()).collect()
}

fn health(node: &NodePlan) -> Option<HealthCheck> {
    Some(HealthCheck::of(HealthProbe::Url(node.health.as_ref()?.value.to_string())))
}

/// Where the state is served: not before the installation, when nobody but the node's own can be trusted.
fn status(
    ground: Ground<'_>,
    node: &NodePlan,
    plan: &RoutingPlan,
    stage: ConfigStage,
) -> Result<Option<StatusListener>, Issue> {
    const KEY: &str = "routing.agent.status.listen";
    let listen = plan.status.as_ref().map(|listen| &listen.value);
    let Some(listen) = listen.filter(|_| stage == ConfigStage::Final) else { return Ok(None) };
    let wrong = |reason: String| Issue::error(node.path(KEY), reason);
    let (host, port) = listen.as_str().rsplit_once(':').unwrap_or((listen.as_str(), ""));
    let port = port.parse().map_err(|_| wrong(format!("`{port}` is no port")))?;
    let host = host.trim_matches(['[', ']']);
    let address = if host == "node" { node.main_address() } else { host.parse().ok() };
    let address = address
        .ok_or_else(|| wrong(format!("`{host}` is no address; write one, or `node` for the node's own")))?;
    let mut names: Vec<IpAddr> = [Some(address), node.main_address()].into_iter().flatten().collect();
    names.dedup();
    let pair = agent_certificate(&ground.bundle.os, node.name.as_str(), &names)
        .map_err(|error| wrong(format!("no certificate can be made for it: {error}")))?;
    Ok(Some(StatusListener {
        listen: address,
        port,
        ca: ground.bundle.os.crt.text().into_owned(),
        certificate: pair.crt.text().into_owned(),
        key: SecretText(pair.key.text().into_owned()),
    }))
}
