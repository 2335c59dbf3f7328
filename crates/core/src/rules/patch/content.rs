//! The content of patches: virtual addresses on workers, and host names.

use serde_json::Value;

use super::{ConfigPatch, nodes_of, used_patches};
use crate::cluster::section::Role;
use crate::plan::NodeClass;
use crate::rules::affected_nodes::{AffectedNodes, NodesByProblem};
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::{document, release};

pub(in crate::rules) const RULES: &[Rule] = &[VIP_ON_WORKER, HOSTNAME_TWICE];

const VIP_ON_WORKER: Rule = Rule {
    id: "patch-vip-on-worker",
    severity: Severity::Error,
    summary: "a patch gives a worker a virtual IP",
    failure: "An election in etcd decides which node holds the VIP, and workers have no etcd. Talos rejects a worker's \
              configuration with `vip` in it; with a Layer2VIPConfig the worker never claims the address and logs no \
              reason.",
    fix: "move the patch to `roles.controlplane.patches`, or set the address as `network.api.vip`",
    check: check_vip_on_worker,
};

const HOSTNAME_TWICE: Rule = Rule {
    id: "hostname-twice",
    severity: Severity::Error,
    summary: "a node's host name is set twice",
    failure: "From 1.12 on the host name is in a HostnameConfig, and Talos rejects a configuration that has \
              `machine.network.hostname` as well. A patch that several nodes share gives them all one name, and each \
              replaces the previous one in Kubernetes.",
    fix: "remove the host name from patches and kernel arguments: it is the node's name",
    check: check_hostname_twice,
};

fn check_vip_on_worker(context: &RuleContext<'_>, findings: &mut Findings) {
    for (patch, kinds) in used_patches(context) {
        let is_worker = |kind: &&&NodeClass| context.plan.nodes[kind.first()].role == Role::Worker;
        let workers = nodes_of(kinds.iter().filter(is_worker));
        if workers.is_empty() {
            continue;
        }
        let names = AffectedNodes::from_numbers(context.plan, &workers).names();
        for key in patch.documents().iter().flat_map(vip_keys) {
            let message = format!("{key} on workers: {names}");
            findings.add(&patch.key, patch.place, patch.message(message));
        }
    }
}

/// The keys of a document that configure a virtual IP.
fn vip_keys(document: &Value) -> Vec<String> {
    let mut keys = Vec::new();
    if matches!(document::kind(document), Some("Layer2VIPConfig" | "HCloudVIPConfig")) {
        keys.push(document::kind(document).unwrap_or_default().to_owned());
    }
    for (nth, interface) in document::items(document, "/machine/network/interfaces") {
        let key = format!("machine.network.interfaces[{nth}]");
        if document::value_at(interface, "/vip").is_some() {
            keys.push(format!("{key}.vip"));
        }
        let vlans = document::items(interface, "/vlans");
        keys.extend(
            vlans
                .filter(|(_, vlan)| document::value_at(vlan, "/vip").is_some())
                .map(|(vlan, _)| format!("{key}.vlans[{vlan}].vip")),
        );
    }
    keys
}

fn check_hostname_twice(context: &RuleContext<'_>, findings: &mut Findings) {
    for (patch, kinds) in used_patches(context) {
        let nodes = nodes_of(&kinds);
        for document in patch.documents() {
            if let Some(why) = hostname_fault(context, document, &nodes) {
                findings.add(&patch.key, patch.place, patch.message(why));
            }
        }
    }
    check_kernel_hostnames(context, findings);
}

/// The fault of a host name in a document that `nodes` share.
fn hostname_fault(context: &RuleContext<'_>, document: &Value, nodes: &[usize]) -> Option<String> {
    let first = &context.plan.nodes[*nodes.first()?];
    let documents = release::at_least(&context.plan.cluster.contract.value, 12);
    let legacy = document::value_at(document, "/machine/network/hostname").and_then(Value::as_str);
    if legacy.is_some() && documents {
        return Some(
            "machine.network.hostname conflicts with the HostnameConfig of every configuration".to_owned(),
        );
    }
    let stable = document::value_at(document, "/machine/features/stableHostname");
    if documents && stable == Some(&Value::Bool(true)) {
        return Some("machine.features.stableHostname conflicts with the HostnameConfig".to_owned());
    }
    let of_kind = (document::kind(document) == Some("HostnameConfig")).then_some(document);
    let auto = of_kind.and_then(|document| document::value_at(document, "/auto")).and_then(Value::as_str);
    if auto == Some("stable") {
        return Some("HostnameConfig with `auto: stable` conflicts with the node's name".to_owned());
    }
    let given =
        of_kind.and_then(|document| document::value_at(document, "/hostname")).and_then(Value::as_str);
    let name = legacy.or(given)?;
    if nodes.len() > 1 {
        return Some(format!(
            "the host name {name} is set for several nodes: {}",
            AffectedNodes::from_numbers(context.plan, nodes).names()
        ));
    }
    (name != first.name.as_str()).then(|| format!("the host name {name} is set for {}", first.name))
}

fn check_kernel_hostnames(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let Some(kernel) = node.written().kernel.get() else { continue };
        for arg in kernel.args.items() {
            let Some(name) = arg.value.as_str().strip_prefix("talos.hostname=") else { continue };
            let others: Vec<_> = kind
                .nodes
                .iter()
                .copied()
                .filter(|&nth| context.plan.nodes[nth].name.as_str() != name)
                .collect();
            if !others.is_empty() {
                let message = format!("talos.hostname={name} is set for nodes with another name");
                problems.add_message("kernel.args", Some(arg.place), message, &others);
            }
        }
    }
    problems.report(context, findings);
}

impl ConfigPatch {
    /// Whether the patch sets the installation disk.
    pub(in crate::rules) fn sets_install_disk(&self) -> bool {
        let install = ["/machine/install/disk", "/machine/install/diskSelector"];
        self.documents().iter().any(|document| {
            install.iter().any(|pointer| document::value_at(document, pointer).is_some())
                || document::kind(document) == Some("UnattendedInstallConfig")
        })
    }
}
