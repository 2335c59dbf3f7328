//! The desired libvirt domain of a node.

use crate::plan::{LibvirtPlan, Plan};
use crate::render::hypervisor::libvirt::domain::{self, CpuMode};
use crate::render::hypervisor::libvirt::network::{self, LibvirtNetwork};
use crate::render::hypervisor::libvirt::storage;
use crate::render::hypervisor::medium::{Medium, MediumSource};
use crate::render::hypervisor::uuid::VmUuid;
use crate::render::hypervisor::vm_definition::VmDefinition;

use super::VolumeStore;

/// The desired domain of a node.
#[derive(Clone, Debug)]
pub struct DesiredDomain {
    /// Name of the node, and of the machine.
    pub node: String,
    /// Its UUID, which identifies it as ichor's.
    pub uuid: VmUuid,
    /// Its architecture, as QEMU calls it.
    pub architecture: &'static str,
    /// Whether its firmware is UEFI.
    pub(crate) is_uefi: bool,
    /// The network of its ports.
    pub network: String,
    /// The document of that network; none for libvirt's own.
    pub network_document: Option<String>,
    /// The store of its disk.
    pub store: VolumeStore,
    /// The name of its disk.
    pub disk: String,
    /// The document of its disk.
    pub disk_document: String,
    /// The image for its disk, which is not supported.
    pub image: Option<String>,
    /// Its document.
    pub document: String,
    /// Its document for a host without KVM.
    pub emulated: String,
    /// Whether it starts with the host.
    pub on_boot: bool,
    /// Its drives and their media.
    pub drives: Vec<CdromDrive>,
    /// MAC addresses of its ports, if known before it is created.
    pub macs: Vec<String>,
    /// Whether it has a guest agent.
    pub has_agent: bool,
}

/// A CD drive.
#[derive(Clone, Debug)]
pub struct CdromDrive {
    /// The name of its device.
    pub device: String,
    /// Its element, with the medium.
    pub element: String,
    /// The store of the medium.
    pub store: VolumeStore,
    /// The medium.
    pub medium: Medium,
}

impl CdromDrive {
    /// Whether the medium must exist already.
    pub fn is_given(&self) -> bool {
        matches!(self.medium.source, MediumSource::Existing(_))
    }
}

/// The desired domains of machines, with the same documents that `ichor build` writes.
pub fn desired_domains(host: &LibvirtPlan, plan: &Plan, guests: &[&VmDefinition<'_>]) -> Vec<DesiredDomain> {
    let networks = network::networks(host, plan, guests);
    guests.iter().map(|guest| desired_domain(guest, &networks)).collect()
}

fn desired_domain(guest: &VmDefinition<'_>, networks: &[LibvirtNetwork<'_>]) -> DesiredDomain {
    let name = LibvirtNetwork::name_on(&guest.vm.bridge.value);
    let network = networks.iter().find(|network| network.name() == name && network.is_defined_by_ichor());
    let document = |processor| domain::document(guest, name, processor).to_string();
    let drive =
        |((device, element), medium): ((String, crate::render::xml::XmlElement), &Medium)| CdromDrive {
            device,
            element: element.to_string(),
            store: VolumeStore::parse(&guest.vm.iso.value),
            medium: medium.clone(),
        };
    DesiredDomain {
        node: guest.name().to_owned(),
        uuid: guest.uuid,
        architecture: guest.architecture(),
        is_uefi: guest.is_uefi(),
        network: name.to_owned(),
        network_document: network.map(|network| network.document().to_string()),
        store: VolumeStore::parse(&guest.vm.storage.value),
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
