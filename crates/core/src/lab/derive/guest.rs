//! Nodes as virtual machines that boot Talos, with what `ichor build` makes for them.

use std::collections::BTreeSet;

use super::{TopologyInputs, port_of};
use crate::cluster::section::{Addressing, BootFrom, Firmware};
use crate::lab::scene::{DiskBus, LabMachine, LabVm, MachineRole};
use crate::plan::NodePlan;
use crate::render::carrier;
use ichor_bgp::model::BgpModel;
use ichor_values::{Arch, Issue};

/// What a control plane of Talos needs at least; MiB and GiB.
const CORES: u16 = 2;
const MEMORY: u64 = 2048;
const DISK: u64 = 10;

/// The machine of a node, without its ports; or everything that keeps it from booting here.
pub(super) fn machine(order: TopologyInputs<'_>, model: &BgpModel) -> Result<LabMachine, Vec<Issue>> {
    let node = &order.plan.nodes[model.nth];
    let mut errors = Vec::new();
    let mut refuse = |key: &str, reason: String| errors.push(Issue::error(node.path(key), reason));
    if node.arch.value != Arch::Amd64 {
        refuse("arch", format!("{}: virtual machines of a lab are amd64", node.arch.value));
    }
    for link in cabled(node, model) {
        if !node.ports.iter().any(|port| port.name.as_str() == link) {
            refuse(
                "",
                format!("{link} is no port, and cables of a lab lead to ports of virtual machines alone"),
            );
        }
    }
    let has_address = model.fabric.neighbors.iter().any(|neighbor| port_of(&neighbor.found).is_none());
    if has_address && node.addressing.value != Addressing::Static {
        refuse("address", "DHCP gives it, and no DHCP server is in a lab".to_owned());
    }
    let from = node.boot.from.value;
    let carrier = match from {
        BootFrom::Cidata | BootFrom::MetalIso => carrier::file(node).map(str::to_owned),
        BootFrom::Meta | BootFrom::Embedded => None,
        BootFrom::NocloudNet | BootFrom::Netboot | BootFrom::Early | BootFrom::Inline | BootFrom::Apply => {
            let why = "nothing brings that to a virtual machine of a lab";
            refuse("boot.from", format!("{from}: {why}; `cidata` or `metal-iso` is a CD"));
            None
        }
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    let vm = node.vm.as_deref();
    Ok(LabMachine {
        name: node.name.to_string(),
        part: MachineRole::Guest(LabVm {
            cores: vm.map_or(CORES, |vm| vm.cores.value),
            memory: vm.map_or(MEMORY, |vm| vm.memory.value.bytes().div_ceil(1 << 20)),
            disk: vm.map_or(DISK, |vm| vm.disk.value.bytes().div_ceil(1 << 30)),
            bus: bus(node),
            uefi: vm.is_some_and(|vm| vm.firmware.value == Firmware::Ovmf),
            carrier,
            sources: model.sources.clone(),
        }),
        vrfs: Vec::new(),
        dummies: Vec::new(),
        addresses: Vec::new(),
        ports: Vec::new(),
        gateways: Vec::new(),
    })
}

/// The links that sessions are on.
fn cabled<'n>(node: &'n NodePlan, model: &'n BgpModel) -> BTreeSet<&'n str> {
    let neighbors = model.fabric.neighbors.iter();
    neighbors.map(|neighbor| port_of(&neighbor.found).unwrap_or(node.link.value.as_str())).collect()
}

/// What gives the disk the name under which Talos is to be installed.
fn bus(node: &NodePlan) -> DiskBus {
    let disk = node.boot.disk.as_ref().map(|disk| disk.value.as_str()).unwrap_or_default();
    if disk.starts_with("/dev/vd") {
        DiskBus::Virtio
    } else if disk.starts_with("/dev/nvme") {
        DiskBus::Nvme
    } else {
        DiskBus::Sata
    }
}
