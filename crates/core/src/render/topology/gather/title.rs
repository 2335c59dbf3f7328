//! The title: the name of the cluster and its common facts.

use super::facts::list;
use crate::cluster::section::Role;
use crate::plan::{CniPlan, Plan, Prefixes};
use crate::render::topology::diagram::{Fact, Title};

/// The name of the cluster and its common facts.
pub fn title(plan: &Plan) -> Title {
    let cluster = &plan.cluster;
    let mut facts = Vec::new();
    let mut fact = |label: &str, value: String| {
        if !value.is_empty() {
            facts.push(Fact::new(label, value));
        }
    };
    fact("cluster id", list(cluster.id));
    fact("Talos", cluster.talos.to_string());
    fact("Kubernetes", list(cluster.kubernetes.iter().map(|version| &version.value)));
    fact("API endpoint", list(cluster.endpoint.iter().map(|endpoint| &endpoint.value)));
    fact("CNI", cni(&cluster.cni.value));
    fact("nodes", counts(plan));
    fact("node network", prefixes(&cluster.node));
    if plan.nodes.iter().any(|node| node.routing.is_some()) {
        fact("loopbacks", prefixes(&cluster.loopback));
    }
    fact("pods", list(&cluster.pods.value));
    fact("services", list(&cluster.services.value));
    for (name, pool) in &cluster.pools {
        fact(&format!("pool {}", name.as_str()), list(pool.iter().map(|prefix| prefix.value)));
    }
    Title { name: cluster.name.to_string(), facts }
}

fn cni(cni: &CniPlan) -> String {
    match cni {
        CniPlan::Flannel(None) => "flannel".to_owned(),
        CniPlan::Flannel(Some(link)) => format!("flannel on {}", link.as_str()),
        CniPlan::Cilium => "cilium".to_owned(),
        CniPlan::None => "none".to_owned(),
        CniPlan::Manifest(path) => path.clone(),
    }
}

fn prefixes(prefixes: &Prefixes) -> String {
    list(prefixes.iter().map(|(prefix, _)| prefix))
}

fn counts(plan: &Plan) -> String {
    let control_planes = plan.control_planes().count();
    let workers = plan.nodes.len() - control_planes;
    format!("{}, {}", node_count(control_planes, Role::Controlplane), node_count(workers, Role::Worker))
}

/// A text for a number of nodes of one role.
pub(crate) fn node_count(count: usize, role: Role) -> String {
    format!("{count} {}{}", self::role(role), if count == 1 { "" } else { "s" })
}

/// The display name of a role.
pub fn role(role: Role) -> &'static str {
    match role {
        Role::Controlplane => "control plane",
        Role::Worker => "worker",
    }
}
