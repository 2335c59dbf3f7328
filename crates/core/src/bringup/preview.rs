//! Predicts the steps of a run.

use super::blocker::Blocker;
use super::decide::{NextStep, NodeStep, decide};
use super::desired::DesiredState;
use super::observed::{ConfigState, EtcdPhase, NodeProbe, ObservedState};
use super::record::BringupRecord;

/// The predicted steps of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BringupPreview {
    /// By node, as in [`DesiredState`]: the steps in order, or why the node has no steps.
    pub nodes: Vec<Result<Vec<String>, Blocker>>,
    /// The steps of the cluster.
    pub cluster: Vec<String>,
}

impl BringupPreview {
    /// Whether there is anything to do.
    pub fn is_empty(&self) -> bool {
        self.cluster.is_empty() && self.nodes.iter().all(|node| node.as_ref().is_ok_and(Vec::is_empty))
    }
}

/// Predicts the steps of a run from the first probe of every node.
pub fn preview(wanted: &DesiredState, seen: &ObservedState, record: &BringupRecord) -> BringupPreview {
    let decision = decide(wanted, seen, record);
    let mut nodes = Vec::new();
    for (nth, next) in decision.nodes.iter().enumerate() {
        nodes.push(match next {
            NextStep::Refused(blocker) => Err(blocker.clone()),
            _ if !wanted.nodes[nth].chosen => Ok(Vec::new()),
            _ => Ok(preview_node(wanted, seen, record, nth)),
        });
    }
    let mut cluster = Vec::new();
    let control_planes = || wanted.control_planes().map(|nth| (nth, &seen.nodes[nth].look));
    let runs = control_planes()
        .any(|(_, look)| matches!(look, Some(NodeProbe::Ours(ours)) if ours.etcd == EtcdPhase::Runs));
    if !runs && !record.is_bootstrapped() {
        let begun = record.bootstrap.as_ref().map(|begun| begun.node.as_str());
        let on = begun.unwrap_or(&wanted.nodes[wanted.bootstrap].name);
        cluster.push(format!("bootstrap etcd on {on}"));
    }
    if !seen.cluster.kubeconfig {
        cluster.push("fetch the kubeconfig and merge it".to_owned());
    }
    BringupPreview { nodes, cluster }
}

fn preview_node(
    wanted: &DesiredState,
    seen: &ObservedState,
    record: &BringupRecord,
    nth: usize,
) -> Vec<String> {
    let (node, seen) = (&wanted.nodes[nth], &seen.nodes[nth]);
    let mut media = record.has_media(&node.name);
    let mut steps = Vec::new();
    let add_first_config = |steps: &mut Vec<String>| {
        steps.push(step_text(NodeStep::Apply).to_owned());
        steps.push("wait until it is installed and running".to_owned());
    };
    match &seen.look {
        None | Some(NodeProbe::Silent) => {
            match seen.machine {
                Some(machine) => {
                    let attaches = !machine.on && machine.takes_media && !record.has_first_config(&node.name);
                    media |= attaches;
                    let all = [
                        (!machine.made, NodeStep::Make),
                        (attaches, NodeStep::Attach),
                        (!machine.on, NodeStep::Start),
                    ];
                    steps.extend(
                        all.iter().filter(|(needed, _)| *needed).map(|(_, step)| step_text(*step).to_owned()),
                    );
                }
                None => steps.push("wait until its machine answers".to_owned()),
            }
            add_first_config(&mut steps);
        }
        Some(NodeProbe::Maintenance(_)) => add_first_config(&mut steps),
        Some(NodeProbe::Ours(ours)) => {
            if let ConfigState::Differs { keys, .. } = &ours.config {
                steps.push(format!("{}: {}", step_text(NodeStep::Reconfigure), keys.join(", ")));
            }
            if ours.stage != ichor_talos::api::machine::Stage::Running {
                steps.push("wait until it is running".to_owned());
            }
        }
        Some(NodeProbe::Unclear(_)) => steps.push("wait until it can be queried".to_owned()),
        Some(NodeProbe::Foreign(_)) => {}
    }
    if media && seen.machine.is_some() {
        steps.push(step_text(NodeStep::Eject).to_owned());
    }
    steps
}

/// A step as an imperative.
fn step_text(step: NodeStep) -> &'static str {
    match step {
        NodeStep::Make => "create its machine",
        NodeStep::Attach => "insert its boot media",
        NodeStep::Start => "power it on",
        NodeStep::Apply => "apply its configuration",
        NodeStep::Reconfigure => "update its configuration",
        NodeStep::Eject => "eject its boot media",
    }
}
