//! What a run will do, said beforehand.

use super::blocker::Blocker;
use super::decide::{Next, NodeStep, decide};
use super::record::Record;
use super::seen::{ConfigSeen, Etcd, Look, Seen};
use super::wanted::Wanted;

/// What a run will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreseen {
    /// For each node, as in [`Wanted`]: what will be done, in order, or why nothing will.
    pub nodes: Vec<Result<Vec<String>, Blocker>>,
    /// What will be done with the cluster as a whole.
    pub cluster: Vec<String>,
}

impl Foreseen {
    /// Whether there is anything to do.
    pub fn is_empty(&self) -> bool {
        self.cluster.is_empty() && self.nodes.iter().all(|node| node.as_ref().is_ok_and(Vec::is_empty))
    }
}

/// Says what a run will do from what a first look at every node showed.
pub fn foresee(wanted: &Wanted, seen: &Seen, record: &Record) -> Foreseen {
    let decision = decide(wanted, seen, record);
    let mut nodes = Vec::new();
    for (nth, next) in decision.nodes.iter().enumerate() {
        nodes.push(match next {
            Next::Refused(blocker) => Err(blocker.clone()),
            _ if !wanted.nodes[nth].chosen => Ok(Vec::new()),
            _ => Ok(of_node(wanted, seen, record, nth)),
        });
    }
    let mut cluster = Vec::new();
    let control_planes = || wanted.control_planes().map(|nth| (nth, &seen.nodes[nth].look));
    let runs =
        control_planes().any(|(_, look)| matches!(look, Some(Look::Ours(ours)) if ours.etcd == Etcd::Runs));
    if !runs && !record.is_bootstrapped() {
        let begun = record.bootstrap.as_ref().map(|begun| begun.node.as_str());
        let on = begun.unwrap_or(&wanted.nodes[wanted.bootstrap].name);
        cluster.push(format!("bootstrap etcd, on {on} and once"));
    }
    if !seen.cluster.kubeconfig {
        cluster.push("fetch the kubeconfig and merge it".to_owned());
    }
    Foreseen { nodes, cluster }
}

fn of_node(wanted: &Wanted, seen: &Seen, record: &Record, nth: usize) -> Vec<String> {
    let (node, seen) = (&wanted.nodes[nth], &seen.nodes[nth]);
    let mut media = record.has_media(&node.name);
    let mut steps = Vec::new();
    let first = |steps: &mut Vec<String>| {
        steps.push("give it its configuration".to_owned());
        steps.push("wait until it is installed and runs".to_owned());
    };
    match &seen.look {
        None | Some(Look::Silent) => {
            match seen.machine {
                Some(machine) => {
                    let attaches = !machine.on && machine.takes_media && !record.began(&node.name);
                    media |= attaches;
                    let all = [
                        (!machine.made, NodeStep::Make),
                        (attaches, NodeStep::Attach),
                        (!machine.on, NodeStep::Start),
                    ];
                    steps.extend(
                        all.iter().filter(|(needed, _)| *needed).map(|(_, step)| phrase(*step).to_owned()),
                    );
                }
                None => steps.push("wait until its machine answers".to_owned()),
            }
            first(&mut steps);
        }
        Some(Look::Maintenance(_)) => first(&mut steps),
        Some(Look::Ours(ours)) => {
            if let ConfigSeen::Differs { keys, .. } = &ours.config {
                steps.push(format!("{}: {}", phrase(NodeStep::Reconfigure), keys.join(", ")));
            }
            if ours.stage != ichor_talos::api::machine::Stage::Running {
                steps.push("wait until it runs".to_owned());
            }
        }
        Some(Look::Unclear(_)) => steps.push("wait until it can be asked".to_owned()),
        Some(Look::Foreign(_)) => {}
    }
    if media && seen.machine.is_some() {
        steps.push(phrase(NodeStep::Eject).to_owned());
    }
    steps
}

/// A step, as an order.
fn phrase(step: NodeStep) -> &'static str {
    match step {
        NodeStep::Make => "make its machine",
        NodeStep::Attach => "put its boot media in",
        NodeStep::Start => "switch it on",
        NodeStep::Apply => "give it its configuration",
        NodeStep::Reconfigure => "give it its configuration anew, which differs in",
        NodeStep::Eject => "take its boot media out",
    }
}
