//! Limits of hypervisors.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::vm::machines;
use crate::cluster::section::{Firmware, Libvirt, Machine, Proxmox};
use crate::plan::{NodePlan, VmPlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::Arch;

pub(super) const RULES: &[Rule] = &[ARGS_NEED_ROOT, REFUSED, NETWORK, VLAN, TOGETHER];

const ARGS_NEED_ROOT: Rule = Rule {
    id: "args-need-root",
    severity: Severity::Error,
    summary: "`vm.args` on a Proxmox host whose login is not root@pam",
    failure: "Arguments for QEMU can access every file of the host, so Proxmox accepts them from root@pam with a \
              password only. It rejects every API token, even root's: \"only root can set 'args' config\".",
    fix: "remove `vm.args`, or log in with `user: root@pam` and a password",
    check: check_args_need_root,
};

const REFUSED: Rule = Rule {
    id: "vm-refused",
    severity: Severity::Error,
    summary: "the hypervisor does not support a setting of a virtual machine",
    failure: "The hypervisor's API rejects the machine after those before it in the list have been created: Proxmox, \
              for example, does not know `nic: virtio-net` and calls it `virtio`.",
    fix: "use a value that the hypervisor supports, as the message says",
    check: check_refused,
};

const NETWORK: Rule = Rule {
    id: "libvirt-network",
    severity: Severity::Error,
    summary: "the network of a libvirt host has contradictory settings",
    failure: "libvirt creates the bridge of a NAT network itself, as a Linux bridge: `ovs: true` has no effect and \
              VLANs are missing. If the network's prefix is not the nodes', the nodes have no gateway.",
    fix: "write `nat` with the nodes' prefix and the name of a new `bridge`, or `bridge` and `ovs` for an existing one",
    check: check_network,
};

const VLAN: Rule = Rule {
    id: "vm-vlan-bridge",
    severity: Severity::Warning,
    summary: "a VLAN on a Linux bridge, which libvirt supports from 11.0 on",
    failure: "Earlier releases of libvirt define the machine without an error and refuse to start it.",
    fix: "use an Open vSwitch bridge with `ovs: true`, a bridge that is in the VLAN itself, or libvirt 11.0",
    check: check_vlan,
};

const TOGETHER: Rule = Rule {
    id: "vm-together",
    severity: Severity::Warning,
    summary: "machines that must be kept apart run on one host",
    failure: "With three control planes on two hosts, one host runs two of them. If it fails, etcd loses its quorum \
              and the cluster stops.",
    fix: "add a host to the hypervisor's `hosts`, set another `vm.host`, or remove `vm.anti_affinity`",
    check: check_together,
};

/// The network card models of both Proxmox and libvirt.
const MODELS: [&str; 5] = ["virtio", "e1000", "e1000e", "rtl8139", "vmxnet3"];

/// The libvirt host of a node's virtual machine.
fn libvirt_host<'c>(context: &RuleContext<'c>, node: &NodePlan) -> Option<&'c Libvirt> {
    let name = &node.vm.as_ref()?.hypervisor.as_ref()?.value;
    context.cluster.file.hypervisors.get()?.get(name.as_str())?.value.libvirt.get()
}

fn check_args_need_root(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let Some(args) = node.written().vm.get().and_then(|vm| vm.args.at()) else { continue };
        let Some(proxmox) = proxmox_host(context, node).filter(|_| !args.value.0.is_empty()) else {
            continue;
        };
        let login = match proxmox.user.get() {
            _ if proxmox.token.is_set() => "an API token",
            Some(user) if user.as_str() != "root@pam" => "a user other than root@pam",
            _ => continue,
        };
        problems.add_message("vm.args", Some(args.place), format!("the login is {login}"), &kind.nodes);
    }
    problems.report(context, findings);
}

/// The Proxmox host of a node's virtual machine.
pub(super) fn proxmox_host<'c>(context: &RuleContext<'c>, node: &NodePlan) -> Option<&'c Proxmox> {
    let name = &node.vm.as_ref()?.hypervisor.as_ref()?.value;
    context.cluster.file.hypervisors.get()?.get(name.as_str())?.value.proxmox.get()
}

fn check_refused(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, vm) in machines(context) {
        let mut say =
            |key: &str, place, message: String| problems.add_message(key, place, message, &[node.nth]);
        if !MODELS.contains(&vm.nic.value.as_str()) {
            let message = format!("`{}` is not one of {}", vm.nic.value, MODELS.join(", "));
            say("vm.nic", vm.nic.place(), message);
        }
        if let Some(fault) = firmware_fault(node, vm) {
            say("vm.firmware", vm.firmware.place(), fault.to_owned());
        }
        let Some(written) = node.written().vm.get().filter(|_| proxmox_host(context, node).is_some()) else {
            continue;
        };
        if let Some(storage) = written.storage.at().filter(|at| !is_storage(at.value.as_str())) {
            say("vm.storage", Some(storage.place), storage_fault(storage.value.as_str()));
        }
        if !is_bridge(&vm.bridge.value) {
            let message = format!("`{}` is not a valid Proxmox bridge name, such as vmbr0", vm.bridge.value);
            say("vm.bridge", vm.bridge.place(), message);
        }
        if let Some(pool) = written.pool.at().filter(|at| !is_pool(at.value.as_str())) {
            let message = format!("`{}` is not a valid Proxmox pool name, such as talos", pool.value);
            say("vm.pool", Some(pool.place), message);
        }
    }
    problems.report(context, findings);
    for (name, at) in context.cluster.file.hypervisors.entries() {
        let Some(proxmox) = at.value.proxmox.get() else { continue };
        for (key, storage) in [("iso", proxmox.iso.at()), ("disks", proxmox.disks.at())] {
            if let Some(storage) = storage.filter(|at| !is_storage(at.value.as_str())) {
                let path = format!("hypervisors.{name}.proxmox.{key}");
                findings.add(path, storage.place, storage_fault(storage.value.as_str()));
            }
        }
    }
}

fn storage_fault(name: &str) -> String {
    format!("`{name}` is not a valid Proxmox storage name, such as local-lvm")
}

fn firmware_fault(node: &NodePlan, vm: &VmPlan) -> Option<&'static str> {
    let secure = node.written().image.get().and_then(|image| image.secure_boot.value()) == Some(true);
    match vm.firmware.value {
        Firmware::Seabios if node.arch.value == Arch::Arm64 => Some("arm64 machines need UEFI (ovmf)"),
        Firmware::Ovmf if secure && vm.machine.value == Machine::I440fx => {
            Some("secure boot needs machine type q35")
        }
        _ => None,
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// pve-storage-id: a letter, then letters, digits, `-`, `_` and `.`, and a letter or digit at the end.
fn is_storage(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.ends_with(|last: char| last.is_ascii_alphanumeric())
        && name.bytes().all(is_plain)
}

/// pve-bridge-id: a bridge or a network of the SDN.
fn is_bridge(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_plain)
}

/// Pools may be nested, which is written with slashes.
fn is_pool(name: &str) -> bool {
    name.split('/').all(|part| !part.is_empty() && part.bytes().all(is_plain))
}

fn check_network(context: &RuleContext<'_>, findings: &mut Findings) {
    for (name, at) in context.cluster.file.hypervisors.entries() {
        let Some(network) = at.value.libvirt.get().and_then(|libvirt| libvirt.network.get()) else {
            continue;
        };
        let Some(nat) = network.nat.at() else { continue };
        let message = if network.ovs.value() == Some(true) {
            "a NAT network cannot use an Open vSwitch bridge".to_owned()
        } else if let Some(bridge) = network.bridge.get() {
            let outside = nodes_outside(context, bridge.as_str(), nat.value.0);
            let [first, rest @ ..] = outside.as_slice() else { continue };
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            format!("{} is not the network of {first}{more}", nat.value)
        } else {
            "a NAT network needs its own `bridge` name, other than libvirt's default virbr0".to_owned()
        };
        findings.add(format!("hypervisors.{name}.libvirt.network"), nat.place, message);
    }
}

/// The machines on a bridge with addresses outside its network.
fn nodes_outside<'c>(context: &RuleContext<'c>, bridge: &str, network: IpNet) -> Vec<&'c str> {
    let is_outside = |node: &NodePlan| {
        let mut own = node
            .address
            .iter()
            .map(|(net, _)| net.addr())
            .filter(|own| own.is_ipv4() == network.addr().is_ipv4());
        own.any(|own| !network.contains(&own))
    };
    let on_it = machines(context)
        .filter(|(node, vm)| libvirt_host(context, node).is_some() && vm.bridge.value == bridge);
    on_it.filter(|(node, _)| is_outside(node)).map(|(node, _)| node.name.as_str()).collect()
}

fn check_vlan(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, vm) in machines(context) {
        let (Some(vlan), Some(host)) = (&vm.vlan, libvirt_host(context, node)) else { continue };
        if host.network.get().and_then(|network| network.ovs.value()) != Some(true) {
            let message =
                format!("VLAN {} on {}, which is not an Open vSwitch bridge", vlan.value, vm.bridge.value);
            problems.add_message("vm.vlan", vlan.place(), message, &[node.nth]);
        }
    }
    problems.report(context, findings);
}

fn check_together(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut hosts: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (node, vm) in machines(context) {
        let apart = node.written().vm.get().and_then(|vm| vm.anti_affinity.value()) == Some(true);
        let (Some(hypervisor), Some(host)) = (&vm.hypervisor, &vm.host) else { continue };
        if apart {
            let key = (hypervisor.value.as_str(), host.value.as_str(), node.role.word());
            hosts.entry(key).or_default().push(node.nth);
        }
    }
    let mut problems = NodesByProblem::new(context.plan);
    for ((_, host, role), nodes) in hosts.into_iter().filter(|(_, nodes)| nodes.len() > 1) {
        let first = &context.plan.nodes[nodes[0]];
        let place = first.written().vm.get().and_then(|vm| vm.anti_affinity.place());
        let message = format!("{} nodes with role {role} are on {host}", nodes.len());
        problems.add_message("vm.anti_affinity", place, message, &nodes);
    }
    problems.report(context, findings);
}
