//! Labels of observations and steps.

use ichor_core::bringup::{ClusterStep, NodeProbe, NodeStep};
use ichor_talos::api::machine::Stage;

/// Label of an observation, and its detail.
pub(super) fn probe_label(probe: &NodeProbe) -> (&'static str, Option<String>) {
    match probe {
        NodeProbe::Silent => ("silent", None),
        NodeProbe::Maintenance(_) => ("maintenance", None),
        NodeProbe::Foreign(reason) => ("foreign", Some(reason.clone())),
        NodeProbe::Unclear(reason) => ("unclear", Some(reason.clone())),
        NodeProbe::Ours(member) => {
            (stage_label(member.stage), (!member.unmet.is_empty()).then(|| member.unmet.join("; ")))
        }
    }
}

fn stage_label(stage: Stage) -> &'static str {
    match stage {
        Stage::Unknown => "starting",
        Stage::Booting => "booting",
        Stage::Installing => "installing",
        Stage::Maintenance => "configured",
        Stage::Running => "running",
        Stage::Rebooting => "rebooting",
        Stage::ShuttingDown => "shutting down",
        Stage::Resetting => "resetting",
        Stage::Upgrading => "upgrading",
    }
}

/// Label of a node step.
pub(super) fn node_step_label(step: NodeStep) -> &'static str {
    match step {
        NodeStep::Make => "make",
        NodeStep::Attach => "attach",
        NodeStep::Start => "start",
        NodeStep::Apply => "apply",
        NodeStep::Reconfigure => "reconfigure",
        NodeStep::Eject => "eject",
    }
}

/// Label of a cluster step.
pub(super) fn cluster_step_label(step: ClusterStep) -> &'static str {
    match step {
        ClusterStep::Bootstrap(_) => "bootstrap",
        ClusterStep::Endpoint => "endpoint",
        ClusterStep::Health(_) => "health",
        ClusterStep::Kubeconfig(_) => "kubeconfig",
    }
}
