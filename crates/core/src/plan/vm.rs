//! A node's virtual machine.

use std::collections::BTreeMap;

use super::derive::Derivation;
use super::node::GapCollector;
use super::{Decided, GapReason, NodePlan};
use crate::cluster::File;
use crate::cluster::section::{BootDevice, BootFrom, Firmware, Hypervisor, Machine, Role, Vm};
use crate::model::Cluster;
use ichor_values::Arch;
use ichor_values::key::{Key, List};
use ichor_values::{Size, Text, VlanId, Word};

/// The bridge of libvirt's own network, `default`.
pub const DEFAULT_BRIDGE: &str = "virbr0";

/// A node's virtual machine.
#[derive(Debug)]
pub struct VmPlan {
    /// Hypervisor; none if it is ambiguous.
    pub hypervisor: Option<Decided<Word>>,
    /// VM ID.
    pub id: Option<Decided<u32>>,
    /// Host of the hypervisor cluster.
    pub host: Option<Decided<Word>>,
    /// CPU cores.
    pub cores: Decided<u16>,
    /// CPU type.
    pub cpu: Decided<String>,
    /// Memory.
    pub memory: Decided<Size>,
    /// Size of the disk.
    pub disk: Decided<Size>,
    /// Storage of the disk.
    pub storage: Decided<String>,
    /// Storage of ISO images.
    pub(crate) iso: Decided<String>,
    /// Model of its ports.
    pub nic: Decided<String>,
    /// Bridge of its ports.
    pub bridge: Decided<String>,
    /// VLAN of its ports.
    pub vlan: Option<Decided<VlanId>>,
    /// Machine type.
    pub machine: Decided<Machine>,
    /// Firmware.
    pub firmware: Decided<Firmware>,
    /// Boot order.
    pub boot: Decided<Vec<BootDevice>>,
    /// Whether it starts with the host.
    pub on_boot: Decided<bool>,
    /// Whether the guest agent is used.
    pub guest_agent: Decided<bool>,
    /// Resource pool.
    pub(crate) pool: Option<Decided<Text>>,
    /// Tags.
    pub(crate) tags: Option<Decided<List<Word>>>,
    /// Additional arguments of QEMU.
    pub args: Option<Decided<List<Text>>>,
}

/// Whether the hypervisor `name` is a Proxmox cluster.
pub(crate) fn kind_is_proxmox(cluster: &Cluster, name: &str) -> bool {
    cluster.file.hypervisors.get().and_then(|map| map.get(name)).is_some_and(|at| at.value.proxmox.is_set())
}

/// Whether the machine runs on Proxmox; assumed without a hypervisor.
pub(crate) fn is_proxmox(cluster: &Cluster, vm: &Vm) -> bool {
    hypervisor(cluster, vm).is_none_or(|name| kind_is_proxmox(cluster, name.value.as_str()))
}

fn hypervisor(cluster: &Cluster, vm: &Vm) -> Option<Decided<Word>> {
    if let Some(at) = vm.hypervisor.at() {
        return Some(Decided::written(at.value.clone(), at.place));
    }
    let mut known = cluster.file.hypervisors.get()?.iter();
    let (name, at) = known.next()?;
    known.next().is_none().then(|| Decided::derived(name.clone(), Derivation::OnlyHypervisor, Some(at.place)))
}

/// Inputs of a VM plan besides its section.
pub(crate) struct VmInputs<'c> {
    /// The cluster.
    pub cluster: &'c Cluster,
    /// Architecture of the node.
    pub arch: Arch,
    /// Source of the node's first configuration.
    pub from: BootFrom,
    /// The node's index.
    pub index: Option<u32>,
}

impl VmInputs<'_> {
    fn hypervisor(&self, name: Option<&Decided<Word>>) -> Option<&Hypervisor> {
        self.cluster.file.hypervisors.get()?.get(name?.value.as_str()).map(|at| at.value)
    }
}

/// Decides the settings of a virtual machine except its host, see [`assign_hosts`].
pub fn plan(inputs: &VmInputs<'_>, vm: &Vm, gaps: &mut GapCollector<'_>) -> VmPlan {
    let size = |text: &str| Size::parse(text).expect("a size");
    let hypervisor = hypervisor(inputs.cluster, vm);
    let host = Decided::from_key(&vm.host);
    let (storage, iso) = storages(vm, inputs.hypervisor(hypervisor.as_ref()));
    VmPlan {
        id: id(vm, inputs.index, gaps),
        host,
        cores: Decided::from_key_or(&vm.cores, 2, "Talos' minimum for a control plane"),
        cpu: Decided::text_or(&vm.cpu, "host", "all features of the host's CPU"),
        memory: Decided::from_key_or(&vm.memory, size("4GiB"), "Talos' recommendation for a control plane"),
        disk: Decided::from_key_or(&vm.disk, size("32GiB"), "room for Talos and workloads"),
        storage,
        iso,
        nic: Decided::text_or(&vm.nic, "virtio", "the fastest model"),
        bridge: bridge(vm, is_proxmox(inputs.cluster, vm), inputs.hypervisor(hypervisor.as_ref())),
        vlan: Decided::from_key(&vm.vlan),
        machine: match inputs.arch {
            Arch::Amd64 => Decided::from_key_or(&vm.machine, Machine::Q35, "with PCI Express"),
            Arch::Arm64 => {
                Decided::from_key_or(&vm.machine, Machine::Virt, "the only machine type for arm64")
            }
        },
        firmware: Decided::from_key_or(&vm.firmware, Firmware::Ovmf, "UEFI"),
        boot: boot(vm, inputs.from),
        on_boot: Decided::from_key_or(&vm.on_boot, true, "the cluster returns with its host"),
        guest_agent: Decided::from_key_or(&vm.guest_agent, false, "it needs a Talos extension"),
        pool: Decided::from_key(&vm.pool),
        tags: Decided::from_key(&vm.tags),
        args: Decided::from_key(&vm.args),
        hypervisor,
    }
}

fn id(vm: &Vm, index: Option<u32>, gaps: &mut GapCollector<'_>) -> Option<Decided<u32>> {
    if let Some(id) = vm.id.at() {
        return Some(Decided::written(*id.value, id.place));
    }
    let first = vm.first_id.at()?;
    let sum = index
        .ok_or(GapReason::NoIndex)
        .and_then(|index| first.value.checked_add(index).ok_or(GapReason::IndexOver(u32::MAX - first.value)));
    gaps.record("vm.id", Derivation::VmId, sum)
        .map(|id| Decided::derived(id, Derivation::VmId, Some(first.place)))
}

fn bridge(vm: &Vm, is_proxmox: bool, hypervisor: Option<&Hypervisor>) -> Decided<String> {
    let of_hypervisor = || hypervisor?.libvirt.get()?.network.get()?.bridge.at();
    match vm.bridge.at().or_else(of_hypervisor) {
        Some(at) => Decided::written(at.value.to_string(), at.place),
        None if is_proxmox => Decided::default("vmbr0".to_owned(), "Proxmox' default bridge"),
        None => Decided::default(DEFAULT_BRIDGE.to_owned(), "libvirt's default bridge"),
    }
}

/// Storages of the disk and of ISO images.
fn storages(vm: &Vm, hypervisor: Option<&Hypervisor>) -> (Decided<String>, Decided<String>) {
    let (disks, iso) = match hypervisor.and_then(|hypervisor| hypervisor.libvirt.get()) {
        Some(libvirt) => (
            Decided::text_or(&libvirt.pool, "default", "libvirt's default pool"),
            Decided::text_or(&libvirt.iso, "/var/lib/libvirt/images", "the folder of libvirt's default pool"),
        ),
        None => {
            let proxmox = hypervisor.and_then(|hypervisor| hypervisor.proxmox.get());
            let unset = Key::default();
            (
                Decided::text_or(
                    proxmox.map_or(&unset, |it| &it.disks),
                    "local-lvm",
                    "Proxmox' default for disks",
                ),
                Decided::text_or(
                    proxmox.map_or(&unset, |it| &it.iso),
                    "local",
                    "Proxmox' default for ISO images",
                ),
            )
        }
    };
    (vm.storage.at().map_or(disks, |at| Decided::written(at.value.to_string(), at.place)), iso)
}

fn boot(vm: &Vm, from: BootFrom) -> Decided<Vec<BootDevice>> {
    match vm.boot.at() {
        Some(at) => Decided::written(at.value.values().copied().collect(), at.place),
        None if from == BootFrom::Netboot => Decided::default(
            vec![BootDevice::Disk, BootDevice::Net],
            "boots from the network only while the disk is empty",
        ),
        None => Decided::default(
            vec![BootDevice::Disk, BootDevice::Cdrom],
            "boots from CD-ROM only while the disk is empty",
        ),
    }
}

/// Assigns hosts to machines on hypervisors that list hosts, round-robin per role.
pub(crate) fn assign_hosts(file: &File, nodes: &mut [NodePlan]) {
    let mut turns: BTreeMap<(Word, bool), usize> = BTreeMap::new();
    for node in nodes {
        let Some(vm) = node.vm.as_deref_mut() else { continue };
        let Some(name) = &vm.hypervisor else { continue };
        let hosts = || file.hypervisors.get()?.get(name.value.as_str())?.value.proxmox.get()?.hosts.get();
        let Some(hosts) = hosts().filter(|hosts| !hosts.0.is_empty()) else { continue };
        let turn = turns.entry((name.value.clone(), node.role == Role::Controlplane)).or_default();
        if vm.host.is_none() {
            let host = &hosts.0[*turn % hosts.0.len()];
            vm.host = Some(Decided::derived(host.value.clone(), Derivation::HostsInTurn, Some(host.place)));
        }
        *turn += 1;
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::planned;

    #[test]
    fn hosts_are_assigned_round_robin_per_role() {
        let plan = planned(
            "cluster: {name: a, id: 1, talos: v1.13.9}\n\
             hypervisors: {pve: {proxmox: {url: 'https://pve', token: {env: T}, hosts: [h1, h2]}}}\n\
             defaults: {vm: {first_id: 300}}\n\
             nodes:\n\
             - {name: c1, role: controlplane, index: 1}\n- {name: w1, index: 2}\n\
             - {name: c2, role: controlplane, index: 3}\n- {name: w2, index: 4, vm: {host: h1}}\n\
             - {name: c3, role: controlplane, index: 5}\n- {name: w3, index: 6}\n",
        );

        let hosts: Vec<_> = plan
            .nodes
            .iter()
            .map(|node| node.vm.as_ref().unwrap().host.as_ref().unwrap().value.to_string())
            .collect();

        assert_eq!(hosts, ["h1", "h1", "h2", "h1", "h1", "h1"]);
    }

    #[test]
    fn a_netboot_machine_boots_from_disk_then_network() {
        let plan = planned(
            "cluster: {name: a, id: 1, talos: v1.13.9}\n\
             hypervisors: {edge: {libvirt: {}}}\nboot: {from: netboot, server: 'https://boot'}\n\
             nodes: [{name: b, index: 1, vm: {}}]\n",
        );

        let words: Vec<_> =
            plan.nodes[0].vm.as_ref().unwrap().boot.value.iter().map(|device| device.word()).collect();

        assert_eq!(words, ["disk", "net"]);
    }
}
