//! The head of the picture: the cluster's name and what holds for all of it.

use super::facts::list;
use crate::cluster::section::Role;
use crate::plan::{CniPlan, Plan, Prefixes};
use crate::render::topology::scene::{Fact, Title};

/// The cluster's name and what holds for all of it.
pub fn title(plan: &Plan) -> Title {
    let whole = &plan.cluster;
    let mut facts = Vec::new();
    let mut fact = |label: &str, value: String| {
        if !value.is_empty() {
            facts.push(Fact::new(label, value));
        }
    };
    fact("cluster id", list(whole.id));
    fact("Talos", whole.talos.to_string());
    fact("Kubernetes", list(whole.kubernetes.iter().map(|version| &version.value)));
    fact("API endpoint", list(whole.endpoint.iter().map(|endpoint| &endpoint.value)));
    fact("CNI", cni(&whole.cni.value));
    fact("nodes", counts(plan));
    fact("node network", prefixes(&whole.node));
    if plan.nodes.iter().any(|node| node.routing.is_some()) {
        fact("loopbacks", prefixes(&whole.loopback));
    }
    fact("pods", list(&whole.pods.value));
    fact("services", list(&whole.services.value));
    for (name, pool) in &whole.pools {
        fact(&format!("pool {}", name.as_str()), list(pool.iter().map(|prefix| prefix.value)));
    }
    Title { name: whole.name.to_string(), facts }
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
    format!("{}, {}", counted(control_planes, Role::Controlplane), counted(workers, Role::Worker))
}

/// A number of nodes of one role, in words.
pub(crate) fn counted(count: usize, of: Role) -> String {
    format!("{count} {}{}", role(of), if count == 1 { "" } else { "s" })
}

/// A role in words.
pub fn role(role: Role) -> &'static str {
    match role {
        Role::Controlplane => "control plane",
        Role::Worker => "worker",
    }
}
