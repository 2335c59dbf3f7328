//! Virtual machines: their hypervisor, size and boot order.

use super::hypervisor::proxmox_host;
use crate::cluster::section::{BootDevice, BootFrom, Role};
use crate::plan::{Decided, NodePlan, VmPlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::WordOrRecord;
use ichor_values::listing;
use ichor_values::nearest;

pub(super) const RULES: &[Rule] = &[HYPERVISOR, HOST_UNKNOWN, TOO_SMALL, BOOTS_NOTHING];

const HYPERVISOR: Rule = Rule {
    id: "vm-hypervisor",
    severity: Severity::Error,
    summary: "a virtual machine has no hypervisor",
    failure: "ichor cannot create a machine if the file has no hypervisor, or has several and the machine names none \
              of them.",
    fix: "add one to `hypervisors`, or select one of several with `vm.hypervisor`; remove `vm` from physical machines",
    check: check_hypervisor,
};

const HOST_UNKNOWN: Rule = Rule {
    id: "vm-host-unknown",
    severity: Severity::Error,
    summary: "a virtual machine is assigned to a host that its hypervisor does not have",
    failure: "Proxmox rejects the request with \"hostname lookup failed\" after the machines before it in the list \
              have been created.",
    fix: "name one of the hypervisor's `hosts`, or add the host there",
    check: check_host_unknown,
};

const TOO_SMALL: Rule = Rule {
    id: "vm-too-small",
    severity: Severity::Warning,
    summary: "a virtual machine is smaller than Talos requires",
    failure: "A control plane with 1 GiB boots. Once etcd and the API server run, the kernel kills one of them every \
              few minutes for lack of memory.",
    fix: "give a control plane at least 2 cores and 2GiB, a worker at least 1 core and 1GiB, and each a disk of 10GiB",
    check: check_too_small,
};

const BOOTS_NOTHING: Rule = Rule {
    id: "vm-boots-nothing",
    severity: Severity::Error,
    summary: "a virtual machine never boots from its disk, or from its disk only",
    failure: "With `boot: [cdrom]` Talos is installed, boots from the CD-ROM again, finds itself on the disk and \
              halts. With `boot: [disk]` the machine has nothing to boot, because its disk is empty.",
    fix: "leave `vm.boot` out, or write `[disk, cdrom]`, or `[disk, net]` for machines that boot from the network",
    check: check_boots_nothing,
};

pub(super) fn machines<'c>(context: &RuleContext<'c>) -> impl Iterator<Item = (&'c NodePlan, &'c VmPlan)> {
    context.plan.nodes.iter().filter_map(|node| Some((node, node.vm.as_deref()?)))
}

fn check_hypervisor(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    let names: Vec<_> = context.cluster.file.hypervisors.entries().map(|(name, _)| name.as_str()).collect();
    for (node, kind) in context.plan.by_class() {
        if node.vm.as_ref().is_some_and(|vm| vm.hypervisor.is_none()) {
            let message = match names.as_slice() {
                [] => "the file has no hypervisor".to_owned(),
                _ => {
                    format!("the file has several hypervisors: {}", listing::join_names(&names, names.len()))
                }
            };
            problems.add_message("vm.hypervisor", node.written().vm.place(), message, &kind.nodes);
        }
    }
    problems.report(context, findings);
}

fn check_host_unknown(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, vm) in machines(context) {
        let Some(host) = &vm.host else { continue };
        let Some(hosts) = proxmox_host(context, node).and_then(|proxmox| proxmox.hosts.get()) else {
            continue;
        };
        if !hosts.values().any(|known| *known == host.value) {
            let near = nearest(host.value.as_str(), hosts.values().map(|known| known.as_str()));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let message = format!("the hypervisor has no host {}{hint}", host.value);
            problems.add_message("vm.host", host.place(), message, &[node.nth]);
        }
    }
    problems.report(context, findings);
}

fn check_too_small(context: &RuleContext<'_>, findings: &mut Findings) {
    const GIB: u64 = 1 << 30;
    let mut problems = NodesByProblem::new(context.plan);
    for (node, vm) in machines(context) {
        let (whose, cores, memory) = match node.role {
            Role::Controlplane => ("a control plane", 2, 2),
            Role::Worker => ("a worker", 1, 1),
        };
        if vm.cores.value < cores {
            let plural = if cores == 1 { "core" } else { "cores" };
            let message = format!("{whose} needs {cores} {plural}, not {}", vm.cores.value);
            problems.add_message("vm.cores", vm.cores.place(), message, &[node.nth]);
        }
        // 2000MB are close enough to 2GiB.
        for (key, size, least) in [("memory", &vm.memory, memory), ("disk", &vm.disk, 10)] {
            if is_below(size.value.bytes(), least * GIB) {
                let message = format!("{whose} needs {least}GiB, not {}", size.value);
                problems.add_message(format!("vm.{key}"), Decided::place(size), message, &[node.nth]);
            }
        }
    }
    problems.report(context, findings);
}

/// Whether a size is below another by more than the difference between GB and GiB.
fn is_below(bytes: u64, least: u64) -> bool {
    bytes < least - least / 14
}

fn check_boots_nothing(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let Some(boot) = node.vm.as_ref().map(|vm| &vm.boot) else { continue };
        let has = |device| boot.value.contains(&device);
        let message = if boot.value.is_empty() {
            "`vm.boot` is empty"
        } else if !has(BootDevice::Disk) {
            "the machine never boots from its disk"
        } else if node.boot.from.value == BootFrom::Netboot && !has(BootDevice::Net) {
            "the machine never boots from the network, which provides its first configuration"
        } else if boot.value == [BootDevice::Disk] && !has_disk_image(node) {
            "the disk is empty, and no other boot device installs Talos"
        } else {
            continue;
        };
        problems.add_message("vm.boot", boot.place(), message, &kind.nodes);
    }
    problems.report(context, findings);
}

/// Whether the file names a disk image.
fn has_disk_image(node: &NodePlan) -> bool {
    let source = node.written().image.get().and_then(|image| image.source.get());
    matches!(source, Some(WordOrRecord::Record(given)) if given.disk.is_set())
}
