//! A node's virtual machine, independent of the hypervisor.
//!
//! The libvirt document, the Proxmox definition and the Terraform resource are rendered from the same [`VmDefinition`], so they
//! define the same machine.

use std::fmt;

use super::medium::{self, Medium};
use super::uuid::VmUuid;
use crate::cluster::section::{BootDevice, Firmware};
use crate::plan::{NodePlan, Plan, VmPlan};
use crate::render::boot_media;
use ichor_values::{Arch, Issue, Mac};

/// The definition of a virtual machine.
#[derive(Debug)]
pub struct VmDefinition<'p> {
    /// The node.
    pub node: &'p NodePlan,
    /// Its VM plan.
    pub vm: &'p VmPlan,
    /// Its UUID.
    pub uuid: VmUuid,
    /// Memory in MiB.
    pub memory: u64,
    /// Size of its disk in GiB.
    pub disk: u64,
    /// Its CDs, the boot ISO first.
    pub media: Vec<Medium>,
    /// The image that its disk is created from; none for an empty disk.
    pub image: Option<Medium>,
    /// Boot order.
    pub boot: Vec<BootDevice>,
    /// MAC addresses of its ports, in order; none if the hypervisor assigns it.
    pub macs: Vec<Option<Mac>>,
    /// SMBIOS serial, if Talos reads settings from it.
    pub serial: Option<String>,
    /// Whether it uses secure boot.
    pub secure_boot: bool,
    /// Whether it has a TPM.
    pub(crate) tpm: bool,
    /// Resource pool.
    pub(crate) pool: Option<&'p str>,
    /// Tags, sorted.
    pub(crate) tags: Vec<&'p str>,
    /// Additional arguments of QEMU.
    pub args: Vec<&'p str>,
}

impl<'p> VmDefinition<'p> {
    /// The virtual machine of a node; none for a physical machine.
    pub fn from_node(plan: &Plan, node: &'p NodePlan) -> Result<Option<Self>, Issue> {
        let Some(vm) = node.vm.as_deref() else { return Ok(None) };
        let media = medium::vm_media(plan.cluster.name.as_str(), node, vm)?;
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
            uuid: VmUuid::new(plan.cluster.name.as_str(), node.name.as_str()),
            memory: vm.memory.value.bytes().div_ceil(1 << 20),
            disk: vm.disk.value.bytes().div_ceil(1 << 30),
            boot: vm.boot.value.iter().filter(can_boot).copied().collect(),
            macs: node.ports.iter().map(|port| port.mac.as_ref().map(|mac| mac.value)).collect(),
            serial: boot_media::serial(node),
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

    /// QEMU's name of its architecture.
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
