//! Nodes as virtual machines that boot Talos with the boot media of `ichor build`.

use std::collections::BTreeSet;

use super::{TopologyInputs, port_of};
use crate::cluster::section::{Addressing, BootFrom, Firmware};
use crate::lab::topology::{DiskBus, LabMachine, LabVm, MachineRole};
use crate::plan::NodePlan;
use crate::render::boot_media;
use ichor_bgp::model::BgpModel;
use ichor_values::{Arch, Issue};

/// The minimum of a Talos control plane; MiB and GiB.
const CORES: u16 = 2;
const MEMORY: u64 = 2048;
const DISK: u64 = 10;

/// The machine of a node, without its ports, or every reason why it cannot boot in the lab.
pub(super) fn build_machine(inputs: TopologyInputs<'_>, model: &BgpModel) -> Result<LabMachine, Vec<Issue>> {
    let node = &inputs.plan.nodes[model.nth];
    let mut errors = Vec::new();
    let mut reject = |key: &str, reason: String| errors.push(Issue::error(node.path(key), reason));
    if node.arch.value != Arch::Amd64 {
        reject("arch", format!("{}: a lab's virtual machines are amd64", node.arch.value));
    }
    for link in session_links(node, model) {
        if !node.ports.iter().any(|port| port.name.as_str() == link) {
            reject("", format!("{link} is not a port; a lab connects only ports of virtual machines"));
        }
    }
    let has_address = model.fabric.neighbors.iter().any(|neighbor| port_of(&neighbor.found).is_none());
    if has_address && node.addressing.value != Addressing::Static {
        reject("address", "the address is from DHCP, and a lab has no DHCP server".to_owned());
    }
    let from = node.boot.from.value;
    let carrier = match from {
        BootFrom::Cidata | BootFrom::MetalIso => boot_media::file_name(node).map(str::to_owned),
        BootFrom::Meta | BootFrom::Embedded => None,
        BootFrom::NocloudNet | BootFrom::Netboot | BootFrom::Early | BootFrom::Inline | BootFrom::Apply => {
            let why = "a lab cannot deliver this to a virtual machine";
            reject("boot.from", format!("{from}: {why}; use `cidata` or `metal-iso`, which are ISOs"));
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
            bus: disk_bus(node),
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

/// The links with sessions.
fn session_links<'n>(node: &'n NodePlan, model: &'n BgpModel) -> BTreeSet<&'n str> {
    let neighbors = model.fabric.neighbors.iter();
    neighbors.map(|neighbor| port_of(&neighbor.found).unwrap_or(node.link.value.as_str())).collect()
}

/// The bus that gives the disk the name of the installation disk.
fn disk_bus(node: &NodePlan) -> DiskBus {
    let disk = node.boot.disk.as_ref().map(|disk| disk.value.as_str()).unwrap_or_default();
    if disk.starts_with("/dev/vd") {
        DiskBus::Virtio
    } else if disk.starts_with("/dev/nvme") {
        DiskBus::Nvme
    } else {
        DiskBus::Sata
    }
}
