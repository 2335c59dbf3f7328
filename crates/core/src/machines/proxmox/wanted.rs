//! What a node's machine on Proxmox shall be.

use crate::cluster::section::Role;
use crate::render::hypervisor::guest::VmDefinition;
use crate::render::hypervisor::medium::{Medium, MediumSource};
use crate::render::hypervisor::proxmox::{DRIVES, import, settings, volume};
use crate::render::hypervisor::uuid::VmUuid;

/// The disk that Talos is installed on.
pub const DISK: &str = "scsi0";

/// A drive without a CD in it.
pub const EMPTY: &str = "none,media=cdrom";

/// A node's machine, decided.
#[derive(Clone, Debug)]
pub struct DesiredVm {
    /// Name of the node, and of the machine.
    pub node: String,
    /// Whether it is a control plane: those are spread by themselves.
    pub(crate) is_control_plane: bool,
    /// Its number; none where any will do.
    pub id: Option<u32>,
    /// The host it shall be made on; none where any will do.
    pub host: Option<String>,
    /// Its UUID, by which it is known as ours.
    pub uuid: VmUuid,
    /// The settings it is made with: its drives are empty.
    pub settings: Vec<(String, String)>,
    /// Its drives, with what belongs into them.
    pub drives: Vec<VmDrive>,
    /// What its disk begins as; none where that is empty.
    pub image: Option<VmDrive>,
    /// Size of its disk in GiB.
    pub disk: u64,
    /// Storage of its disk.
    pub storage: String,
    /// Bridge of its ports.
    pub bridge: String,
    /// Resource pool.
    pub(crate) pool: Option<String>,
    /// MAC addresses of its ports, as far as they are known before it is made.
    pub macs: Vec<String>,
    /// Whether it has a guest agent.
    pub has_agent: bool,
}

/// A drive, and a file that belongs into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmDrive {
    /// Its name among the settings.
    pub name: &'static str,
    /// What belongs into it, as Proxmox calls it.
    pub volume: String,
    /// What that is.
    pub medium: Medium,
}

impl VmDrive {
    /// What kind of content Proxmox takes the file for.
    pub fn content(&self) -> &'static str {
        if self.name == DISK { "import" } else { "iso" }
    }

    /// The storage that its file is in.
    pub fn storage(&self) -> &str {
        self.volume.split(':').next().unwrap_or_default()
    }

    /// The setting with which the CD is in it.
    pub fn full(&self) -> String {
        format!("{},media=cdrom", self.volume)
    }

    /// Whether the file has to be there already: the cluster file has Proxmox' own name for it.
    pub fn is_given(&self) -> bool {
        matches!(&self.medium.source, MediumSource::There(name) if *name == self.volume)
    }
}

impl DesiredVm {
    /// Everything that has to be in a storage before the machine can start.
    pub fn files(&self) -> impl Iterator<Item = &VmDrive> {
        self.drives.iter().chain(&self.image)
    }

    /// What `guest` is on Proxmox: the same settings that `ichor build` writes.
    pub fn of(guest: &VmDefinition<'_>) -> Self {
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
