//! The configuration of the agent on a node.

use std::net::IpAddr;

use super::RenderInputs;
use super::routing::{carrier, model, prefix_subjects, template};
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

/// The configuration of a node's agent; none for nodes without the agent.
pub fn agent_config(
    inputs: RenderInputs<'_>,
    model: &BgpModel,
    node: &NodePlan,
    stage: ConfigStage,
) -> Result<Option<AgentConfig>, Vec<Issue>> {
    let Some(plan) = node.routing.as_deref() else { return Ok(None) };
    if plan.backend.value == Backend::Native || carrier(plan) != Carrier::Ichor {
        return Ok(None);
    }
    let RenderInputs { attachments, secret, .. } = inputs;
    let config = config_from_model(AgentConfigInputs { attachments, secret }, model.clone(), node);
    let status = status_listener(inputs, node, plan, stage);
    match (config, status) {
        (Ok(config), Ok(status)) => Ok(config.map(|config| AgentConfig {
            extra_addresses: boot_addresses(node, stage),
            status,
            ..config
        })),
        (config, status) => Err(config.err().into_iter().flatten().chain(status.err()).collect()),
    }
}

/// Inputs of an agent configuration without the cluster's secrets.
#[derive(Clone, Copy)]
pub struct AgentConfigInputs<'a> {
    /// The files that the cluster file refers to.
    pub attachments: &'a Attachments,
    /// Fetches a secret that the cluster file refers to.
    pub secret: &'a SecretFetcher<'a>,
}

/// The agent configuration of an installed node with any backend, without the status listener, which requires the cluster's
/// secrets. None without routing.
pub fn agent_config_without_status(
    inputs: AgentConfigInputs<'_>,
    protected: &ProtectedPrefixes,
    node: &NodePlan,
) -> Result<Option<AgentConfig>, Vec<Issue>> {
    let Some(model) = model(protected, node)? else { return Ok(None) };
    config_from_model(inputs, model, node)
}

fn config_from_model(
    inputs: AgentConfigInputs<'_>,
    model: BgpModel,
    node: &NodePlan,
) -> Result<Option<AgentConfig>, Vec<Issue>> {
    let Some(plan) = node.routing.as_deref() else { return Ok(None) };
    let backend = plan.backend.value;
    let mut issues = Vec::new();
    let passwords = routing::fetch_passwords(&model, inputs.secret, &mut issues);
    let mut errors = prefix_subjects(node, issues);
    let template = template(inputs.attachments, plan).unwrap_or_else(|error| {
        errors.push(Issue::error(node.path(routing::TEMPLATE), error.to_string()));
        None
    });
    let passwords: Vec<_> = passwords.into_iter().map(|password| password.map(SecretText)).collect();
    let bgp = BgpConfig {
        model,
        passwords: if passwords.iter().any(Option::is_some) { passwords } else { Vec::new() },
        discover: None,
        announce: Vec::new(),
        version: plan.version.as_ref().map(|version| version.value.clone()),
        options: plan.options(),
        template: template
            .map(|template| UserTemplate { path: template.path.to_owned(), text: template.text.to_owned() }),
    };
    let config = AgentConfig {
        backend,
        source: ConfigSource::Model(Box::new(bgp)),
        mtu: plan.workload.as_ref().and_then(|workload| workload.mtu.as_ref()).map(|mtu| mtu.value.0),
        extra_addresses: Vec::new(),
        health: health_check(node),
        drain: node.drain.value,
        log: plan.log.value,
        status: None,
    };
    if errors.is_empty() { Ok(Some(config)) } else { Err(errors) }
}

/// Loopback and dummy addresses that the agent configures before the installation, because a Talos without link documents does
/// not.
fn boot_addresses(node: &NodePlan, stage: ConfigStage) -> Vec<ExtraAddresses> {
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
    all.filter(|extra| !extra.addresses.is_empty()).collect()
}

fn health_check(node: &NodePlan) -> Option<HealthCheck> {
    Some(HealthCheck::new(HealthProbe::Url(node.health.as_ref()?.value.to_string())))
}

/// The status listener; none before the installation, because a certificate must not be in the first configuration.
fn status_listener(
    inputs: RenderInputs<'_>,
    node: &NodePlan,
    plan: &RoutingPlan,
    stage: ConfigStage,
) -> Result<Option<StatusListener>, Issue> {
    const KEY: &str = "routing.agent.status.listen";
    let listen = plan.status.as_ref().map(|listen| &listen.value);
    let Some(listen) = listen.filter(|_| stage == ConfigStage::Final) else { return Ok(None) };
    let invalid = |reason: String| Issue::error(node.path(KEY), reason);
    let (host, port) = listen.as_str().rsplit_once(':').unwrap_or((listen.as_str(), ""));
    let port = port.parse().map_err(|_| invalid(format!("`{port}` is not a port")))?;
    let host = host.trim_matches(['[', ']']);
    let address = if host == "node" { node.main_address() } else { host.parse().ok() };
    let address = address.ok_or_else(|| {
        invalid(format!("`{host}` is not an address; use one, or `node` for the node's own"))
    })?;
    let mut names: Vec<IpAddr> = [Some(address), node.main_address()].into_iter().flatten().collect();
    names.dedup();
    let pair = agent_certificate(&inputs.bundle.os, node.name.as_str(), &names)
        .map_err(|error| invalid(format!("cannot create its certificate: {error}")))?;
    Ok(Some(StatusListener {
        listen: address,
        port,
        ca: inputs.bundle.os.crt.text().into_owned(),
        certificate: pair.crt.text().into_owned(),
        key: SecretText(pair.key.text().into_owned()),
    }))
}
