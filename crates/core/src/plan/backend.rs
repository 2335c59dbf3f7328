//! What each backend can do, by Talos release and carrier.

use super::{NeighborPlan, WorkloadPlan};
use crate::cluster::section::{Backend, Carrier, Isolation, Routing};
use crate::cluster::value::{TalosVersion, Toggle};
use crate::model::Cluster;
use crate::talos::release;

/// Something a backend cannot do that the file asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The key below `routing` that asks for it.
    pub key: &'static str,
    /// What is asked for.
    pub what: &'static str,
    /// Why it cannot be done.
    pub why: &'static str,
}

/// Everything this file asks of `backend` that it cannot do.
pub fn lacks(
    backend: Backend,
    carrier: Option<Carrier>,
    talos: &TalosVersion,
    routing: &Routing,
    neighbors: &[NeighborPlan],
    workload: Option<&WorkloadPlan>,
    cluster: &Cluster,
) -> Vec<Lack> {
    let mut lacks = Vec::new();
    let mut lack = |asked: bool, key, what, why| {
        if asked {
            lacks.push(Lack { key, what, why });
        }
    };
    let policy = routing.policy.get();
    let policy_in = policy.and_then(|policy| policy.r#in.get());
    let policy_out = policy.and_then(|policy| policy.out.get());
    let health = cluster
        .network()
        .and_then(|network| network.api.get())
        .is_some_and(|api| api.health.is_set() && api.anycast.is_set());
    let agentless = backend == Backend::Native || carrier == Some(Carrier::Official);
    if backend == Backend::Native {
        let none = "BGPInstanceConfig has no such field";
        lack(!release::at_least(talos, 14), "backend", "BGP by Talos itself", "Talos has it from 1.14 on");
        lack(neighbors.iter().any(|neighbor| neighbor.password), "neighbors", "a session password", none);
        lack(
            policy_in.is_some_and(|policy| policy.allow.is_set()),
            "policy.in.allow",
            "a filter on what comes in",
            none,
        );
        lack(
            policy_in.is_some_and(|policy| policy.max_prefixes.is_set()),
            "policy.in.max_prefixes",
            "a prefix limit",
            none,
        );
        lack(
            policy_in.is_some_and(|policy| policy.local_preference.is_set()),
            "policy.in.local_preference",
            "a local preference",
            none,
        );
        lack(
            policy_out.is_some_and(|policy| policy.communities.get().is_some_and(|list| !list.0.is_empty())),
            "policy.out.communities",
            "communities",
            none,
        );
        lack(
            policy_out.is_some_and(|policy| policy.prepend.value().unwrap_or(0) > 0),
            "policy.out.prepend",
            "prepending",
            none,
        );
        lack(
            routing.aggregates.get().is_some_and(|list| !list.0.is_empty()),
            "aggregates",
            "aggregates",
            none,
        );
        lack(
            matches!(routing.graceful_restart.get(), Some(Toggle::On(_))),
            "graceful_restart",
            "graceful restart",
            none,
        );
        lack(
            workload.is_some_and(|workload| workload.isolation.value == Isolation::Netns),
            "workload.isolation",
            "a network namespace",
            "an instance runs in a VRF or in the default domain",
        );
        lack(
            workload.is_some_and(|workload| workload.isolation.value == Isolation::None),
            "workload.isolation",
            "a speaker without isolation",
            "the speaker's end must be in another routing domain",
        );
        lack(
            routing.daemons.get().is_some_and(|map| map.iter().next().is_some()),
            "daemons",
            "daemon options",
            "there is no daemon",
        );
    }
    if backend == Backend::Gobgp {
        lack(
            policy_in.is_some_and(|policy| policy.max_prefixes.is_set()),
            "policy.in.max_prefixes",
            "a prefix limit that closes the session",
            "gobgpd only warns",
        );
        lack(
            routing.aggregates.get().is_some_and(|list| !list.0.is_empty()),
            "aggregates",
            "aggregates",
            "gobgpd makes none",
        );
    }
    if carrier == Some(Carrier::Official) {
        lack(
            backend != Backend::Bird,
            "carrier",
            "an official extension",
            "Talos' only routing extension is bird2",
        );
        lack(
            !release::at_least(talos, 12),
            "carrier",
            "the official bird2 extension",
            "Talos has it from 1.12 on",
        );
        lack(
            workload.is_some_and(|workload| workload.isolation.value == Isolation::Netns),
            "workload.isolation",
            "a network namespace",
            "without the agent nobody makes it",
        );
    }
    lack(
        agentless && health,
        "network.api.health",
        "anycast that follows the API's health",
        "it needs the agent",
    );
    lack(
        agentless && routing.agent.get().is_some_and(|agent| agent.status.is_set()),
        "agent.status",
        "the agent's status",
        "there is no agent",
    );
    lack(
        routing.template.get().is_some_and(|map| map.iter().any(|(kind, _)| *kind != backend)),
        "template",
        "a template for another backend",
        "only the chosen backend's template is used",
    );
    lacks
}
