//! BGP on one node: who speaks it, what is announced, and what is let in and out.
//!
//! Not here: the sessions with the fabric ([`neighbor`](super::neighbor)) and the one with the speaker
//! ([`workload`](super::workload)).

use std::collections::BTreeMap;

use super::backend::Ask;
use super::derive::Rule;
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
    /// Who speaks BGP.
    pub backend: Decided<Backend>,
    /// What brings it onto the node; none for the native backend.
    pub carrier: Option<Decided<Carrier>>,
    /// Release of the daemon; that of its extension where none is written.
    pub version: Option<Decided<SoftwareVersion>>,
    /// Name of the extension service; none for the native backend.
    pub service: Option<Decided<String>>,
    /// What the file asks of it that it cannot do.
    pub lacks: Vec<backend::Lack>,
    /// Which addresses are announced.
    pub advertise: Decided<Vec<Advertise>>,
    /// Prefixes that are announced in place of their parts.
    pub aggregates: Option<Decided<List<Prefix>>>,
    /// Whom it peers with.
    pub neighbors: Vec<NeighborPlan>,
    /// What is let in and out.
    pub(crate) policy: PolicyPlan,
    /// Seconds that neighbours keep routes through a planned restart; none where they drop them.
    pub graceful_restart: Option<Decided<u16>>,
    /// The speaker of service addresses.
    pub workload: Option<WorkloadPlan>,
    /// The file's own template for the configuration of its daemon.
    pub template: Option<Decided<FilePath>>,
    /// More options of its daemons.
    pub options: Option<Decided<Map<Word, List<Text>>>>,
    /// How much the agent logs.
    pub log: Decided<LogLevel>,
    /// Where the agent serves its status.
    pub status: Option<Decided<HostPort>>,
}

impl RoutingPlan {
    /// More options, by daemon: each word of a command line for itself.
    pub fn options(&self) -> BTreeMap<String, Vec<String>> {
        let written = self.options.iter().flat_map(|options| options.value.iter());
        written
            .map(|(daemon, at)| (daemon.to_string(), at.value.values().map(ToString::to_string).collect()))
            .collect()
    }
}

/// What is let in from the fabric, and what is added on the way out.
#[derive(Debug)]
pub struct PolicyPlan {
    /// Prefixes that are let in, and all within them; everything where none are written.
    pub allow: Option<Decided<List<Prefix>>>,
    /// More routes than this close the session.
    pub max_prefixes: Option<Decided<u32>>,
    /// Local preference of what is let in; the daemon's own where none is written.
    pub local_preference: Option<Decided<u32>>,
    /// Communities that are added.
    pub communities: Option<Decided<List<Community>>>,
    /// How often the own AS number is put in front once more.
    pub prepend: Decided<u8>,
}

/// All that the BGP of a node is planned from.
#[derive(Clone, Copy)]
pub(crate) struct RoutingInputs<'a> {
    /// The cluster, for its routers and pools.
    pub cluster: &'a Cluster,
    /// What is written about routing, without what is each node's own: AS number and router id.
    pub routing: &'a Routing,
    /// Names of the node's ports, in order.
    pub ports: &'a [LinkName],
    /// Role of the node.
    pub role: Role,
    /// Its Talos release.
    pub talos: &'a TalosVersion,
    /// Whether it has an anycast address that follows the API's health.
    pub health: bool,
    /// Whether links whose addresses are announced have others besides.
    pub(crate) more: bool,
}

/// Decides everything about a node's BGP.
pub fn plan(inputs: RoutingInputs<'_>) -> RoutingPlan {
    let RoutingInputs { cluster, routing, ports, role: _, talos, health, more } = inputs;
    let neighbors = neighbor::plan(cluster, routing, ports);
    let gobgp = routing.backend.value() == Some(Backend::Gobgp);
    let workload = routing.workload.at().and_then(|at| workload::plan(cluster, &at, gobgp));
    let ask =
        Ask { cluster, talos, routing, neighbors: &neighbors, workload: workload.as_ref(), health, more };
    let backend = backend(&ask);
    let carrier = (backend.value != Backend::Native)
        .then(|| Decided::or(&routing.carrier, Carrier::Ichor, "ichor's extension, with the agent"));
    let brings = carrier.as_ref().map(|carrier| carrier.value);
    let lacks = backend::lacks(backend.value, brings, &ask);
    let none = Agent::default();
    let agent = routing.agent.get().unwrap_or(&none);
    RoutingPlan {
        version: Decided::of(&routing.version),
        service: brings.map(|carrier| service(routing, backend.value, carrier)),
        lacks,
        advertise: match routing.advertise.at() {
            Some(at) => Decided::written(announced::kinds(routing), at.place),
            None => Decided::default(announced::kinds(routing), "everything the node has for others"),
        },
        aggregates: Decided::of(&routing.aggregates),
        policy: policy(routing),
        graceful_restart: graceful_restart(routing),
        template: template(routing, backend.value),
        options: Decided::of(&routing.daemons),
        log: Decided::or(&agent.log, LogLevel::Info, "what changed, and what may fail"),
        status: agent.status.get().and_then(|status| Decided::of(&status.listen)),
        backend,
        carrier,
        neighbors,
        workload,
    }
}

fn backend(ask: &Ask<'_>) -> Decided<Backend> {
    Decided::of(&ask.routing.backend).unwrap_or_else(|| {
        let native = backend::lacks(Backend::Native, None, ask).is_empty();
        Decided::derived(if native { Backend::Native } else { Backend::Frr }, Rule::FirstBackend, None)
    })
}

fn service(routing: &Routing, backend: Backend, carrier: Carrier) -> Decided<String> {
    let usual = match (backend, carrier) {
        (Backend::Bird, Carrier::Official) => "bird2",
        _ => backend.word(),
    };
    Decided::text(&routing.service, usual, "that of the extension")
}

fn policy(routing: &Routing) -> PolicyPlan {
    let none = (Policy::default(), PolicyIn::default(), PolicyOut::default());
    let Policy { r#in, out } = routing.policy.get().unwrap_or(&none.0);
    let PolicyIn { allow, max_prefixes, local_preference } = r#in.get().unwrap_or(&none.1);
    let PolicyOut { communities, prepend } = out.get().unwrap_or(&none.2);
    PolicyPlan {
        allow: Decided::of(allow),
        max_prefixes: Decided::of(max_prefixes),
        local_preference: Decided::of(local_preference),
        communities: Decided::of(communities),
        prepend: Decided::or(prepend, 0, "all paths of a node count alike"),
    }
}

fn graceful_restart(routing: &Routing) -> Option<Decided<u16>> {
    const SECONDS: u16 = 30;
    let usual = || Decided::default(SECONDS, "longer than a restart of the daemon");
    match routing.graceful_restart.get() {
        None => Some(usual()),
        Some(Toggle::Off) => None,
        Some(Toggle::On(GracefulRestart { time })) => Some(Decided::of(time).unwrap_or_else(usual)),
    }
}

fn template(routing: &Routing, backend: Backend) -> Option<Decided<FilePath>> {
    let at = routing.template.get()?.get(&backend)?;
    Some(Decided::written(at.value.clone(), at.place))
}
