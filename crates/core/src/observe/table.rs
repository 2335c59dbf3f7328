//! The report as a table.

use super::{ClusterStatusReport, NodeSnapshot, NodeStatusReport, QueryOutcome};
use crate::cluster::section::Role;
use crate::table;

const HEADING: [&str; 9] = ["NODE", "ROLE", "ADDRESS", "STAGE", "TALOS", "K8S", "ETCD", "BGP", "CONFIG"];

impl ClusterStatusReport {
    /// One row per node.
    pub fn table(&self) -> String {
        let rows: Vec<_> = self.nodes.iter().map(row).collect();
        table::text(&HEADING, &rows)
    }

    /// All problems, each with its node.
    pub fn problems(&self) -> impl Iterator<Item = (Option<&str>, &str)> {
        let of_nodes = self.nodes.iter().flat_map(|node| {
            node.problems.iter().map(|problem| (Some(node.name.as_str()), problem.as_str()))
        });
        of_nodes.chain(self.problems.iter().map(|problem| (None, problem.as_str())))
    }
}

fn row(node: &NodeStatusReport) -> Vec<String> {
    let role = match node.role {
        Role::Controlplane => "control plane",
        Role::Worker => "worker",
    };
    let stage = match &node.answer {
        QueryOutcome::Configured(snapshot) if snapshot.ready => snapshot.stage.clone(),
        QueryOutcome::Configured(snapshot) => format!("{}, not ready", snapshot.stage),
        QueryOutcome::Maintenance { .. } => "maintenance".to_owned(),
        QueryOutcome::Other { .. } => "another machine".to_owned(),
        QueryOutcome::Silent { .. } => "unreachable".to_owned(),
    };
    let at = node.at.map_or_else(String::new, |at| at.to_string());
    let head = [node.name.clone(), role.to_owned(), at, stage];
    let cells = node.answer.snapshot().map(|snapshot| snapshot_cells(node, snapshot)).unwrap_or_default();
    head.into_iter().chain(cells).collect()
}

fn snapshot_cells(node: &NodeStatusReport, snapshot: &NodeSnapshot) -> [String; 5] {
    let talos = match &snapshot.talos {
        Some(talos) if *talos == node.talos_wanted => talos.clone(),
        Some(talos) => format!("{talos}, not {}", node.talos_wanted),
        None => String::new(),
    };
    let kubernetes = snapshot.kubernetes.map_or("", |it| match (it.ready, it.schedulable) {
        (true, true) => "ready",
        (true, false) => "cordoned",
        (false, _) => "not ready",
    });
    let etcd = snapshot.etcd.as_ref().map_or("", |it| match (it.leads, it.learner) {
        (true, _) => "leader",
        (false, true) => "learner",
        (false, false) => "member",
    });
    let bgp = snapshot.sessions.as_ref().map_or_else(String::new, |sessions| {
        format!("{}/{}", sessions.iter().filter(|it| it.established).count(), sessions.len())
    });
    let config = match snapshot.drift.as_deref() {
        None => "",
        Some([]) => "same",
        Some(_) => "differs",
    };
    [talos, kubernetes.to_owned(), etcd.to_owned(), bgp, config.to_owned()]
}
