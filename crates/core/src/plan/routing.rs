//! BGP on one node: backend, announcements and policies.
//!
//! Not here: the sessions with the fabric ([`neighbor`](super::neighbor)) and the one with the speaker
//! ([`workload`](super::workload)).

use std::collections::BTreeMap;

use super::backend::RequestedFeatures;
use super::derive::Derivation;
use super::{Decided, NeighborPlan, WorkloadPlan, announced, backend, neighbor, workload};
use crate::cluster::section::{Agent, GracefulRestart, Policy, PolicyIn, PolicyOut, Role, Routing};
use crate::model::Cluster;
use ichor_bgp::setting::{Advertise, Carrier, LogLevel};
use ichor_values::Backend;
use ichor_values::key::{List, Map};
use ichor_values::{
    Community, FilePath, HostPort, LinkName, Prefix, SoftwareVersion, TalosVersion, Text, Toggle, Word,
};

/// BGP on one node.
#[derive(Debug)]
pub struct RoutingPlan {
    /// BGP implementation.
    pub backend: Decided<Backend>,
    /// Provider of its extension; none for the native backend.
    pub carrier: Option<Decided<Carrier>>,
    /// Release of the daemon; the default is that of its extension.
    pub version: Option<Decided<SoftwareVersion>>,
    /// Name of the extension service; none for the native backend.
    pub service: Option<Decided<String>>,
    /// Requested features that the backend does not support.
    pub limitations: Vec<backend::Limitation>,
    /// Kinds of addresses to announce.
    pub advertise: Decided<Vec<Advertise>>,
    /// Aggregates.
    pub aggregates: Option<Decided<List<Prefix>>>,
    /// BGP neighbours.
    pub neighbors: Vec<NeighborPlan>,
    /// Import and export policy.
    pub(crate) policy: PolicyPlan,
    /// Restart time in seconds; none without graceful restart.
    pub graceful_restart: Option<Decided<u16>>,
    /// The speaker of service addresses.
    pub workload: Option<WorkloadPlan>,
    /// Custom template for the configuration of the daemon.
    pub template: Option<Decided<FilePath>>,
    /// Additional options of its daemons.
    pub options: Option<Decided<Map<Word, List<Text>>>>,
    /// Log level of the agent.
    pub log: Decided<LogLevel>,
    /// Listen address of the agent's status server.
    pub status: Option<Decided<HostPort>>,
}

impl RoutingPlan {
    /// Additional options by daemon, one word each.
    pub fn options(&self) -> BTreeMap<String, Vec<String>> {
        let written = self.options.iter().flat_map(|options| options.value.iter());
        written
            .map(|(daemon, at)| (daemon.to_string(), at.value.values().map(ToString::to_string).collect()))
            .collect()
    }
}

/// Import and export policy toward the fabric.
#[derive(Debug)]
pub struct PolicyPlan {
    /// Prefixes to accept, including more specific ones; the default is everything.
    pub allow: Option<Decided<List<Prefix>>>,
    /// Prefix limit.
    pub max_prefixes: Option<Decided<u32>>,
    /// Local preference of accepted routes; the default is the daemon's.
    pub local_preference: Option<Decided<u32>>,
    /// Communities to add.
    pub communities: Option<Decided<List<Community>>>,
    /// Number of times that the own AS number is prepended.
    pub prepend: Decided<u8>,
}

/// Inputs of a BGP plan.
#[derive(Clone, Copy)]
pub(crate) struct RoutingInputs<'a> {
    /// The cluster, for its routers and pools.
    pub cluster: &'a Cluster,
    /// The `routing` section, without the AS number and router ID, which differ per node.
    pub routing: &'a Routing,
    /// Names of the node's ports, in order.
    pub ports: &'a [LinkName],
    /// Role of the node.
    pub role: Role,
    /// Its Talos release.
    pub talos: &'a TalosVersion,
    /// Whether it has an anycast address that depends on the API's health.
    pub health: bool,
    /// Whether announced links have other addresses.
    pub(crate) has_other_addresses: bool,
}

/// Decides the BGP settings of a node.
pub fn plan(inputs: RoutingInputs<'_>) -> RoutingPlan {
    let RoutingInputs { cluster, routing, ports, role: _, talos, health, has_other_addresses } = inputs;
    let neighbors = neighbor::plan(cluster, routing, ports);
    let gobgp = routing.backend.value() == Some(Backend::Gobgp);
    let workload = routing.workload.at().and_then(|at| workload::plan(cluster, &at, gobgp));
    let features = RequestedFeatures {
        cluster,
        talos,
        routing,
        neighbors: &neighbors,
        workload: workload.as_ref(),
        health,
        has_other_addresses,
    };
    let backend = decide_backend(&features);
    let carrier = (backend.value != Backend::Native)
        .then(|| Decided::from_key_or(&routing.carrier, Carrier::Ichor, "ichor's extension, with the agent"));
    let provider = carrier.as_ref().map(|carrier| carrier.value);
    let limitations = backend::limitations(backend.value, provider, &features);
    let none = Agent::default();
    let agent = routing.agent.get().unwrap_or(&none);
    RoutingPlan {
        version: Decided::from_key(&routing.version),
        service: provider.map(|carrier| service(routing, backend.value, carrier)),
        limitations,
        advertise: match routing.advertise.at() {
            Some(at) => Decided::written(announced::advertised_kinds(routing), at.place),
            None => {
                Decided::default(announced::advertised_kinds(routing), "every kind of address the node has")
            }
        },
        aggregates: Decided::from_key(&routing.aggregates),
        policy: policy(routing),
        graceful_restart: graceful_restart(routing),
        template: template(routing, backend.value),
        options: Decided::from_key(&routing.daemons),
        log: Decided::from_key_or(&agent.log, LogLevel::Info, "changes and possible failures"),
        status: agent.status.get().and_then(|status| Decided::from_key(&status.listen)),
        backend,
        carrier,
        neighbors,
        workload,
    }
}

fn decide_backend(features: &RequestedFeatures<'_>) -> Decided<Backend> {
    Decided::from_key(&features.routing.backend).unwrap_or_else(|| {
        let native = backend::limitations(Backend::Native, None, features).is_empty();
        Decided::derived(if native { Backend::Native } else { Backend::Frr }, Derivation::FirstBackend, None)
    })
}

fn service(routing: &Routing, backend: Backend, carrier: Carrier) -> Decided<String> {
    let default = match (backend, carrier) {
        (Backend::Bird, Carrier::Official) => "bird2",
        _ => backend.word(),
    };
    Decided::text_or(&routing.service, default, "the extension's service name")
}

fn policy(routing: &Routing) -> PolicyPlan {
    let none = (Policy::default(), PolicyIn::default(), PolicyOut::default());
    let Policy { r#in, out } = routing.policy.get().unwrap_or(&none.0);
    let PolicyIn { allow, max_prefixes, local_preference } = r#in.get().unwrap_or(&none.1);
    let PolicyOut { communities, prepend } = out.get().unwrap_or(&none.2);
    PolicyPlan {
        allow: Decided::from_key(allow),
        max_prefixes: Decided::from_key(max_prefixes),
        local_preference: Decided::from_key(local_preference),
        communities: Decided::from_key(communities),
        prepend: Decided::from_key_or(prepend, 0, "all paths of a node are equal"),
    }
}

fn graceful_restart(routing: &Routing) -> Option<Decided<u16>> {
    const SECONDS: u16 = 30;
    let default = || Decided::default(SECONDS, "longer than a restart of the daemon");
    match routing.graceful_restart.get() {
        None => Some(default()),
        Some(Toggle::Off) => None,
        Some(Toggle::On(GracefulRestart { time })) => Some(Decided::from_key(time).unwrap_or_else(default)),
    }
}

fn template(routing: &Routing, backend: Backend) -> Option<Decided<FilePath>> {
    let at = routing.template.get()?.get(&backend)?;
    Some(Decided::written(at.value.clone(), at.place))
}
