//! A node's virtual machine, in no hypervisor's words.
//!
//! Whatever makes the machine starts from a [`VmDefinition`]: a document for libvirt, a definition for Proxmox, a resource for
//! Terraform. So all of them make the same machine.

use std::fmt;

use super::medium::{self, Medium};
use super::uuid::VmUuid;
use crate::cluster::section::{BootDevice, Firmware};
use crate::plan::{NodePlan, Plan, VmPlan};
use crate::render::carrier;
use ichor_values::{Arch, Issue, Mac};

/// A virtual machine, decided.
#[derive(Debug)]
pub struct VmDefinition<'p> {
    /// The node it is.
    pub node: &'p NodePlan,
    /// What was decided of it.
    pub vm: &'p VmPlan,
    /// Its UUID.
    pub uuid: VmUuid,
    /// Memory in MiB.
    pub memory: u64,
    /// Size of its disk in GiB.
    pub disk: u64,
    /// Its CDs; the one it boots is the first.
    pub media: Vec<Medium>,
    /// What its disk begins as; none where that is empty.
    pub image: Option<Medium>,
    /// What it boots, first to last.
    pub boot: Vec<BootDevice>,
    /// Its ports, in order; none where the hypervisor is left to choose the address.
    pub macs: Vec<Option<Mac>>,
    /// Serial number in its SMBIOS, where Talos reads something from it.
    pub serial: Option<String>,
    /// Whether it boots with secure boot.
    pub secure_boot: bool,
    /// Whether it has a TPM.
    pub(crate) tpm: bool,
    /// Resource pool.
    pub(crate) pool: Option<&'p str>,
    /// Tags, sorted.
    pub(crate) tags: Vec<&'p str>,
    /// More arguments for QEMU.
    pub args: Vec<&'p str>,
}

impl<'p> VmDefinition<'p> {
    /// The machine of a node; none for a real one.
    pub fn of(plan: &Plan, node: &'p NodePlan) -> Result<Option<Self>, Issue> {
        let Some(vm) = node.vm.as_deref() else { return Ok(None) };
        let media = medium::of(plan.cluster.name.as_str(), node, vm)?;
        let can_boot = |device: &&BootDevice| {
            **device != BootDevice::Cdrom || media.first().is_some_and(|medium| medium.boots)
        };
        let secure_boot = node.boot.secure_boot.value;
        let mut tags: Vec<&str> =
            vm.tags.iter().flat_map(|tags| tags.value.values()).map(|tag| tag.as_str()).collect();
        tags.sort_unstable();
        tags.dedup();
        Ok(Some(Self {
            node,
            vm,
            uuid: VmUuid::of(plan.cluster.name.as_str(), node.name.as_str()),
            memory: vm.memory.value.bytes().div_ceil(1 << 20),
            disk: vm.disk.value.bytes().div_ceil(1 << 30),
            boot: vm.boot.value.iter().filter(can_boot).copied().collect(),
            macs: node.ports.iter().map(|port| port.mac.as_ref().map(|mac| mac.value)).collect(),
            serial: carrier::serial(node),
            secure_boot,
            tpm: secure_boot || plan.cluster.encryption.uses_tpm(),
            image: medium::image(node),
            pool: vm.pool.as_ref().map(|pool| pool.value.as_str()),
            tags,
            args: vm.args.iter().flat_map(|args| args.value.values()).map(|arg| arg.as_str()).collect(),
            media,
        }))
    }

    /// Name of the node.
    pub fn name(&self) -> &'p str {
        self.node.name.as_str()
    }

    /// Whether its firmware is UEFI.
    pub fn is_uefi(&self) -> bool {
        self.vm.firmware.value == Firmware::Ovmf
    }

    /// Its architecture, as QEMU calls it.
    pub fn architecture(&self) -> &'static str {
        match self.node.arch.value {
            Arch::Amd64 => "x86_64",
            Arch::Arm64 => "aarch64",
        }
    }
}

impl fmt::Display for VmDefinition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
