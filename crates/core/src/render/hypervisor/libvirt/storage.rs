//! Storage of disks and CDs on a libvirt host.

use crate::render::hypervisor::medium::{Medium, MediumSource};
use crate::render::hypervisor::vm_definition::VmDefinition;
use crate::render::xml::XmlElement;

/// A storage for disks or ISO images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageTarget<'s> {
    /// A libvirt storage pool.
    Pool(&'s str),
    /// A folder.
    Folder(&'s str),
    /// An LVM volume group, by its folder below `/dev`.
    Group(&'s str),
}

impl<'s> StorageTarget<'s> {
    /// Parses a value of the cluster file.
    pub fn parse(text: &'s str) -> Self {
        let path = text.trim_end_matches('/');
        if path.starts_with("/dev/") {
            Self::Group(path)
        } else if text.starts_with('/') {
            Self::Folder(path)
        } else {
            Self::Pool(text)
        }
    }

    /// The element of a disk or CD for the file `name` in this storage.
    fn disk(self, device: &str, name: &str) -> XmlElement {
        let disk = |kind: &str| XmlElement::new("disk").with("type", kind).with("device", device);
        // LVM volumes are always raw and files can be, so raw works for every kind of pool.
        let driver = XmlElement::new("driver").with("name", "qemu").with("type", "raw");
        let source = XmlElement::new("source");
        match self {
            Self::Pool(pool) => {
                disk("volume").child(driver).child(source.with("pool", pool).with("volume", name))
            }
            Self::Folder(folder) => {
                disk("file").child(driver).child(source.with("file", format!("{folder}/{name}")))
            }
            Self::Group(group) => {
                disk("block").child(driver).child(source.with("dev", format!("{group}/{name}")))
            }
        }
    }
}

/// The element of a machine's disk.
pub fn disk(guest: &VmDefinition<'_>) -> XmlElement {
    let storage = StorageTarget::parse(&guest.vm.storage.value);
    storage.disk("disk", &name(guest))
}

/// The name of a machine's disk; LVM volumes have no extension.
pub fn name(guest: &VmDefinition<'_>) -> String {
    match StorageTarget::parse(&guest.vm.storage.value) {
        StorageTarget::Group(_) => guest.name().to_owned(),
        StorageTarget::Pool(_) | StorageTarget::Folder(_) => format!("{guest}.img"),
    }
}

/// A description of a CD's location.
pub(crate) fn cd(guest: &VmDefinition<'_>, medium: &Medium) -> String {
    match &medium.source {
        MediumSource::Existing(path) => path.clone(),
        _ => match StorageTarget::parse(&guest.vm.iso.value) {
            StorageTarget::Pool(place) => format!("{} in the pool {place}", medium.name),
            StorageTarget::Folder(place) | StorageTarget::Group(place) => format!("{place}/{}", medium.name),
        },
    }
}

/// The element of a CD.
pub fn cdrom(guest: &VmDefinition<'_>, medium: &Medium) -> XmlElement {
    match &medium.source {
        MediumSource::Existing(path) if path.starts_with('/') => match path.rsplit_once('/') {
            Some((folder, name)) => StorageTarget::Folder(folder).disk("cdrom", name),
            None => StorageTarget::Folder("").disk("cdrom", path),
        },
        _ => StorageTarget::parse(&guest.vm.iso.value).disk("cdrom", &medium.name),
    }
}

/// The path of the volume document of a machine's disk.
pub fn path(guest: &VmDefinition<'_>) -> String {
    format!("volumes/{guest}.xml")
}

/// The volume document of a machine's disk in a pool.
pub fn volume(guest: &VmDefinition<'_>) -> XmlElement {
    let size = XmlElement::new("capacity").with("unit", "GiB").text(guest.disk);
    let format = XmlElement::new("format").with("type", "raw");
    XmlElement::new("volume")
        .child(XmlElement::new("name").text(name(guest)))
        .child(size)
        .child(XmlElement::new("target").child(format))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_a_pool_a_folder_or_a_volume_group() {
        assert_eq!(StorageTarget::parse("default"), StorageTarget::Pool("default"));
        assert_eq!(StorageTarget::parse("/srv/vm/"), StorageTarget::Folder("/srv/vm"));
        assert_eq!(StorageTarget::parse("/dev/vg-talos"), StorageTarget::Group("/dev/vg-talos"));
    }
}
