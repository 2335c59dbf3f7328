//! The desired machine of a node on Proxmox.

use crate::cluster::section::Role;
use crate::render::hypervisor::medium::{Medium, MediumSource};
use crate::render::hypervisor::proxmox::{DRIVES, import, settings, volume};
use crate::render::hypervisor::uuid::VmUuid;
use crate::render::hypervisor::vm_definition::VmDefinition;

/// The installation disk.
pub const DISK: &str = "scsi0";

/// The setting of an empty CD drive.
pub const EMPTY: &str = "none,media=cdrom";

/// The desired machine of a node.
#[derive(Clone, Debug)]
pub struct DesiredVm {
    /// Name of the node, and of the machine.
    pub node: String,
    /// Whether it is a control plane, which are spread over hosts separately from workers.
    pub(crate) is_control_plane: bool,
    /// Its ID; none for any.
    pub id: Option<u32>,
    /// Its host; none for any.
    pub host: Option<String>,
    /// Its UUID, which identifies it as ichor's.
    pub uuid: VmUuid,
    /// The settings to create it with, with empty drives.
    pub settings: Vec<(String, String)>,
    /// Its drives and their media.
    pub drives: Vec<VmDrive>,
    /// The image of its disk; none for an empty disk.
    pub image: Option<VmDrive>,
    /// Size of its disk in GiB.
    pub disk: u64,
    /// Storage of its disk.
    pub storage: String,
    /// Bridge of its ports.
    pub bridge: String,
    /// Resource pool.
    pub(crate) pool: Option<String>,
    /// MAC addresses of its ports, if known before it is created.
    pub macs: Vec<String>,
    /// Whether it has a guest agent.
    pub has_agent: bool,
}

/// A drive and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmDrive {
    /// Its name in the settings.
    pub name: &'static str,
    /// Proxmox' name of its file.
    pub volume: String,
    /// The medium.
    pub medium: Medium,
}

impl VmDrive {
    /// The kind of content in Proxmox.
    pub fn content(&self) -> &'static str {
        if self.name == DISK { "import" } else { "iso" }
    }

    /// The storage of its file.
    pub fn storage(&self) -> &str {
        self.volume.split(':').next().unwrap_or_default()
    }

    /// The setting of the drive with its medium.
    pub fn inserted_setting(&self) -> String {
        format!("{},media=cdrom", self.volume)
    }

    /// Whether the file must exist already, because the cluster file has Proxmox' name of it.
    pub fn is_given(&self) -> bool {
        matches!(&self.medium.source, MediumSource::Existing(name) if *name == self.volume)
    }
}

impl DesiredVm {
    /// All files that the machine needs to start.
    pub fn files(&self) -> impl Iterator<Item = &VmDrive> {
        self.drives.iter().chain(&self.image)
    }

    /// The desired machine of `guest`, with the same settings that `ichor build` writes.
    pub fn from_definition(guest: &VmDefinition<'_>) -> Self {
        let drives: Vec<_> = guest
            .media
            .iter()
            .zip(DRIVES)
            .map(|(medium, name)| VmDrive { name, volume: volume(guest, medium), medium: medium.clone() })
            .collect();
        let mut settings = settings(guest);
        for (key, value) in &mut settings {
            if drives.iter().any(|drive| drive.name == key) {
                EMPTY.clone_into(value);
            }
        }
        Self {
            node: guest.name().to_owned(),
            is_control_plane: guest.node.role == Role::Controlplane,
            id: guest.vm.id.as_ref().map(|id| id.value),
            host: guest.vm.host.as_ref().map(|host| host.value.to_string()),
            uuid: guest.uuid,
            settings,
            drives,
            image: guest.image.as_ref().map(|image| VmDrive {
                name: DISK,
                volume: import(guest, image),
                medium: image.clone(),
            }),
            disk: guest.disk,
            storage: guest.vm.storage.value.clone(),
            bridge: guest.vm.bridge.value.clone(),
            pool: guest.pool.map(ToOwned::to_owned),
            macs: guest.macs.iter().flatten().map(ToString::to_string).collect(),
            has_agent: guest.vm.guest_agent.value,
        }
    }
}
