//! IDs of virtual machines.

use super::duplicate::{DuplicateValue, find_duplicates, report_duplicates, share_index, values_by_node};
use crate::model::Cluster;
use crate::plan::{Decided, NodePlan};
use crate::rules::affected_nodes::AffectedNodes;
use crate::rules::{Findings, Rule, RuleContext, Severity};

pub(super) const RULES: &[Rule] = &[DUPLICATE, RANGE];

const DUPLICATE: Rule = Rule {
    id: "duplicate-vm-id",
    severity: Severity::Error,
    summary: "two virtual machines of one hypervisor have the same ID",
    failure: "The hypervisor rejects the second machine after the machines before it in the list have been created.",
    fix: "set another `vm.id`, or a `vm.first_id` far enough from the others",
    check: check_duplicate,
};

const RANGE: Rule = Rule {
    id: "vm-id-range",
    severity: Severity::Error,
    summary: "a virtual machine's ID is one that Proxmox rejects",
    failure: "Proxmox reserves the IDs below 100. It rejects the machine only after its disks have been uploaded.",
    fix: "use IDs from 100 to 999999999, for example `vm.first_id: 300`",
    check: check_range,
};

/// The URL of a hypervisor's API.
pub(in crate::rules) fn hypervisor_url<'c>(cluster: &'c Cluster, name: &str) -> Option<&'c str> {
    let hypervisor = cluster.file.hypervisors.get()?.get(name)?.value;
    let proxmox = hypervisor.proxmox.get().and_then(|proxmox| proxmox.url.get());
    let url = proxmox.or_else(|| hypervisor.libvirt.get()?.uri.get())?;
    Some(url.as_str().trim_end_matches('/'))
}

/// The identity of a hypervisor: its URL, else its name.
fn hypervisor_key<'c>(cluster: &'c Cluster, name: &'c str) -> &'c str {
    hypervisor_url(cluster, name).unwrap_or(name)
}

fn hypervisor_and_id(node: &NodePlan) -> Option<(&str, &Decided<u32>)> {
    let vm = node.vm.as_ref()?;
    Some((vm.hypervisor.as_ref().map_or("", |name| name.value.as_str()), vm.id.as_ref()?))
}

fn check_duplicate(context: &RuleContext<'_>, findings: &mut Findings) {
    let plan = context.plan;
    let all = values_by_node(plan, |node| {
        hypervisor_and_id(node).map(|(name, id)| (id.value, hypervisor_key(context.cluster, name)))
    });
    let duplicates = find_duplicates(all).into_iter().filter_map(|((number, hypervisor), numbers)| {
        let nodes = || numbers.iter().map(|&nth| &plan.nodes[nth as usize]);
        let ids = || nodes().filter_map(|node| Some((node, hypervisor_and_id(node)?.1.origin)));
        if share_index(ids().map(|(node, origin)| (node.index, origin))) {
            return None;
        }
        let affected = ids().map(|(node, origin)| (node, node.place_of(origin))).collect();
        let location = if hypervisor.is_empty() { String::new() } else { format!(" on {hypervisor}") };
        Some(DuplicateValue { key: "vm.id".to_owned(), affected, what: format!("VM ID {number}{location}") })
    });
    report_duplicates(findings, duplicates);
}

fn check_range(context: &RuleContext<'_>, findings: &mut Findings) {
    let hypervisors = context.cluster.file.hypervisors.get();
    let is_proxmox =
        |name: &str| hypervisors.and_then(|known| known.get(name)).is_none_or(|at| at.value.proxmox.is_set());
    let mut affected = AffectedNodes::default();
    let mut first = None;
    for node in &context.plan.nodes {
        if let Some((name, id)) = hypervisor_and_id(node)
            && !(100..=999_999_999).contains(&id.value)
            && is_proxmox(name)
        {
            first.get_or_insert(id.value);
            affected.add(node, node.place_of(id.origin));
        }
    }
    if let Some(number) = first {
        let message = format!("Proxmox rejects VM ID {number}; it accepts 100 to 999999999 ({affected})");
        findings.add(affected.path("vm.id"), affected.place(), message);
    }
}
