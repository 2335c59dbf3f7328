//! What is seen and done, in words.

use ichor_core::bringup::{ClusterStep, Look, NodeStep};
use ichor_talos::api::machine::Stage;

/// What was seen, in a word, and what is going on there.
pub(super) fn words(look: &Look) -> (&'static str, Option<String>) {
    match look {
        Look::Silent => ("silent", None),
        Look::Maintenance(_) => ("maintenance", None),
        Look::Foreign(whose) => ("foreign", Some(whose.clone())),
        Look::Unclear(reason) => ("unclear", Some(reason.clone())),
        Look::Ours(ours) => (stage_word(ours.stage), (!ours.unmet.is_empty()).then(|| ours.unmet.join("; "))),
    }
}

fn stage_word(stage: Stage) -> &'static str {
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

/// A step of a node, in a word.
pub(super) fn word(step: NodeStep) -> &'static str {
    match step {
        NodeStep::Make => "make",
        NodeStep::Attach => "attach",
        NodeStep::Start => "start",
        NodeStep::Apply => "apply",
        NodeStep::Reconfigure => "reconfigure",
        NodeStep::Eject => "eject",
    }
}

/// A step of the cluster, in a word.
pub(super) fn cluster_word(step: ClusterStep) -> &'static str {
    match step {
        ClusterStep::Bootstrap(_) => "bootstrap",
        ClusterStep::Endpoint => "endpoint",
        ClusterStep::Health(_) => "health",
        ClusterStep::Kubeconfig(_) => "kubeconfig",
    }
}
