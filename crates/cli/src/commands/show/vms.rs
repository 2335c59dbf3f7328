//! `show vms`: virtual machines.

use std::io::Write;

use ichor_core::plan::{NodePlan, VmPlan};
use ichor_core::render::hypervisor::uuid::VmUuid;
use serde_json::{Value, json};

use super::{lines, text, write_list};
use crate::project::Project;
use crate::table;

pub(super) fn print(project: &Project, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let machines = || project.plan.nodes.iter().filter_map(|node| Some((node, node.vm.as_deref()?)));
    if as_json {
        let cluster = project.plan.cluster.name.as_str();
        return write_list(out, machines().map(|(node, vm)| object(cluster, node, vm)));
    }
    if machines().next().is_none() {
        writeln!(out, "no virtual machines: no node has `vm`")?;
        return Ok(());
    }
    let rows: Vec<_> = machines().map(|(node, vm)| row(node, vm)).collect();
    let heading =
        ["NODE", "HYPERVISOR", "ID", "CORES", "MEMORY", "DISK", "NETWORK", "FIRMWARE", "BOOT ORDER"];
    Ok(table::print(out, &heading, &rows)?)
}

fn boot(vm: &VmPlan) -> Vec<&'static str> {
    vm.boot.value.iter().map(|device| device.word()).collect()
}

fn row(node: &NodePlan, vm: &VmPlan) -> Vec<String> {
    let vlan = vm.vlan.as_ref().map(|vlan| format!("VLAN {}", vlan.value));
    vec![
        node.name.to_string(),
        lines([
            text(vm.hypervisor.as_ref().map(|name| &name.value)),
            text(vm.host.as_ref().map(|host| &host.value)),
        ]),
        text(vm.id.as_ref().map(|id| id.value)),
        vm.cores.value.to_string(),
        vm.memory.value.to_string(),
        lines([vm.disk.value.to_string(), vm.storage.value.clone()]),
        lines([vm.bridge.value.clone(), text(vlan)]),
        format!("{} {}", vm.machine.value, vm.firmware.value),
        boot(vm).join(", "),
    ]
}

fn object(cluster: &str, node: &NodePlan, vm: &VmPlan) -> Value {
    let macs: Vec<_> =
        node.ports.iter().filter_map(|port| Some(port.mac.as_ref()?.value.to_string())).collect();
    json!({
        "node": node.name.as_str(),
        "hypervisor": vm.hypervisor.as_ref().map(|name| name.value.as_str()),
        "host": vm.host.as_ref().map(|host| host.value.as_str()),
        "vm_id": vm.id.as_ref().map(|id| id.value),
        "cores": vm.cores.value,
        "cpu": vm.cpu.value,
        "memory_bytes": vm.memory.value.bytes(),
        "disk_bytes": vm.disk.value.bytes(),
        "storage": vm.storage.value,
        "nic": vm.nic.value,
        "bridge": vm.bridge.value,
        "vlan": vm.vlan.as_ref().map(|vlan| vlan.value.0),
        "machine_type": vm.machine.value.word(),
        "firmware": vm.firmware.value.word(),
        "boot_order": boot(vm),
        "start_with_host": vm.on_boot.value,
        "guest_agent": vm.guest_agent.value,
        "uuid": VmUuid::new(cluster, node.name.as_str()).to_string(),
        "macs": macs,
    })
}
