//! Kernel features that a topology requires.

use super::topology::{LabTopology, MachineRole};
use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_bgp::model::RoutingDomain;

impl LabTopology {
    /// Whether the topology has VRFs, on routers or between nodes and their speakers.
    pub fn needs_vrf(&self) -> bool {
        self.machines.iter().any(|machine| match &machine.part {
            MachineRole::Node { agent, .. } => has_speaker_vrf(agent),
            // A virtual machine has its own kernel.
            MachineRole::Guest(_) => false,
            MachineRole::Router { .. } | MachineRole::Outside { .. } => !machine.vrfs.is_empty(),
        })
    }
}

fn has_speaker_vrf(agent: &str) -> bool {
    let Ok(parsed) = AgentConfig::parse(agent) else { return false };
    let ConfigSource::Model(config) = parsed.config.source else { return false };
    config.model.workload.is_some_and(|workload| matches!(workload.domain, RoutingDomain::Vrf { .. }))
}
