//! What a scene needs of the kernel.

use super::scene::{LabTopology, MachineRole};
use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_bgp::model::RoutingDomain;

impl LabTopology {
    /// Whether it has VRFs: of routers, or between nodes and their speakers.
    pub fn needs_vrf(&self) -> bool {
        self.machines.iter().any(|machine| match &machine.part {
            MachineRole::Node { agent, .. } => speaks_in_vrf(agent),
            // It has a kernel of its own.
            MachineRole::Guest(_) => false,
            MachineRole::Router { .. } | MachineRole::Outside { .. } => !machine.vrfs.is_empty(),
        })
    }
}

fn speaks_in_vrf(agent: &str) -> bool {
    let Ok(parsed) = AgentConfig::parse(agent) else { return false };
    let ConfigSource::Model(meant) = parsed.config.source else { return false };
    meant.model.workload.is_some_and(|workload| matches!(workload.domain, RoutingDomain::Vrf { .. }))
}
