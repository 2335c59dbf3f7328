//! What a node's machine on libvirt shall be.

use crate::plan::{LibvirtPlan, Plan};
use crate::render::hypervisor::guest::VmDefinition;
use crate::render::hypervisor::libvirt::domain::{self, CpuMode};
use crate::render::hypervisor::libvirt::network::{self, LibvirtNetwork};
use crate::render::hypervisor::libvirt::storage;
use crate::render::hypervisor::medium::{Medium, MediumSource};
use crate::render::hypervisor::uuid::VmUuid;

use super::VolumeStore;

/// A node's machine, decided.
#[derive(Clone, Debug)]
pub struct DesiredDomain {
    /// Name of the node, and of the machine.
    pub node: String,
    /// Its UUID, by which it is known as ours.
    pub uuid: VmUuid,
    /// Its architecture, as QEMU calls it.
    pub architecture: &'static str,
    /// Whether its firmware is UEFI.
    pub(crate) is_uefi: bool,
    /// The network that its ports are in.
    pub network: String,
    /// The document of that network; none for libvirt's own.
    pub network_document: Option<String>,
    /// Where its disk is.
    pub store: VolumeStore,
    /// The name of its disk there.
    pub disk: String,
    /// The document of its disk.
    pub disk_document: String,
    /// The image that its disk shall begin as, which is not done here.
    pub image: Option<String>,
    /// Its document.
    pub document: String,
    /// Its document on a host without KVM.
    pub emulated: String,
    /// Whether it starts with the host.
    pub on_boot: bool,
    /// Its drives, with what belongs into them.
    pub drives: Vec<CdromDrive>,
    /// MAC addresses of its ports, as far as they are known before it is made.
    pub macs: Vec<String>,
    /// Whether it has a guest agent.
    pub has_agent: bool,
}

/// A drive for a CD.
#[derive(Clone, Debug)]
pub struct CdromDrive {
    /// The name of its device.
    pub device: String,
    /// Its element, with the CD in it.
    pub element: String,
    /// Where the CD is.
    pub store: VolumeStore,
    /// What it is.
    pub medium: Medium,
}

impl CdromDrive {
    /// Whether the CD has to be there already.
    pub fn is_given(&self) -> bool {
        matches!(self.medium.source, MediumSource::There(_))
    }
}

/// What these guests are on a libvirt host: the same documents that `ichor build` writes.
pub fn all(host: &LibvirtPlan, plan: &Plan, guests: &[&VmDefinition<'_>]) -> Vec<DesiredDomain> {
    let networks = network::of(host, plan, guests);
    guests.iter().map(|guest| wanted(guest, &networks)).collect()
}

fn wanted(guest: &VmDefinition<'_>, networks: &[LibvirtNetwork<'_>]) -> DesiredDomain {
    let name = LibvirtNetwork::name_of(&guest.vm.bridge.value);
    let network = networks.iter().find(|network| network.name() == name && network.is_ours());
    let document = |processor| domain::document(guest, name, processor).to_string();
    let drive =
        |((device, element), medium): ((String, crate::render::xml::XmlElement), &Medium)| CdromDrive {
            device,
            element: element.to_string(),
            store: VolumeStore::of(&guest.vm.iso.value),
            medium: medium.clone(),
        };
    DesiredDomain {
        node: guest.name().to_owned(),
        uuid: guest.uuid,
        architecture: guest.architecture(),
        is_uefi: guest.is_uefi(),
        network: name.to_owned(),
        network_document: network.map(|network| network.document().to_string()),
        store: VolumeStore::of(&guest.vm.storage.value),
        disk: storage::name(guest),
        disk_document: storage::volume(guest).to_string(),
        image: guest.image.as_ref().map(|image| image.name.clone()),
        document: document(CpuMode::Host),
        emulated: document(CpuMode::Emulated),
        on_boot: guest.vm.on_boot.value,
        drives: domain::cdroms(guest).zip(&guest.media).map(drive).collect(),
        macs: guest.macs.iter().flatten().map(ToString::to_string).collect(),
        has_agent: guest.vm.guest_agent.value,
    }
}
