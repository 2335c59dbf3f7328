//! Finds the problems of nodes and of the cluster.

use super::{EtcdMemberList, ExpectedImage, ExpectedNode, NodeSnapshot, NodeStatusReport, QueryOutcome};
use crate::cluster::section::Role;

/// The problems of a node.
pub(super) fn find_node_problems(expected: &ExpectedNode, answer: &QueryOutcome) -> Vec<String> {
    match answer {
        QueryOutcome::Silent { reasons } if reasons.is_empty() => {
            vec!["the node's address is unknown: run `ichor discover`, or pass --node-address".to_owned()]
        }
        QueryOutcome::Silent { reasons } => vec![format!("the node does not answer: {}", reasons.join("; "))],
        QueryOutcome::Other { reason } => vec![reason.clone()],
        QueryOutcome::Maintenance { snapshot, .. } => {
            let mut problems =
                vec!["the node is in maintenance mode: `ichor up` applies its configuration".to_owned()];
            check_common(expected, snapshot, &mut problems);
            problems
        }
        QueryOutcome::Configured(snapshot) => {
            let mut problems = Vec::new();
            check_stage(snapshot, &mut problems);
            check_common(expected, snapshot, &mut problems);
            check_image(expected, snapshot, &mut problems);
            check_cluster_state(expected, snapshot, &mut problems);
            problems
        }
    }
}

fn check_stage(snapshot: &NodeSnapshot, problems: &mut Vec<String>) {
    if snapshot.stage != "running" {
        problems.push(if snapshot.stage.is_empty() {
            "the node does not report its stage".to_owned()
        } else {
            format!("the node is {}", snapshot.stage)
        });
    }
    problems.extend(snapshot.unmet.iter().map(|unmet| format!("not ready: {unmet}")));
    if snapshot.stage == "running" && !snapshot.ready && snapshot.unmet.is_empty() {
        problems.push("the node is not ready and reports no reason".to_owned());
    }
    let unnamed = |service: &&String| {
        let id = service.split_once(' ').map_or(service.as_str(), |(id, _)| id);
        !snapshot.unmet.iter().any(|unmet| unmet.contains(id))
    };
    let down = snapshot.down.iter().filter(unnamed);
    problems.extend(down.map(|service| format!("service {service}: see `ichor logs`")));
}

/// Compares the image of an installed node, if a schematic identifies it.
fn check_image(expected: &ExpectedNode, snapshot: &NodeSnapshot, problems: &mut Vec<String>) {
    let ExpectedImage::Schematic(_) = expected.image else { return };
    if let Some(other) = snapshot.extensions.as_ref().and_then(|has| expected.image.difference(has)) {
        problems.push(format!("{other}: run `ichor upgrade`"));
    }
}

/// Checks that apply before and after a node is configured.
fn check_common(expected: &ExpectedNode, snapshot: &NodeSnapshot, problems: &mut Vec<String>) {
    if let Some(talos) = &snapshot.talos
        && *talos != expected.talos.to_string()
    {
        problems.push(format!("the node runs Talos {talos}, expected {}", expected.talos));
    }
    if let Some(extensions) = &snapshot.extensions {
        let lacks = |wanted: &&String| !extensions.iter().any(|it| it.name == **wanted);
        let lacking: Vec<&str> = expected.extensions.iter().filter(lacks).map(String::as_str).collect();
        if !lacking.is_empty() {
            problems.push(format!(
                "the image lacks {}: it is not the image of the cluster file",
                lacking.join(", ")
            ));
        }
    }
    for session in snapshot.sessions.iter().flatten() {
        match &session.trouble {
            Some(trouble) => problems.push(format!("BGP with {}: {trouble}", session.peer)),
            None if !session.established => {
                problems.push(format!("BGP with {} is {}", session.peer, session.state));
            }
            None => {}
        }
    }
    problems.extend(snapshot.diagnostics.iter().cloned());
    problems.extend(snapshot.untold.iter().cloned());
}

fn check_cluster_state(expected: &ExpectedNode, snapshot: &NodeSnapshot, problems: &mut Vec<String>) {
    if let Some(keys) = snapshot.drift.as_ref().filter(|keys| !keys.is_empty()) {
        problems.push(format!("the configuration differs in {}: see `ichor diff`", keys.join(", ")));
    }
    if expected.sessions && snapshot.sessions.is_none() {
        problems.push("the node does not report its BGP sessions".to_owned());
    }
    if let Some(kubernetes) = snapshot.kubernetes {
        if !kubernetes.ready {
            problems.push("the Kubernetes node is not ready".to_owned());
        }
        if !kubernetes.schedulable {
            problems.push("the Kubernetes node is cordoned".to_owned());
        }
    } else if snapshot.stage == "running" {
        problems.push("the node is not registered in Kubernetes".to_owned());
    }
    match &snapshot.etcd {
        Some(etcd) => {
            if etcd.learner {
                problems.push("the etcd member is still a learner".to_owned());
            }
            problems.extend(etcd.errors.iter().map(|error| format!("etcd: {error}")));
        }
        None if expected.role == Role::Controlplane => {
            problems.push("the node is not a member of etcd".to_owned());
        }
        None => {}
    }
}

/// Problems that concern no single node.
pub(super) fn find_cluster_problems(
    nodes: &[NodeStatusReport],
    etcd: Option<&EtcdMemberList>,
) -> Vec<String> {
    let Some(etcd) = etcd else { return Vec::new() };
    let planes = || nodes.iter().filter(|node| node.role == Role::Controlplane);
    let unknown = etcd.names.iter().filter(|name| !planes().any(|node| node.name == **name));
    let unknown = unknown.map(|name| {
        format!("etcd has a member {name} that is not in the cluster file and counts towards the quorum")
    });
    let missing =
        planes().filter(|node| !etcd.names.contains(&node.name) && node.answer.snapshot().is_none());
    let missing =
        missing.map(|node| format!("{} reports that {} is not a member of etcd", etcd.told_by, node.name));
    unknown.chain(missing).collect()
}
