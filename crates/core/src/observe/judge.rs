//! What is not right with a node, or with the cluster, by what was told.

use super::{EtcdMemberList, ExpectedImage, ExpectedNode, NodeSnapshot, NodeStatusReport, QueryOutcome};
use crate::cluster::section::Role;

/// What is not right with a node.
pub(super) fn node(expected: &ExpectedNode, answer: &QueryOutcome) -> Vec<String> {
    match answer {
        QueryOutcome::Silent { reasons } if reasons.is_empty() => {
            vec![
                "nobody knows where it is: see `ichor discover`, or give its address by --node-address"
                    .to_owned(),
            ]
        }
        QueryOutcome::Silent { reasons } => vec![format!("it does not answer: {}", reasons.join("; "))],
        QueryOutcome::Other { reason } => vec![reason.clone()],
        QueryOutcome::Maintenance { told, .. } => {
            let mut problems = vec!["it waits for its configuration: `ichor up` brings it".to_owned()];
            common(expected, told, &mut problems);
            problems
        }
        QueryOutcome::Configured(told) => {
            let mut problems = Vec::new();
            stage(told, &mut problems);
            common(expected, told, &mut problems);
            image(expected, told, &mut problems);
            cluster_parts(expected, told, &mut problems);
            problems
        }
    }
}

fn stage(told: &NodeSnapshot, problems: &mut Vec<String>) {
    if told.stage != "running" {
        problems.push(format!(
            "it is {}",
            if told.stage.is_empty() { "at no stage it tells" } else { &told.stage }
        ));
    }
    problems.extend(told.unmet.iter().map(|unmet| format!("not ready: {unmet}")));
    if told.stage == "running" && !told.ready && told.unmet.is_empty() {
        problems.push("it is not ready, and does not say why".to_owned());
    }
    let unnamed = |service: &&String| {
        let id = service.split_once(' ').map_or(service.as_str(), |(id, _)| id);
        !told.unmet.iter().any(|unmet| unmet.contains(id))
    };
    let down = told.down.iter().filter(unnamed);
    problems.extend(down.map(|service| format!("service {service}: `ichor logs` says why")));
}

/// Whether an installed node runs the image of the file, where that is more than a list of extensions.
fn image(expected: &ExpectedNode, told: &NodeSnapshot, problems: &mut Vec<String>) {
    let ExpectedImage::Schematic(_) = expected.image else { return };
    if let Some(other) = told.extensions.as_ref().and_then(|has| expected.image.differs(has)) {
        problems.push(format!("{other}: `ichor upgrade` brings it"));
    }
}

/// What holds before and after a node has its configuration.
fn common(expected: &ExpectedNode, told: &NodeSnapshot, problems: &mut Vec<String>) {
    if let Some(talos) = &told.talos
        && *talos != expected.talos.to_string()
    {
        problems.push(format!("it runs Talos {talos}, and should run {}", expected.talos));
    }
    if let Some(extensions) = &told.extensions {
        let lacks = |wanted: &&String| !extensions.iter().any(|it| it.name == **wanted);
        let lacking: Vec<&str> = expected.extensions.iter().filter(lacks).map(String::as_str).collect();
        if !lacking.is_empty() {
            problems
                .push(format!("its image lacks {}: it runs another than the file means", lacking.join(", ")));
        }
    }
    for session in told.sessions.iter().flatten() {
        match &session.trouble {
            Some(trouble) => problems.push(format!("BGP with {}: {trouble}", session.peer)),
            None if !session.established => {
                problems.push(format!("BGP with {} is {}", session.peer, session.state));
            }
            None => {}
        }
    }
    problems.extend(told.diagnostics.iter().cloned());
    problems.extend(told.untold.iter().cloned());
}

fn cluster_parts(expected: &ExpectedNode, told: &NodeSnapshot, problems: &mut Vec<String>) {
    if let Some(keys) = told.drift.as_ref().filter(|keys| !keys.is_empty()) {
        problems.push(format!("its configuration is another in {}: `ichor diff` shows it", keys.join(", ")));
    }
    if expected.sessions && told.sessions.is_none() {
        problems.push("it tells nothing of its BGP sessions".to_owned());
    }
    if let Some(kubernetes) = told.kubernetes {
        if !kubernetes.ready {
            problems.push("Kubernetes does not find it ready".to_owned());
        }
        if !kubernetes.schedulable {
            problems.push("it is cordoned".to_owned());
        }
    } else if told.stage == "running" {
        problems.push("Kubernetes does not know it".to_owned());
    }
    match &told.etcd {
        Some(etcd) => {
            if etcd.learner {
                problems.push("its etcd does not vote yet".to_owned());
            }
            problems.extend(etcd.errors.iter().map(|error| format!("etcd: {error}")));
        }
        None if expected.role == Role::Controlplane => problems.push("it has no member of etcd".to_owned()),
        None => {}
    }
}

/// What is not right with no single node.
pub(super) fn cluster(nodes: &[NodeStatusReport], etcd: Option<&EtcdMemberList>) -> Vec<String> {
    let Some(etcd) = etcd else { return Vec::new() };
    let planes = || nodes.iter().filter(|node| node.role == Role::Controlplane);
    let strangers = etcd.names.iter().filter(|name| !planes().any(|node| node.name == **name));
    let strangers = strangers.map(|name| {
        format!("etcd has a member {name} that is no control plane of the file: it counts for the quorum")
    });
    let absent = planes().filter(|node| !etcd.names.contains(&node.name) && node.answer.told().is_none());
    let absent = absent.map(|node| format!("{} is no member of etcd, {} says", node.name, etcd.told_by));
    strangers.chain(absent).collect()
}
