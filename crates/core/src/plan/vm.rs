//! A node's virtual machine.

use super::derive::Rule;
use super::node::Gaps;
use super::{Decided, GapReason, VmPlan};
use crate::cluster::key::Key;
use crate::cluster::section::{Arch, BootDevice, Firmware, Machine, Vm};
use crate::cluster::value::{Size, Word};
use crate::model::Cluster;

/// Whether the hypervisor `name` is a Proxmox cluster.
pub fn kind_is_proxmox(cluster: &Cluster, name: &str) -> bool {
    cluster.file.hypervisors.get().and_then(|map| map.get(name)).is_some_and(|at| at.value.proxmox.is_set())
}

/// Whether the machine is made on Proxmox; a machine without a hypervisor is taken for one.
pub fn is_proxmox(cluster: &Cluster, vm: &Vm) -> bool {
    hypervisor(cluster, vm).is_none_or(|name| kind_is_proxmox(cluster, name.value.as_str()))
}

fn hypervisor(cluster: &Cluster, vm: &Vm) -> Option<Decided<Word>> {
    if let Some(at) = vm.hypervisor.at() {
        return Some(Decided::written(at.value.clone(), at.place));
    }
    let mut known = cluster.file.hypervisors.get()?.iter();
    let (name, at) = known.next()?;
    known.next().is_none().then(|| Decided::derived(name.clone(), Rule::OnlyHypervisor, Some(at.place)))
}

fn or<T: Clone>(key: &Key<T>, default: T, reason: &'static str) -> Decided<T> {
    match key.at() {
        Some(at) => Decided::written(at.value.clone(), at.place),
        None => Decided::default(default, reason),
    }
}

/// Decides everything about a virtual machine.
pub fn plan(cluster: &Cluster, vm: &Vm, arch: Arch, index: Option<u32>, gaps: &mut Gaps<'_>) -> VmPlan {
    let size = |text: &str| Size::parse(text).expect("a size");
    let hypervisor = hypervisor(cluster, vm);
    let id = match (vm.id.at(), vm.first_id.at()) {
        (Some(id), _) => Some(Decided::written(*id.value, id.place)),
        (None, Some(first)) => {
            let sum = index.ok_or(GapReason::NoIndex).and_then(|index| {
                first.value.checked_add(index).ok_or(GapReason::IndexOver(u32::MAX - first.value))
            });
            gaps.note("vm.id", Rule::VmId, sum).map(|id| Decided::derived(id, Rule::VmId, Some(first.place)))
        }
        (None, None) => None,
    };
    let bridge = match vm.bridge.at() {
        Some(at) => Decided::written(at.value.to_string(), at.place),
        None => {
            let hypervisors = cluster.file.hypervisors.get();
            let at = hypervisor.as_ref().and_then(|name| hypervisors?.get(name.value.as_str()));
            let bridge = at.and_then(|at| at.value.libvirt.get()?.network.get()?.bridge.at());
            match bridge {
                Some(bridge) => Decided::written(bridge.value.to_string(), bridge.place),
                None if is_proxmox(cluster, vm) => {
                    Decided::default("vmbr0".to_owned(), "Proxmox' first bridge")
                }
                None => Decided::default("virbr0".to_owned(), "libvirt's first bridge"),
            }
        }
    };
    let at = |key: &Key<Word>| key.at().map(|at| Decided::written(at.value.clone(), at.place));
    VmPlan {
        hypervisor,
        id,
        host: at(&vm.host),
        cores: or(&vm.cores, 2, "the least Talos asks for"),
        memory: or(&vm.memory, size("4GiB"), "the least for a control plane"),
        disk: or(&vm.disk, size("32GiB"), "room for Talos and its workloads"),
        bridge,
        vlan: vm.vlan.at().map(|at| Decided::written(*at.value, at.place)),
        machine: match arch {
            Arch::Amd64 => or(&vm.machine, Machine::Q35, "with PCI Express"),
            Arch::Arm64 => or(&vm.machine, Machine::Virt, "the only one for arm64"),
        },
        firmware: or(&vm.firmware, Firmware::Ovmf, "UEFI"),
        boot: match vm.boot.at() {
            Some(at) => Decided::written(at.value.values().copied().collect(), at.place),
            None => Decided::default(
                vec![BootDevice::Disk, BootDevice::Cdrom],
                "the CD-ROM only while the disk is empty",
            ),
        },
    }
}
